//! The state of sources that transfer one amount of data after the other.

use sojourn_units::Instant;

use crate::contract::Transfers;

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
