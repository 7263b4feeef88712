//! The grid of a trace, against the thresholds of the queue in front of it.

use sojourn_units::{Duration, Rate};

use crate::model::{Capacity, Link, Spacing, Trace};

/// The times of a mahimahi trace are whole milliseconds.
const TICK: Duration = Duration::from_millis(1);

/// Mean rate of a trace of 20 Mbit/s, less a part of an opportunity a second. From there on, the
/// milliseconds have one opportunity or more, whose unknown times within them matter little.
const FINE: Rate = Rate(19_900_000);

impl Trace {
    /// The time in which its deliveries differ from its mean rate by a packet; `None` if it is short
    /// compared with a millisecond.
    fn grid(&self) -> Option<Duration> {
        let mean = self.mean_rate();
        let is_fine = self.spacing == Spacing::Even && mean >= FINE;
        (!is_fine).then(|| TICK.max(mean.time_for(Trace::OPPORTUNITY)))
    }
}

impl Link {
    /// A reason to doubt the delays of its queue: a threshold within the grid of its trace.
    pub fn warning(&self) -> Option<String> {
        let Capacity::Trace(trace) = &self.rate else { return None };
        let grid = trace.grid()?;
        let (name, threshold) =
            self.queue.least_threshold().filter(|(_, threshold)| *threshold <= grid)?;
        let remedy = match trace.spacing {
            Spacing::Burst => "remove `spacing = \"burst\"`, or raise the threshold",
            Spacing::Even => "use a constant `rate`, or raise the threshold",
        };
        Some(format!(
            "the queue's `{name}` of {threshold} is not above the grid of the trace, {grid}, so that \
             the queue responds to the trace's own steps; {remedy}"
        ))
    }
}
