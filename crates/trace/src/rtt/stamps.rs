//! Pairs by the timestamps option: a TSval, and the first TSecr that echoes it.
//!
//! After Kathleen Nichols, "Listening to Networks" (pping, 2017), with what RFC
//! 7323 says of echoes:
//! - A TSval counts from the first segment that has it, and gives one sample at
//!   most. Clocks tick once a ms or so, and many segments have the same; the
//!   first of them is the one that is echoed first.
//! - Only segments that are acknowledged count; pping counts all. An acknowledgement's own TSval is
//!   echoed when the other end next has something to send, however late; and a
//!   TSval that an acknowledgement had first is not counted from a later segment,
//!   since the acknowledgement is what the first echo may answer.
//! - A delayed acknowledgement echoes the earliest segment that it answers (RFC
//!   7323 section 4.2), so its sample has the delay in it, as the sender's own has.
//! - A retransmission has a TSval of its own, so that its sample is told from the
//!   first transmission's: Karn's rule is not needed.
//! - Echoes never go back (RFC 7323 section 4.3): with one, all earlier TSvals
//!   that wait are forgotten, which lost segments and those that share an
//!   acknowledgement leave.

use std::collections::VecDeque;

use super::WAITING;
use super::serial::before;
use crate::capture::Segment;

/// The TSvals of one direction that wait for their echo, oldest first, each with
/// the time of its segment in ns.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    stamps: VecDeque<(u32, i64)>,
    /// The latest TSval of any segment.
    latest: Option<u32>,
}

impl Waiting {
    /// A segment of this direction.
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

    /// A segment of the other direction: when the segment passed whose TSval it
    /// is the first to echo, if it is.
    #[inline]
    pub(super) fn answered(&mut self, segment: &Segment) -> Option<i64> {
        // RFC 7323 section 3.2: TSecr is valid only where ACK is set.
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

    /// Gives back the memory of what no longer waits.
    pub(super) fn shrink(&mut self) {
        self.stamps.shrink_to_fit();
    }
}
