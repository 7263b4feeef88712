//! The progress of a run, for an observer in another thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use sojourn_units::Duration;

use sojourn_udp::io::Clock;

/// The part of a run that is set up, and then its time, shared by the run and an observer.
#[derive(Clone, Debug, Default)]
pub struct SetUp(Arc<State>);

#[derive(Debug, Default)]
struct State {
    flows: AtomicUsize,
    clock: OnceLock<Clock>,
}

impl SetUp {
    /// Number of flows that are set up.
    pub fn flows(&self) -> usize {
        self.0.flows.load(Ordering::Relaxed)
    }

    /// Time since the start of the run; `None` before all flows are set up.
    pub fn elapsed(&self) -> Option<Duration> {
        self.0.clock.get().map(|clock| Duration(clock.now().0))
    }

    /// One more flow is set up.
    pub(crate) fn add_flow(&self) {
        self.0.flows.fetch_add(1, Ordering::Relaxed);
    }

    /// The clock of the run starts.
    pub(crate) fn begin(&self, clock: Clock) {
        let _ = self.0.clock.set(clock);
    }
}
