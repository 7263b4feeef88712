//! Pairs by sequence numbers: a segment, and the first acknowledgement that covers its end.
//!
//! - An acknowledgement that covers several segments answers the last of them, and gives
//!   one sample.
//! - Karn's rule (RFC 6298 section 3): an acknowledgement that covers retransmitted data
//!   gives no sample. It is ambiguous which transmission it answers, and later segments
//!   have waited until the gap was filled.
//! - Deviation (RFC 6298 section 3): a segment captured after later ones counts as
//!   retransmitted: lost before the capture or reordered, it left the same gap.
//! - An acknowledgement of data that was not captured gives no sample.

use std::collections::VecDeque;

use super::WAITING;
use super::serial::before;
use crate::capture::Segment;

/// A segment that waits for its acknowledgement. It begins at the end of the one before it.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The sequence number after its last one.
    end: u32,
    /// Whether some of it was retransmitted or arrived late.
    again: bool,
    at_ns: i64,
}

/// The unacknowledged segments of one direction, in the order of their sequence numbers.
#[derive(Debug, Default)]
pub struct Waiting {
    segments: VecDeque<Sent>,
    /// SND.NXT: the sequence number after all data sent.
    next: Option<u32>,
}

impl Waiting {
    /// Records a segment of this direction. Returns whether some of it lies before SND.NXT.
    #[inline]
    pub fn sent(&mut self, now: i64, segment: &Segment) -> bool {
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
        // The list is full: merge the segment with the one before it, which then gives no
        // sample either.
        if let Some(last) = self.segments.back_mut() {
            *last = Sent { again: true, ..sent };
        }
    }

    /// Marks all segments that overlap `[begin, end)`.
    fn mark(&mut self, begin: u32, end: u32) {
        let first = self.segments.partition_point(|sent| !before(begin, sent.end));
        for sent in self.segments.range_mut(first..) {
            sent.again = true;
            // A segment that reaches `end` is the last one to overlap.
            if !before(sent.end, end) {
                break;
            }
        }
    }

    /// Processes a segment of the other direction. Returns the capture time of the last
    /// segment that its acknowledgement newly covers, if that gives a sample.
    #[inline]
    pub fn answered(&mut self, segment: &Segment) -> Option<i64> {
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

    /// Ends the wait of all segments.
    pub(super) fn end(&mut self) {
        self.segments.clear();
    }

    /// Frees unused memory.
    pub(super) fn shrink(&mut self) {
        self.segments.shrink_to_fit();
    }
}
