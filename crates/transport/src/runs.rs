//! Runs of consecutive losses, from which persistent congestion follows.

use sojourn_units::{Duration, Instant};

/// The longest run of consecutive packet numbers in one round of loss detection, by time of
/// departure. An acknowledged packet leaves a gap in the numbers, which ends the run (RFC 9002
/// section 7.6.2, first condition).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Runs {
    /// The last packet number and the beginning of its run.
    last: Option<(u64, Instant)>,
    longest: Duration,
}

impl Runs {
    /// Packet `number`, sent at `sent_at`, is lost. Numbers must ascend.
    pub(crate) fn add(&mut self, number: u64, sent_at: Instant) {
        let began = match self.last {
            Some((last, began)) if last + 1 == number => began,
            _ => sent_at,
        };
        self.last = Some((number, began));
        self.longest = self.longest.max(sent_at.since(began));
    }

    /// Time between the first and the last packet of the longest run.
    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }
}
