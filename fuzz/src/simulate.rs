//! A short simulation of a valid scenario.

use std::time;

use sojourn_scenario::Scenario;
use sojourn_sim::{Simulation, estimate};
use sojourn_units::{Duration, Instant};

use crate::{heap, summary};

/// Scenarios with a larger memory estimate are skipped, since `sojourn run` would need that much
/// memory.
const MOST_BYTES: u64 = 128 << 20;
/// The fixed part of a simulation: events, the first blocks of rings, and the summary.
const FIXED_BYTES: u64 = 16 << 20;
/// Wall-clock time of a run; a longer run is abandoned.
const BUDGET: time::Duration = time::Duration::from_millis(100);
/// A run this short is repeated for comparison.
const SHORT: time::Duration = time::Duration::from_millis(10);

/// Runs `scenario` under its first controller. Checks that it does not panic, that it stays within
/// the memory estimate, that its figures are valid, and that the same seed gives the same figures.
pub(crate) fn simulate(scenario: &Scenario) {
    let bytes = estimate(scenario).0;
    if bytes > MOST_BYTES {
        return;
    }
    let begun = now();
    let Some(first) = heap::within(bytes + FIXED_BYTES, || run(scenario)) else { return };
    if begun.elapsed() > SHORT {
        return;
    }
    let Some(second) = run(scenario) else { return };
    assert_eq!(first, second, "the same scenario and seed give other figures");
}

/// The summary as JSON; `None` if the run exceeds the budget.
fn run(scenario: &Scenario) -> Option<String> {
    let mut simulation = Simulation::new(scenario, scenario.controls.first(), scenario.seed);
    if !advance(&mut simulation) {
        return None;
    }
    let outcome = simulation.finish();
    summary::check(&outcome.summary);
    Some(serde_json::to_string(&outcome.summary).expect("a summary is JSON"))
}

/// Advances in slices of simulated time that grow while they take little wall-clock time; returns
/// whether the run reached its end.
fn advance(simulation: &mut Simulation) -> bool {
    let (begun, mut slice) = (now(), Duration(1000));
    while simulation.now() < simulation.end() {
        let before = now();
        let until = Instant(simulation.now().0.saturating_add(slice.0));
        simulation.advance(until);
        if begun.elapsed() > BUDGET {
            return simulation.now() >= simulation.end();
        }
        let quick = before.elapsed() < BUDGET / 20;
        slice = Duration(if quick { slice.0.saturating_mul(4) } else { (slice.0 / 2).max(1) });
    }
    true
}

#[expect(clippy::disallowed_methods, reason = "bounds the time of the test, not its result")]
fn now() -> time::Instant {
    time::Instant::now()
}
