//! The packets that an acknowledgement of segments stands for, at the sender.

use std::collections::VecDeque;

use sojourn_transport::{Ack, RangeSet};

/// Greatest number of ranges in an acknowledgement, as in the QUIC profile.
///
/// Deviation (RFC 2018 section 3): TCP's acknowledgement in qlog names packet numbers in up to 32
/// ranges; the simulated one names segments, in up to `sack_ranges`.
const MOST_RANGES: usize = 32;
/// Retransmissions that are kept of a segment. An acknowledgement arrives within a round trip, in
/// which the timeouts of RFC 9002 section 6.2 double and repeat a packet a few times at most.
const MOST_RETRANSMISSIONS: usize = 8;

/// The packets of a sender by segment, and those of them that were acknowledged.
///
/// Deviation (RFC 9000 section 19.3): the acknowledgements of Sojourn's transport name segments and
/// the newest packet. A segment stands for its last transmission up to that packet. The latest eight
/// retransmissions and the first transmission are kept.
#[derive(Debug, Default)]
pub(super) struct NamedPackets {
    /// The transmissions of each segment from `first` on.
    segments: VecDeque<Transmissions>,
    first: u64,
    acked: RangeSet,
    packets: RangeSet,
}

/// The packet numbers of a segment, which grow.
#[derive(Debug)]
struct Transmissions {
    first: u64,
    again: Vec<u64>,
}

impl Transmissions {
    fn sent_again(&mut self, number: u64) {
        if self.again.len() == MOST_RETRANSMISSIONS {
            self.again.remove(0);
        }
        self.again.push(number);
    }

    /// The last one up to the newest packet that has arrived.
    fn last_until(&self, newest: u64) -> u64 {
        let again = self.again.iter().rev().find(|number| **number <= newest);
        again.copied().unwrap_or(self.first)
    }
}

impl NamedPackets {
    /// A packet with this segment leaves.
    pub(super) fn sent(&mut self, segment: u64, number: u64) {
        let Some(place) = segment.checked_sub(self.first) else { return };
        match self.segments.get_mut(place as usize) {
            Some(sent) => sent.sent_again(number),
            None => self.segments.push_back(Transmissions { first: number, again: Vec::new() }),
        }
    }

    /// An acknowledgement arrives.
    pub(super) fn acked(&mut self, ack: &Ack) {
        let NamedPackets { segments, first, acked, packets } = self;
        let mut name = |start: u64, end: u64| {
            for segment in start.max(*first)..end {
                let place = (segment - *first) as usize;
                let Some(sent) = segments.get(place) else { return };
                let number = sent.last_until(ack.newest);
                packets.insert(number, number + 1, |_, _| {});
            }
        };
        acked.insert(0, ack.cumulative, &mut name);
        ack.ranges().iter().for_each(|range| acked.insert(range.start, range.end, &mut name));
        packets.insert(ack.newest, ack.newest + 1, |_, _| {});
        let done = ack.cumulative.saturating_sub(*first).min(segments.len() as u64);
        segments.drain(..done as usize);
        *first += done;
    }

    /// The highest ranges of packets that were acknowledged, the highest first.
    pub(super) fn ranges(&mut self) -> Vec<(u64, u64)> {
        highest(&mut self.packets)
    }
}

/// The highest ranges, the highest first. Lower ones are never named again.
pub(super) fn highest(packets: &mut RangeSet) -> Vec<(u64, u64)> {
    let highest = packets.highest_first().take(MOST_RANGES);
    let ranges: Vec<_> = highest.map(|(start, end)| (start, end - 1)).collect();
    if let Some((first, _)) = ranges.get(MOST_RANGES - 1) {
        packets.trim_below(*first);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use sojourn_transport::SegmentRange;

    use super::*;

    fn ack(cumulative: u64, newest: u64, ranges: &[(u64, u64)]) -> Ack {
        let mut ack = Ack::default();
        (ack.cumulative, ack.newest) = (cumulative, newest);
        let ranges = ranges.iter().map(|&(start, end)| SegmentRange { start, end });
        ack.add_details().ranges.extend(ranges);
        ack
    }

    #[test]
    fn a_retransmission_has_a_number_of_its_own() {
        let mut named = NamedPackets::default();
        (0..5).for_each(|number| named.sent(number, number));
        named.acked(&ack(1, 4, &[(2, 5)]));
        assert_eq!(named.ranges(), [(2, 4), (0, 0)]);
        named.sent(1, 5);
        named.sent(5, 6);
        named.acked(&ack(5, 5, &[]));
        assert_eq!(named.ranges(), [(2, 5), (0, 0)]);
        assert_eq!((named.first, named.segments.len()), (5, 1));
    }

    #[test]
    fn an_original_that_was_late_is_named_before_its_retransmission() {
        let mut named = NamedPackets::default();
        (0..3).for_each(|number| named.sent(number, number));
        named.sent(0, 3);
        named.acked(&ack(3, 2, &[]));
        assert_eq!(named.ranges(), [(0, 2)]);
    }
    #[test]
    fn a_segment_stands_for_its_last_transmission_up_to_the_newest_packet() {
        let mut named = NamedPackets::default();
        for (segment, number) in [(0, 0), (1, 1), (0, 2), (1, 3), (0, 4)] {
            named.sent(segment, number);
        }
        named.acked(&ack(1, 3, &[]));
        assert_eq!(named.ranges(), [(2, 3)]);
    }

    #[test]
    fn the_transmissions_of_a_segment_are_bounded() {
        let mut named = NamedPackets::default();
        (0..1000).for_each(|number| named.sent(0, number));
        assert_eq!(named.segments[0].again.len(), MOST_RETRANSMISSIONS);
        named.acked(&ack(1, 998, &[]));
        assert_eq!(named.ranges(), [(998, 998)]);
    }
}
