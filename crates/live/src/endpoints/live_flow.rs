//! A flow of a run, of whatever stack.

use std::sync::Arc;
use std::time::Duration;

use sojourn_trace::Histogram;
use sojourn_units::Instant;

use crate::endpoints::shared::Shared;
use crate::error::Error;
use sojourn_udp::io::Clock;

/// Time between two samples of a flow's ends.
pub(crate) const SAMPLE: sojourn_units::Duration = sojourn_units::Duration::from_millis(1);

/// The start of a flow.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) clock: Clock,
    /// Time at which its connection opens.
    pub(crate) opens: Instant,
    /// Whether [`LiveFlow::end`] has been called.
    pub(crate) is_ending: &'a (dyn Fn() -> bool + Sync),
}

/// The two ends of a flow on a real stack. One thread runs them, and another may sample or end them.
pub(crate) trait LiveFlow: Sync {
    /// Its state, which the record views.
    fn shared(&self) -> &Arc<Shared>;

    /// Time before its start at which it opens its connection.
    fn lead(&self) -> Duration {
        Duration::ZERO
    }

    /// Connects the two ends through the bottleneck, and transfers data until [`LiveFlow::end`].
    fn run(&self, start: Start<'_>) -> Result<(), Error>;

    /// The lateness of the sender's departures, and the flow's name, once it has ended.
    fn lateness(&self) -> Option<(&str, Histogram)> {
        None
    }

    /// Samples the sender's state, if it does not report it by itself.
    fn sample(&self, now: Instant) {
        let _ = now;
    }

    /// Ends the flow at once: the thread in [`LiveFlow::run`] returns.
    fn end(&self);
}
