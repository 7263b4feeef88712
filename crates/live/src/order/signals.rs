//! The signals between the threads of a run.

use std::sync::atomic::{AtomicBool, Ordering};

/// The signals between the threads of links, flows and observers.
pub(crate) struct Signals<'a> {
    /// The run ends early.
    pub(crate) stop: &'a AtomicBool,
    /// The links have reached the scenario's end, and wait for that of the flows.
    pub(crate) is_over: AtomicBool,
    /// The flows have ended.
    pub(crate) are_ended: AtomicBool,
    /// Acknowledgements are no longer traced.
    pub(crate) has_ended: AtomicBool,
}

impl<'a> Signals<'a> {
    pub(crate) fn new(stop: &'a AtomicBool) -> Signals<'a> {
        let [is_over, are_ended, has_ended] = [(); 3].map(|()| AtomicBool::new(false));
        Signals { stop, is_over, are_ended, has_ended }
    }

    /// Ends links and flows.
    pub(crate) fn end_all(&self) {
        self.stop.store(true, Ordering::Release);
        self.is_over.store(true, Ordering::Release);
        self.are_ended.store(true, Ordering::Release);
    }
}
