//! The series and the transfers of several runs as Parquet files.

use sojourn_record::columns::Row;
use sojourn_record::{Frame, Transfer as TransferRow};
use sojourn_trace::{Table, TableError};
use sojourn_units::{Duration, Instant};

use super::outcome::{Outcome, Transfer};
use super::series;
use crate::endpoint::media::FrameRow;

/// The series of several runs as one Parquet file: `flows` or `links`.
///
/// # Errors
/// If Parquet cannot hold them.
pub fn series_parquet(outcomes: &[&Outcome], links: bool) -> Result<Vec<u8>, TableError> {
    parquet(&if links { series::links(outcomes) } else { series::flows(outcomes) })
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
    let entries = rows().map(|(outcome, one)| outcome.entry(one.flow));
    let row = |one: &Transfer| TransferRow {
        start_s: one.start.as_secs_f64(),
        size_bytes: one.size,
        completion_s: one.completion.map(Duration::as_secs_f64).into(),
        slowdown: one.slowdown.into(),
    };
    parquet(&TransferRow::table(entries, rows().map(|(_, one)| row(one)))).map(Some)
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
    let entries = rows().map(|(outcome, flow, _)| outcome.entry(flow));
    let frames = rows().map(|(.., (one, least))| frame(one, *least));
    parquet(&Frame::table(entries, frames)).map(Some)
}

fn frame(one: &FrameRow, least: f64) -> Frame {
    let known = |at: Instant| Some(at).filter(|at| *at < Instant::MAX);
    let delay = |at: Instant| at.since(one.captured_at).as_secs_f64();
    Frame {
        captured_s: one.captured_at.as_secs_f64(),
        size_bytes: u64::from(one.bytes),
        key: u64::from(one.is_key),
        late: u64::from(one.is_late),
        delay_s: known(one.complete_at).map(delay).into(),
        least_delay_s: least.into(),
        played_s: known(one.played_at).map(Instant::as_secs_f64).into(),
    }
}

fn parquet(table: &Table) -> Result<Vec<u8>, TableError> {
    table.to_parquet(&[("sojourn_version", env!("CARGO_PKG_VERSION"))])
}
