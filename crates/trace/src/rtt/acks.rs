//! Pairs by sequence numbers: a segment, and the first acknowledgement that covers its end,
//! cumulative or selective.
//!
//! - An acknowledgement that covers several segments answers the last of them, and gives
//!   one sample.
//! - Karn's rule (RFC 6298 section 3): an acknowledgement that covers retransmitted data
//!   gives no sample. It is ambiguous which transmission it answers, and later segments
//!   have waited until the gap was filled.
//! - Deviation (RFC 6298 section 3): a segment captured after later ones counts as
//!   retransmitted: lost before the capture or reordered, it left the same gap.
//! - An acknowledgement of data that was not captured gives no sample. Such data wait as one
//!   segment, from the end of the one before to the next that was captured.
//!
//! During a loss recovery cumulative acknowledgements give almost no samples, and SACK blocks
//! give one for nearly every segment that arrives:
//! - The first block has the segment that triggered the acknowledgement, unless the segment
//!   advanced the cumulative one (RFC 2018 section 4). So the newest segment that this block
//!   newly covers gives a sample, if the cumulative acknowledgement stays the same.
//! - Karn's rule: a retransmitted segment gives none.
//! - A block that reports a duplicate (RFC 2883 section 4) gives none.

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
    /// Whether a SACK block covered its end.
    sacked: bool,
    /// Whether it was captured; if not, it has no time.
    captured: bool,
    at_ns: i64,
}

/// The unacknowledged segments of one direction, in the order of their sequence numbers.
#[derive(Debug, Default)]
pub struct Waiting {
    segments: VecDeque<Sent>,
    /// Where the first of them begins.
    begin: u32,
    /// SND.NXT: the sequence number after all data sent.
    next: Option<u32>,
    /// The latest cumulative acknowledgement.
    acked: Option<u32>,
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
        if self.next.is_none() {
            self.begin = segment.seq;
        }
        if again && before(self.begin, end) {
            self.mark(segment.seq, end);
        }
        if self.next.is_none_or(|next| before(next, end)) {
            if self.next.is_some_and(|next| before(next, segment.seq)) {
                let end = segment.seq;
                self.wait(Sent { end, again: false, sacked: false, captured: false, at_ns: now });
            }
            self.next = Some(end);
            self.wait(Sent { end, again, sacked: false, captured: true, at_ns: now });
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
        if self.acked.is_none_or(|acked| before(acked, ack)) {
            self.acked = Some(ack);
        }
        let unseen = self.next.is_none_or(|next| before(next, ack));
        let mut covered = None;
        let mut again = unseen;
        while let Some(&sent) = self.segments.front().filter(|sent| !before(ack, sent.end)) {
            again |= sent.again;
            covered = Some(sent);
            self.begin = sent.end;
            self.segments.pop_front();
        }
        let partial = self.segments.front().is_some_and(|next| !next.captured);
        let sent = covered.filter(|sent| !again && sent.captured)?;
        (!partial || sent.end == ack).then_some(sent.at_ns)
    }

    /// Processes the SACK blocks of a segment of the other direction, before
    /// [`Waiting::answered`]. Returns the capture time of the segment that triggered it, if that
    /// gives a sample.
    #[inline]
    pub fn sacked(&mut self, segment: &Segment) -> Option<i64> {
        let blocks = segment.sack.blocks();
        let (first, others) = blocks.split_first()?;
        let trigger = self.mark_sacked(*first);
        for block in others {
            self.mark_sacked(*block);
        }
        // RFC 2883 section 4.2: a duplicate within the block after it.
        let is_duplicate = others.first().is_some_and(|block| contains(*block, *first));
        let is_trigger = self.acked == segment.ack && !is_duplicate;
        let timed = |sent: &Sent| is_trigger && sent.captured && !sent.again;
        trigger.filter(timed).map(|sent| sent.at_ns)
    }

    /// Marks the segments with their ends in a block. Returns the newest that was not marked.
    fn mark_sacked(&mut self, (begin, end): (u32, u32)) -> Option<Sent> {
        let sent_before = |edge: u32| move |sent: &Sent| !before(edge, sent.end);
        if !before(begin, end) || self.next.is_none_or(|next| before(next, end)) {
            return None;
        }
        let from = self.segments.partition_point(sent_before(begin));
        let to = self.segments.partition_point(sent_before(end)).max(from);
        // A block grows at its ends, so the walks stop at the first segment marked before.
        let mut newest = None;
        for sent in self.segments.range_mut(from..to).rev().take_while(|sent| !sent.sacked) {
            sent.sacked = true;
            newest = newest.or(Some(*sent));
        }
        let mut older = None;
        for sent in self.segments.range_mut(from..to).take_while(|sent| !sent.sacked) {
            sent.sacked = true;
            older = Some(*sent);
        }
        newest.or(older)
    }

    /// Ends the wait of all segments.
    pub(super) fn end(&mut self) {
        self.begin = self.next.unwrap_or(self.begin);
        self.segments.clear();
    }

    /// Frees unused memory.
    pub(super) fn shrink(&mut self) {
        self.segments.shrink_to_fit();
    }
}

/// Whether `outer` contains `inner`, as ranges of sequence numbers.
fn contains(outer: (u32, u32), inner: (u32, u32)) -> bool {
    !before(inner.0, outer.0) && !before(outer.1, inner.1)
}
