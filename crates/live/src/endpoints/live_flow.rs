//! A flow of a run, of whatever stack.

use std::time::Duration;

use sojourn_sim::Remote;
use sojourn_trace::Histogram;
use sojourn_units::Instant;

use crate::error::Error;
use crate::machine::clock::Clock;

/// Time between two samples of a flow's ends.
pub(crate) const SAMPLE: sojourn_units::Duration = sojourn_units::Duration::from_millis(1);

/// The two ends of a flow on a real stack. One thread runs them, and another may sample or end them.
pub(crate) trait LiveFlow: Sync {
    /// The view of its state for the record.
    fn report(&self) -> Box<dyn Remote>;

    /// Time before its start at which it opens its connection.
    fn lead(&self) -> Duration {
        Duration::ZERO
    }

    /// Connects the two ends through the bottleneck at `opens`, and transfers data until
    /// [`LiveFlow::end`]. `is_ending`: whether that has been called.
    fn run(
        &self,
        clock: Clock,
        opens: Instant,
        is_ending: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error>;

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
