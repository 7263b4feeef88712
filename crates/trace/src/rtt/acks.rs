//! Pairs by sequence numbers: a segment, and the first acknowledgement that
//! covers its end.
//!
//! - An acknowledgement that covers several segments answers the last of them,
//!   and gives one sample.
//! - Karn's rule (RFC 6298 section 3): where it covers anything that was sent
//!   twice, it gives none, since nobody can tell which transmission it answers;
//!   and what came later has waited for the gap to be filled. A segment that the
//!   capture sees after later ones counts as sent twice: lost before the capture,
//!   or overtaken, it has left the same gap.
//! - An acknowledgement of what the capture has not seen gives none.

use std::collections::VecDeque;

use super::WAITING;
use super::serial::before;
use crate::capture::Segment;

/// A segment that waits for its acknowledgement. It covers what follows the one
/// before it.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The sequence number after its last.
    end: u32,
    /// Some of it was sent again, or came late.
    again: bool,
    at_ns: i64,
}

/// The segments of one direction that wait, in the order of their sequence
/// numbers.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    segments: VecDeque<Sent>,
    /// SND.NXT: the sequence number after the last of all that was sent.
    next: Option<u32>,
}

impl Waiting {
    /// A segment of this direction; whether some of it lies before the end of what
    /// was sent already.
    #[inline]
    pub(super) fn sent(&mut self, now: i64, segment: &Segment) -> bool {
        if segment.is_empty() {
            return false;
        }
        let end = segment.seq.wrapping_add(segment.len());
        let again = self.next.is_some_and(|next| before(segment.seq, next));
        if again {
            self.mark(segment.seq, end);
        }
        if self.next.is_none_or(|next| before(next, end)) {
            self.next = Some(end);
            self.wait(Sent { end, again, at_ns: now });
        }
        again
    }

    fn wait(&mut self, sent: Sent) {
        if self.segments.len() < WAITING {
            return self.segments.push_back(sent);
        }
        // Without room of its own it is held as part of the one before, which
        // then gives no sample either.
        if let Some(last) = self.segments.back_mut() {
            *last = Sent { again: true, ..sent };
        }
    }

    /// Marks all segments that have something of `[begin, end)`.
    fn mark(&mut self, begin: u32, end: u32) {
        let first = self.segments.partition_point(|sent| !before(begin, sent.end));
        for sent in self.segments.range_mut(first..) {
            sent.again = true;
            // What reaches to the end is the last that has some of it.
            if !before(sent.end, end) {
                break;
            }
        }
    }

    /// A segment of the other direction: when the last segment passed that it is
    /// the first to cover, if it gives a sample.
    #[inline]
    pub(super) fn answered(&mut self, segment: &Segment) -> Option<i64> {
        let ack = segment.ack?;
        let unseen = self.next.is_none_or(|next| before(next, ack));
        let mut covered = None;
        let mut again = unseen;
        while let Some(&sent) = self.segments.front().filter(|sent| !before(ack, sent.end)) {
            again |= sent.again;
            covered = Some(sent.at_ns);
            self.segments.pop_front();
        }
        covered.filter(|_| !again)
    }

    /// Gives back the memory of what no longer waits.
    pub(super) fn shrink(&mut self) {
        self.segments.shrink_to_fit();
    }
}
