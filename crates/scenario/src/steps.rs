//! The steps of values that change with time.

use sojourn_units::{Duration, Instant, Rate};

use crate::model::{Capacity, Change, Link, Schedule, Spacing, Trace};
use crate::trace;

/// Length of the steps that represent a ramp.
pub const RAMP_STEP: Duration = Duration::from_millis(1);

impl Trace {
    /// The capacity of bursts, which is a rate at no time, counts as its mean over this long.
    pub const STRETCH: Duration = Duration::from_millis(10);

    /// Reads the text of a trace.
    ///
    /// # Errors
    /// The fault, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Trace, String> {
        let opportunities_ms = trace::parse(file, text).map_err(|malformed| malformed.message)?;
        Ok(Trace { file: file.to_owned(), opportunities_ms, spacing: Spacing::default() })
    }
}

impl Link {
    /// The capacity from the start to `until`, as steps, with each change `shift` later; a trace as
    /// means of [`Trace::STRETCH`], and for a period longer. Empty for a link without a rate.
    pub fn capacity_steps(&self, shift: Duration, until: Duration) -> Vec<(Instant, Rate)> {
        if let Capacity::Trace(trace) = &self.rate {
            // Beyond the end, so that the last queue can drain.
            return trace.means(Trace::STRETCH, until + trace.period());
        }
        let Some(rates) = self.rates() else { return Vec::new() };
        let changes = steps(&rates, shift, |rate| rate.0, Rate);
        let within = changes.into_iter().filter(|(at, _)| *at < Instant::ZERO + until);
        [(Instant::ZERO, rates.start)].into_iter().chain(within).collect()
    }
}

/// A schedule's steps, each `shift` later, with ramps cut into steps of [`RAMP_STEP`]. `number` and
/// `make` turn a value into whole numbers and back.
pub fn steps<T: Copy>(
    schedule: &Schedule<T>,
    shift: Duration,
    number: fn(T) -> u64,
    make: fn(u64) -> T,
) -> Vec<(Instant, T)> {
    let mut out = Vec::new();
    let mut before = schedule.start;
    for change in &schedule.changes {
        ramp(change, number(before), number(change.value), |at, v| out.push((at + shift, make(v))));
        before = change.value;
    }
    out
}

fn ramp<T>(change: &Change<T>, before: u64, after: u64, mut step: impl FnMut(Instant, u64)) {
    let span = change.to.since(change.from);
    let count = (span.0 / RAMP_STEP.0).max(1);
    for k in 1..=count {
        // Each step has the value at the end of its interval; the last has the ramp's final value.
        // A step is a ramp of one interval.
        let value = i128::from(before)
            + (i128::from(after) - i128::from(before)) * i128::from(k) / i128::from(count);
        step(change.from + Duration(span.0 * (k - 1) / count), value as u64);
    }
}
