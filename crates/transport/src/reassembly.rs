//! The receiver's segments and gaps.

use std::collections::VecDeque;

use crate::ranges::first_past;
use crate::wire::{Data, SegmentRange};

#[derive(Clone, Copy, Debug)]
struct Island {
    start: u64,
    end: u64,
    /// Payload of its segments in bytes.
    bytes: u64,
}

/// Received segments: all below `next`, and islands beyond it.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    next: u64,
    /// Payload of the segments below `next` in bytes.
    in_order_bytes: u64,
    islands: VecDeque<Island>,
    /// The islands that changed most recently, the newest first.
    recent: Vec<SegmentRange>,
}

/// Relation of a packet to the segments received before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The next segment, with no gap.
    InOrder,
    /// Creates, fills or follows a gap.
    OutOfOrder,
    /// Received before.
    Duplicate,
}

impl Reassembly {
    /// The first missing segment.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Whether a segment is missing below the highest one received.
    pub(crate) fn has_gaps(&self) -> bool {
        !self.islands.is_empty()
    }

    /// Bytes in order since the beginning of the stream, which the application can read.
    pub(crate) fn in_order_bytes(&self) -> u64 {
        self.in_order_bytes
    }

    #[inline]
    pub(crate) fn receive(&mut self, data: &Data, remembered: usize) -> Arrival {
        if data.segment < self.next {
            return Arrival::Duplicate;
        }
        let bytes = u64::from(data.len);
        if data.segment == self.next && self.islands.is_empty() {
            (self.next, self.in_order_bytes) = (self.next + 1, self.in_order_bytes + bytes);
            return Arrival::InOrder;
        }
        self.receive_beyond_gap(data, bytes, remembered)
    }

    fn receive_beyond_gap(&mut self, data: &Data, bytes: u64, remembered: usize) -> Arrival {
        let is_new = self.insert(data.segment, bytes);
        self.advance();
        // Duplicates too: the island is the second block of RFC 2883 section 4. The sender does not
        // know of it, or it would not have retransmitted the segment.
        self.remember(data.segment, remembered);
        if is_new { Arrival::OutOfOrder } else { Arrival::Duplicate }
    }

    /// Adds one segment to the islands. Returns false if an island already contains it.
    fn insert(&mut self, segment: u64, bytes: u64) -> bool {
        let at = first_past(&self.islands, |i| i.end < segment);
        match self.islands.get_mut(at) {
            Some(island) if island.start <= segment && segment < island.end => false,
            Some(island) if island.end == segment => {
                (island.end, island.bytes) = (segment + 1, island.bytes + bytes);
                self.join(at);
                true
            }
            Some(island) if island.start == segment + 1 => {
                (island.start, island.bytes) = (segment, island.bytes + bytes);
                true
            }
            _ => {
                self.islands.insert(at, Island { start: segment, end: segment + 1, bytes });
                true
            }
        }
    }

    /// Joins island `at` with the next one if they touch.
    fn join(&mut self, at: usize) {
        let end = self.islands[at].end;
        if self.islands.get(at + 1).is_some_and(|next| next.start == end) {
            let next = self.islands.remove(at + 1).expect("it was just seen");
            self.islands[at].end = next.end;
            self.islands[at].bytes += next.bytes;
        }
    }

    /// Takes the first island in if it begins at `next`.
    fn advance(&mut self) {
        if let Some(first) = self.islands.front().filter(|i| i.start <= self.next) {
            self.next = first.end;
            self.in_order_bytes += first.bytes;
            self.islands.pop_front();
        }
    }

    fn remember(&mut self, segment: u64, limit: usize) {
        let island = self.island_of(segment);
        // Drop islands that have merged into this one or were taken in.
        let within =
            |r: &SegmentRange| island.is_some_and(|i| i.start <= r.start && r.end <= i.end);
        self.recent.retain(|r| r.start >= self.next && !within(r));
        if let Some(island) = island {
            self.recent.insert(0, island);
        }
        self.recent.truncate(limit);
    }

    /// The island of `segment`.
    fn island_of(&self, segment: u64) -> Option<SegmentRange> {
        let at = first_past(&self.islands, |i| i.end <= segment);
        let island = self.islands.get(at).filter(|i| i.start <= segment)?;
        Some(SegmentRange { start: island.start, end: island.end })
    }

    /// The most recently changed islands, the newest first (RFC 2018 section 4). The order suits
    /// QUIC too: the latest packet numbers are the highest, which RFC 9000 section 19.3.1 puts
    /// first.
    pub(crate) fn newest(&self) -> &[SegmentRange] {
        &self.recent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_units::Ecn;
    use std::collections::BTreeSet;

    fn data(segment: u64) -> Data {
        let ecn = Ecn::NotEct;
        Data { number: segment, segment, len: 10, ecn, cwr: false, is_burst_end: false }
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(
            segments in prop::collection::vec(0_u64..40, 1..120),
            limit in 0_usize..5,
        ) {
            let (mut reassembly, mut model) = (Reassembly::default(), BTreeSet::new());
            let mut recent: Vec<u64> = Vec::new();
            for segment in segments {
                let arrival = reassembly.receive(&data(segment), limit);
                prop_assert_eq!(arrival == Arrival::Duplicate, !model.insert(segment));
                let next = (0..).find(|s| !model.contains(s)).unwrap();
                prop_assert_eq!(reassembly.next(), next);
                prop_assert_eq!(reassembly.in_order_bytes(), next * 10);
                let islands = reassembly.islands.iter();
                let all: Vec<_> = islands.map(|i| SegmentRange { start: i.start, end: i.end }).collect();
                let flat: BTreeSet<u64> = all.iter().flat_map(|r| r.start..r.end).collect();
                prop_assert_eq!(flat, model.range(next..).copied().collect::<BTreeSet<_>>());
                // RFC 2018 section 4: one segment represents each island, the newest first.
                let island_of = |s: &u64| all.iter().position(|r| r.start <= *s && *s < r.end);
                let own = island_of(&segment);
                recent.retain(|s| island_of(s).is_some_and(|at| Some(at) != own));
                if own.is_some() {
                    recent.insert(0, segment);
                }
                recent.truncate(limit);
                let expected = recent.iter().filter_map(island_of).map(|at| all[at]);
                prop_assert_eq!(reassembly.newest(), expected.collect::<Vec<_>>());
            }
        }
    }
}
