//! Bytes that fair flow balancing added to the window and that measurements do not show
//! yet.

use std::collections::VecDeque;

use sojourn_units::{Bytes, Duration, Instant};

/// Entries per span, so that acknowledgements do not each need one. Entries expire up to
/// one part of the span early.
const GRAINS: u64 = 64;
/// Greatest number of entries, as in the kernel. If it is reached, because the span has more than
/// doubled, the newest entry takes all additions.
const MOST: usize = 128;

/// Additions of one span of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Added {
    recent: VecDeque<(Instant, Bytes)>,
    sum: Bytes,
}

impl Added {
    /// Forgets entries older than `span`.
    pub(super) fn expire(&mut self, now: Instant, span: Duration) {
        while let Some((at, bytes)) = self.recent.front() {
            if now.since(*at) < span {
                return;
            }
            self.sum -= *bytes;
            self.recent.pop_front();
        }
    }

    /// Records `bytes` added now, which measurements show after `span`.
    pub(super) fn push(&mut self, now: Instant, bytes: Bytes, span: Duration) {
        if bytes == Bytes::ZERO {
            return;
        }
        self.sum += bytes;
        let is_full = self.recent.len() == MOST;
        match self.recent.back_mut() {
            Some((at, sum)) if is_full || now.since(*at) < span / GRAINS => *sum += bytes,
            _ => self.recent.push_back((now, bytes)),
        }
    }

    /// Sum of the remaining entries.
    pub(super) fn bytes(&self) -> Bytes {
        self.sum
    }
}
