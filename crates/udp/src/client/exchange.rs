//! A control message that may have to be repeated.

use sojourn_units::{Duration, Instant};

/// A message, its repetitions and their time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    /// The message is to leave.
    is_pending: bool,
    count: u32,
    last: Instant,
    due: Instant,
}

impl Default for Exchange {
    fn default() -> Exchange {
        Exchange { is_pending: false, count: 0, last: Instant::ZERO, due: Instant::MAX }
    }
}

impl Exchange {
    /// The message is to leave, at `now`.
    pub(super) fn begin(&mut self, now: Instant) {
        (self.is_pending, self.last, self.due) = (true, now, Instant::MAX);
        self.count += 1;
    }

    /// Whether the message is to leave; once.
    pub(super) fn take(&mut self) -> bool {
        std::mem::take(&mut self.is_pending)
    }

    /// Sets the timer for the answer.
    pub(super) fn repeat_in(&mut self, now: Instant, span: Duration) {
        self.due = now + span * (1 << self.count.min(8)) / 2;
    }

    pub(super) fn due(&self) -> Instant {
        self.due
    }

    pub(super) fn last(&self) -> Instant {
        self.last
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }
}
