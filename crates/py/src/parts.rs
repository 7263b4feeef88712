//! The share of time of each part of the simulation: whole metered runs on one thread, sampled by
//! another.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;
use sojourn_scenario::{Control, Scenario as Resolved};
use sojourn_sim::{Part, Simulation, at_work};

use crate::scenario::{Scenario, control};

/// Least and greatest pause between two samples. Pauses vary, so that they do not synchronise with
/// a run's periodic work.
const PAUSE_US: (u64, u64) = (50, 150);

/// Simulates a scenario repeatedly, until there are at least `least_looks` samples of the part at
/// work; returns the number of samples of each part. Runs are sampled whole, since no section of a
/// run represents all of it.
#[pyfunction]
pub(crate) fn bench_parts(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    least_looks: u64,
) -> PyResult<Vec<(&'static str, u64)>> {
    let scenario = scenario.resolve(py)?;
    let control = control(scenario, 0)?;
    let found = py.detach(|| looked_at(scenario, control, least_looks));
    Ok(Part::ALL.into_iter().map(|part| (part.name(), found[part as usize])).collect())
}

fn looked_at(scenario: &Resolved, control: Option<&Control>, least: u64) -> [u64; Part::ALL.len()] {
    let (looks, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| look(&looks, &done));
        while looks.load(Ordering::Relaxed) < least {
            Simulation::metered(scenario, control, scenario.seed).finish();
        }
        done.store(true, Ordering::Relaxed);
        looking.join().expect("looking cannot fail")
    })
}

fn look(looks: &AtomicU64, done: &AtomicBool) -> [u64; Part::ALL.len()] {
    let (mut found, mut draws) = ([0; Part::ALL.len()], SplitMix64::seed_from_u64(1));
    loop {
        std::thread::sleep(Duration::from_micros(pause_us(&mut draws)));
        if done.load(Ordering::Relaxed) {
            return found;
        }
        found[at_work() as usize] += 1;
        looks.fetch_add(1, Ordering::Relaxed);
    }
}

fn pause_us(draws: &mut SplitMix64) -> u64 {
    PAUSE_US.0 + draws.next_u64() % (PAUSE_US.1 - PAUSE_US.0 + 1)
}
