//! Pairs by the timestamps option: a TSval, and the first TSecr that echoes it.
//!
//! After Kathleen Nichols, "Listening to Networks" (pping, 2017), with RFC 7323's rules for
//! echoes:
//! - A TSval counts from the first segment that has it, and gives at most one sample.
//!   Clocks tick about once per ms, so many segments have the same TSval; the first of them
//!   is echoed first.
//! - Deviation (pping): only segments that are acknowledged count; pping counts all. The
//!   other end echoes the TSval of a pure acknowledgement only when it next has data to send,
//!   however late. A TSval that first appeared in a pure acknowledgement does not count in a
//!   later segment either, since the first echo may answer the acknowledgement.
//! - A delayed acknowledgement echoes the earliest segment that it answers (RFC 7323
//!   section 4.2). Its sample therefore includes the delay, as the sender's own sample
//!   does.
//! - A retransmission has its own TSval, which distinguishes its sample from that of the
//!   first transmission. Karn's rule is not needed.
//! - Deviation (pping): an echo discards all earlier TSvals, which remain from lost segments
//!   and from segments that share an acknowledgement, since echoes never decrease (RFC 7323
//!   section 4.3). pping forgets a TSval after 10 s.

use std::collections::VecDeque;

use super::WAITING;
use super::serial::before;
use crate::capture::Segment;

/// The TSvals of one direction that have not been echoed yet, oldest first, each with the
/// time of its segment in ns.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    stamps: VecDeque<(u32, i64)>,
    /// The latest TSval of any segment.
    latest: Option<u32>,
}

impl Waiting {
    /// Records a segment of this direction.
    #[inline]
    pub(super) fn sent(&mut self, now: i64, segment: &Segment) {
        let Some(stamps) = segment.stamps else { return };
        if self.latest.is_some_and(|latest| !before(latest, stamps.value)) {
            return;
        }
        self.latest = Some(stamps.value);
        if !segment.is_empty() && self.stamps.len() < WAITING {
            self.stamps.push_back((stamps.value, now));
        }
    }

    /// Processes a segment of the other direction. If it is the first to echo a TSval,
    /// returns the capture time of that TSval's segment.
    #[inline]
    pub(super) fn answered(&mut self, segment: &Segment) -> Option<i64> {
        // RFC 7323 section 3.2: TSecr is valid only if ACK is set.
        let echo = segment.ack.and(segment.stamps)?.echo;
        if self.latest.is_none_or(|latest| before(latest, echo)) {
            return None;
        }
        while let Some(&(value, sent)) = self.stamps.front() {
            if before(echo, value) {
                return None;
            }
            self.stamps.pop_front();
            if value == echo {
                return Some(sent);
            }
        }
        None
    }

    /// Ends the wait of all segments.
    pub(super) fn end(&mut self) {
        self.stamps.clear();
    }

    /// Frees unused memory.
    pub(super) fn shrink(&mut self) {
        self.stamps.shrink_to_fit();
    }
}
