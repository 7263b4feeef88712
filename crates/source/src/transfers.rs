//! The state of sources that transfer one amount of data after the other.

use sojourn_units::{Duration, Instant};

use crate::contract::{Action, Source, Transfers};

/// Transfers one after the other, each begun after the one before was delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Series {
    /// Number of transfers; `None` for no end.
    count: Option<u64>,
    pub(crate) next_at: Instant,
    pub(crate) begun_at: Instant,
    pub(crate) done: Transfers,
}

impl Series {
    pub(crate) fn new(start: Instant, count: Option<u64>) -> Series {
        Series { count, next_at: start, begun_at: start, done: Transfers::default() }
    }

    /// Begins a transfer.
    pub(crate) fn begin(&mut self, now: Instant) {
        (self.begun_at, self.next_at) = (now, Instant::MAX);
    }

    /// A transfer was delivered; the next one begins at `next_at`.
    pub(crate) fn complete(&mut self, now: Instant, next_at: Instant) {
        self.done.completed += 1;
        if self.count.is_some_and(|count| self.done.completed >= count) {
            self.done.completed_at = Some(now);
        } else {
            self.next_at = next_at;
        }
    }

    /// Bytes after which the next transfer of `size` is complete.
    pub(crate) fn target(&self, size: u64) -> u64 {
        size * (self.done.completed + 1)
    }
}

/// Files of one size, one after the other.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) size: u64,
    /// Pause between the delivery of one and the start of the next.
    pub(crate) think: Duration,
    pub(crate) series: Series,
}

impl Source for Transfer {
    fn next_at(&self) -> Instant {
        self.series.next_at
    }

    fn act(&mut self, now: Instant) -> Action {
        self.series.begin(now);
        Action::Write(self.size)
    }

    fn target(&self) -> Option<u64> {
        Some(self.series.target(self.size))
    }

    fn on_delivered(&mut self, now: Instant) -> Option<Duration> {
        self.series.complete(now, now + self.think);
        None
    }

    fn transfers(&self) -> Transfers {
        self.series.done
    }
}
