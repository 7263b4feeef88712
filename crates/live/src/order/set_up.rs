//! The progress of a run before its clock starts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The part of a run that is set up, shared by the run and an observer in another thread.
#[derive(Clone, Debug, Default)]
pub struct SetUp {
    flows: Arc<AtomicUsize>,
    has_begun: Arc<AtomicBool>,
}

impl SetUp {
    /// Number of flows whose sockets are open; `None` once the clock of the run has started.
    pub fn flows(&self) -> Option<usize> {
        let has_begun = self.has_begun.load(Ordering::Acquire);
        (!has_begun).then(|| self.flows.load(Ordering::Relaxed))
    }

    /// One more flow is set up.
    pub(crate) fn add_flow(&self) {
        self.flows.fetch_add(1, Ordering::Relaxed);
    }

    /// The clock of the run starts.
    pub(crate) fn begin(&self) {
        self.has_begun.store(true, Ordering::Release);
    }
}
