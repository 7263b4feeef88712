//! Runs a twin and observes it.

use sojourn_scenario::{Document, Errors};
use sojourn_sim::{RunSummary, Simulation};

use super::tap::Watch;
use crate::path::view::View;

/// A run of a twin.
#[derive(Debug)]
pub struct Ran {
    /// Its summary.
    pub summary: RunSummary,
    /// Each flow of the scenario as its sender's capture would show it; `None` without data.
    pub views: Vec<Option<View>>,
}

/// Asked now and then whether to stop.
pub type IsStopped<'a> = &'a dyn Fn() -> bool;

/// Events between two questions whether to stop: some ms.
const EVENTS: u32 = 1 << 15;

/// Runs a scenario with a seed, up to its end or until it is stopped.
///
/// # Errors
/// If the scenario is invalid.
pub fn run(toml: &str, seed: u64, is_stopped: IsStopped<'_>) -> Result<Ran, Errors> {
    let document = Document::from_toml("twin.toml", toml)?;
    let scenario = document.resolve(&|_| Err(std::io::ErrorKind::NotFound.into()))?;
    let mut simulation = Simulation::tapped(&scenario, None, seed, Watch::default());
    while !is_stopped() && !simulation.advance_by(simulation.end(), EVENTS) {}
    let halves = simulation.tap().take();
    let summary = simulation.finish().summary;
    let mut views: Vec<Option<View>> = scenario.flows.iter().map(|_| None).collect();
    for (flow, half) in halves {
        views[flow] = View::new(&half, true, 0);
    }
    Ok(Ran { summary, views })
}
