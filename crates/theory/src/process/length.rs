//! How much capacity a process makes: no more than there is memory and patience for.

use sojourn_units::{Duration, Instant};

use super::Process;

/// Steps of capacity that are made at most.
///
/// With the waits of both senders at them, some 100 bytes each: 0.5 GB. Sprout's cellular
/// link takes a day, within it.
pub const MOST_STEPS: u64 = 5_000_000;

/// Capacity of more than [`MOST_STEPS`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{until} of capacity that changes {a_second:.0} times a second is {steps:.3e} steps; {MOST_STEPS} \
     are the most: a duration of {longest}, or steps that last longer, can be had"
)]
pub struct TooLong {
    /// How much was asked for.
    pub until: Instant,
    /// How often it changes.
    pub a_second: f64,
    /// How many steps that is.
    pub steps: f64,
    /// How much can be had, in whole seconds where that is one or more.
    pub longest: Duration,
}

impl Process {
    /// How often a second capacity changes, on average.
    pub fn changes_a_second(&self) -> f64 {
        match self {
            Process::Wifi(wifi) => wifi.changes_a_second(),
            Process::Cellular(cellular) => 1.0 / cellular.tick().as_secs_f64(),
            Process::Chain(chain) => 1.0 / chain.stretch.as_secs_f64(),
        }
    }

    /// Whether [`Process::steps`] up to `until` are few enough.
    ///
    /// # Errors
    /// Says what can be had.
    pub fn check_length(&self, until: Instant) -> Result<(), TooLong> {
        check(self.changes_a_second(), until)
    }
}

/// Refuses more than [`MOST_STEPS`] of a capacity that changes so often up to `until`.
pub(super) fn check(a_second: f64, until: Instant) -> Result<(), TooLong> {
    let steps = until.as_secs_f64() * a_second;
    if steps <= MOST_STEPS as f64 {
        return Ok(());
    }
    let longest = MOST_STEPS as f64 / a_second;
    let longest = if longest < 1.0 { longest } else { longest.floor() };
    Err(TooLong { until, a_second, steps, longest: Duration::from_secs_f64(longest) })
}
