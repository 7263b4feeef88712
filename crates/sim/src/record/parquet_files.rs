//! The series and the transfers of several runs as Parquet files.

use sojourn_trace::{Table, TableError, Text};
use sojourn_units::{Duration, Instant};

use super::outcome::{Outcome, Transfer};
use super::series;
use crate::endpoint::media::FrameRow;

/// The series of several runs as one Parquet file: `flows` or `links`.
///
/// # Errors
/// If Parquet cannot hold them.
pub fn series_parquet(outcomes: &[&Outcome], links: bool) -> Result<Vec<u8>, TableError> {
    let table = series::table(outcomes, links);
    table.to_parquet(&[("sojourn_version", env!("CARGO_PKG_VERSION"))])
}

/// The transfers of several runs as one Parquet file; `None` if no flow draws sizes.
///
/// # Errors
/// If Parquet cannot hold them.
pub fn transfers_parquet(outcomes: &[&Outcome]) -> Result<Option<Vec<u8>>, TableError> {
    if !outcomes.iter().any(|outcome| outcome.has_sizes) {
        return Ok(None);
    }
    let rows = || outcomes.iter().flat_map(|o| o.transfers.iter().map(move |one| (*o, one)));
    let mut table = Table::new();
    table.add("control", rows().map(|(o, _)| o.summary.control.as_str()).collect::<Text>());
    table.add("seed", rows().map(|(o, _)| o.summary.seed).collect::<Vec<_>>());
    table.add(
        "flow",
        rows().map(|(o, one)| o.summary.flows[one.flow].name.as_str()).collect::<Text>(),
    );
    table.add("start_s", rows().map(|(_, one)| one.start.as_secs_f64()).collect::<Vec<_>>());
    table.add("size_bytes", rows().map(|(_, one)| one.size).collect::<Vec<_>>());
    let completion = |one: &Transfer| one.completion.map_or(f64::NAN, Duration::as_secs_f64);
    table.add("completion_s", rows().map(|(_, one)| completion(one)).collect::<Vec<_>>());
    let slowdown = |one: &Transfer| one.slowdown.unwrap_or(f64::NAN);
    table.add("slowdown", rows().map(|(_, one)| slowdown(one)).collect::<Vec<_>>());
    table.to_parquet(&[("sojourn_version", env!("CARGO_PKG_VERSION"))]).map(Some)
}

/// The frames of media of several runs as one Parquet file; `None` if no flow has media.
///
/// # Errors
/// If Parquet cannot hold them.
pub fn frames_parquet(outcomes: &[&Outcome]) -> Result<Option<Vec<u8>>, TableError> {
    if outcomes.iter().all(|outcome| outcome.frames.is_empty()) {
        return Ok(None);
    }
    let rows = || {
        outcomes.iter().flat_map(|outcome| {
            let each = outcome.frames.iter();
            each.flat_map(move |(flow, frames)| {
                frames.iter().map(move |row| (*outcome, *flow, row))
            })
        })
    };
    let mut table = Table::new();
    table.add("control", rows().map(|(o, ..)| o.summary.control.as_str()).collect::<Text>());
    table.add("seed", rows().map(|(o, ..)| o.summary.seed).collect::<Vec<_>>());
    let name = |(o, flow, _): (&Outcome, usize, _)| o.summary.flows[flow].name.clone();
    let names: Vec<String> = rows().map(name).collect();
    table.add("flow", names.iter().map(String::as_str).collect::<Text>());
    let seconds = |at: Instant| if at == Instant::MAX { f64::NAN } else { at.as_secs_f64() };
    let delay = |row: &FrameRow, at: Instant| {
        if at == Instant::MAX { f64::NAN } else { at.since(row.captured_at).as_secs_f64() }
    };
    table.add("captured_s", rows().map(|(.., (r, _))| seconds(r.captured_at)).collect::<Vec<_>>());
    table.add("size_bytes", rows().map(|(.., (r, _))| u64::from(r.bytes)).collect::<Vec<_>>());
    table.add("key", rows().map(|(.., (r, _))| u64::from(r.is_key)).collect::<Vec<_>>());
    table.add("late", rows().map(|(.., (r, _))| u64::from(r.is_late)).collect::<Vec<_>>());
    table.add("delay_s", rows().map(|(.., (r, _))| delay(r, r.complete_at)).collect::<Vec<_>>());
    table.add("least_delay_s", rows().map(|(.., (_, least))| *least).collect::<Vec<_>>());
    table.add("played_s", rows().map(|(.., (r, _))| seconds(r.played_at)).collect::<Vec<_>>());
    table.to_parquet(&[("sojourn_version", env!("CARGO_PKG_VERSION"))]).map(Some)
}
