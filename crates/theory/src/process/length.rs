//! A limit on the capacity that a process generates, in memory and time.

use sojourn_units::{Duration, Instant};

use super::Process;

/// Maximum number of generated capacity steps.
///
/// With the waits of both senders, at some 100 bytes each, this is 0.5 GB. A day of
/// Sprout's cellular link is within the limit.
pub const MOST_STEPS: u64 = 5_000_000;

/// The capacity would have more than [`MOST_STEPS`] steps.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{until} of capacity that changes {a_second:.0} times a second is {steps:.3e} steps; {MOST_STEPS} \
     are the most: a duration of {longest}, or steps that last longer, can be had"
)]
pub struct TooLong {
    /// Duration requested.
    pub until: Instant,
    /// Changes per second.
    pub a_second: f64,
    /// Resulting number of steps.
    pub steps: f64,
    /// Maximum duration, in whole seconds if at least one.
    pub longest: Duration,
}

impl Process {
    /// Mean number of capacity changes per second.
    pub fn changes_a_second(&self) -> f64 {
        match self {
            Process::Wifi(wifi) => wifi.changes_a_second(),
            Process::Cellular(cellular) => 1.0 / cellular.tick().as_secs_f64(),
            Process::Chain(chain) => 1.0 / chain.stretch.as_secs_f64(),
        }
    }

    /// Whether [`Process::steps`] up to `until` stay within [`MOST_STEPS`].
    ///
    /// # Errors
    /// Returns the maximum duration.
    pub fn check_length(&self, until: Instant) -> Result<(), TooLong> {
        check(self.changes_a_second(), until)
    }
}

/// Returns an error if a capacity with `a_second` changes per second exceeds [`MOST_STEPS`]
/// up to `until`.
pub(super) fn check(a_second: f64, until: Instant) -> Result<(), TooLong> {
    let steps = until.as_secs_f64() * a_second;
    if steps <= MOST_STEPS as f64 {
        return Ok(());
    }
    let longest = MOST_STEPS as f64 / a_second;
    let longest = if longest < 1.0 { longest } else { longest.floor() };
    Err(TooLong { until, a_second, steps, longest: Duration::from_secs_f64(longest) })
}
