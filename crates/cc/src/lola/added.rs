//! What fair flow balancing added to the window and no measurement shows yet.

use std::collections::VecDeque;

use sojourn_units::{Bytes, Duration, Instant};

/// Entries that a span is kept in, lest each acknowledgement have its own: what was
/// added is taken to show by as much of the span early.
const GRAINS: u64 = 64;

/// Additions of one span of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Added {
    recent: VecDeque<(Instant, Bytes)>,
    sum: Bytes,
}

impl Added {
    /// Forgets what is older than `span`.
    pub(super) fn expire(&mut self, now: Instant, span: Duration) {
        while let Some((at, bytes)) = self.recent.front() {
            if now.since(*at) < span {
                return;
            }
            self.sum -= *bytes;
            self.recent.pop_front();
        }
    }

    /// `bytes` were added now; they show after `span`.
    pub(super) fn push(&mut self, now: Instant, bytes: Bytes, span: Duration) {
        if bytes == Bytes::ZERO {
            return;
        }
        self.sum += bytes;
        match self.recent.back_mut() {
            Some((at, sum)) if now.since(*at) < span / GRAINS => *sum += bytes,
            _ => self.recent.push_back((now, bytes)),
        }
    }

    /// All that is not older.
    pub(super) fn bytes(&self) -> Bytes {
        self.sum
    }
}
