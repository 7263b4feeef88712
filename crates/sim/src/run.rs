//! Values that stay the same during a run.

use sojourn_scenario::Scenario;
use sojourn_units::{Duration, Instant};

use crate::arrivals::Group;
use crate::loops::Loops;
use crate::timeline::Timeline;

/// The scenario of a run, its scheduled changes, and its loop delays.
pub(crate) struct Run {
    /// The scenario, in which each transfer of a flow with random arrivals is a flow.
    pub(crate) scenario: Scenario,
    /// Each flow of the scenario as written.
    pub(crate) groups: Vec<Group>,
    /// Name of the controller in the summary and the series.
    pub(crate) control: String,
    pub(crate) seed: u64,
    pub(crate) end: Instant,
    pub(crate) timeline: Timeline,
    pub(crate) loops: Loops,
}

impl Run {
    /// A time of the run as a time of the scenario, without the shift of this run's changes.
    pub(crate) fn written(&self, at: Instant) -> Instant {
        at.saturating_sub(self.timeline.shift)
    }

    /// The greatest loop delay of the flows over a link at a time of the run.
    pub(crate) fn greatest_loop(&self, link: usize, at: Instant) -> Duration {
        self.loops.greatest(link, self.written(at))
    }
}
