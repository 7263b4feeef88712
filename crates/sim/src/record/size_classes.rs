//! Completion times and slowdowns of transfers by class of sizes.

use sojourn_units::Instant;

use super::outcome::{SizeClass, Transfer};
use crate::run::Run;

/// Upper ends of the size classes in bytes, except for the last class: those of pFabric (Alizadeh
/// et al. 2013, SIGCOMM) and PIAS (Bai et al. 2015, NSDI).
const CLASSES: [u64; 2] = [100_000, 10_000_000];

/// All transfers that started after the warm-up, and those of each class of sizes that has any.
pub(super) fn of(run: &Run, transfers: &[Transfer]) -> Vec<SizeClass> {
    let warm = Instant::ZERO + run.scenario.measure.from;
    let measured: Vec<&Transfer> = transfers.iter().filter(|one| one.start >= warm).collect();
    let ends = CLASSES.into_iter().map(Some).chain([None]);
    let mut from = 0;
    let classes = ends.map(|to| {
        let class = class(&measured, from, to);
        from = to.unwrap_or(from);
        class
    });
    let used = classes.filter(|class| class.started_transfers > 0).collect::<Vec<_>>();
    [class(&measured, 0, None)].into_iter().chain(used).collect()
}

/// The transfers of more than `from` bytes, up to `to` bytes.
fn class(transfers: &[&Transfer], from: u64, to: Option<u64>) -> SizeClass {
    let is_inside = |one: &&&Transfer| one.size > from && to.is_none_or(|to| one.size <= to);
    let inside: Vec<&Transfer> = transfers.iter().filter(is_inside).copied().collect();
    let times = ordered(inside.iter().filter_map(|one| Some(one.completion?.as_secs_f64())));
    let slowdowns = ordered(inside.iter().filter_map(|one| one.slowdown));
    SizeClass {
        from_bytes: from,
        to_bytes: to,
        started_transfers: inside.len() as u64,
        completed_transfers: times.len() as u64,
        completion_p50_s: quantile(&times, 50),
        completion_p95_s: quantile(&times, 95),
        completion_p99_s: quantile(&times, 99),
        completion_mean_s: mean(&times),
        slowdown_p50: quantile(&slowdowns, 50),
        slowdown_p95: quantile(&slowdowns, 95),
        slowdown_p99: quantile(&slowdowns, 99),
        slowdown_mean: mean(&slowdowns),
    }
}

fn ordered(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut ordered: Vec<f64> = values.collect();
    ordered.sort_unstable_by(f64::total_cmp);
    ordered
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A percentile by nearest rank; `None` without values.
fn quantile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}
