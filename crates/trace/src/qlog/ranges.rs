//! The bytes of a stream that were seen, and the packets in flight of a number space.

use std::collections::{BTreeMap, VecDeque};

use super::frames::Piece;

/// A packet is forgotten if one sent this many packet numbers later is acknowledged. RFC 9002
/// section 6.1.1 declares it lost after 3. Later acknowledgements of it are ignored.
pub(super) const LATEST: u64 = 1 << 16;

/// kPacketThreshold of RFC 9002 section 6.1.1; fewer packets may be reordered.
const PACKET_THRESHOLD: u64 = 3;

/// Disjoint ranges of bytes: the start of each, with its end.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds `start..end`; returns the number of new bytes.
    pub(super) fn add(&mut self, start: u64, end: u64) -> u64 {
        let before = self.0.range(..start).next_back();
        let (mut low, mut high, mut new) = (start, end, end - start);
        if let Some((first, last)) = before.filter(|(_, last)| **last >= start) {
            low = *first;
            high = high.max(*last);
            new -= end.min(*last) - start;
        }
        while let Some((first, last)) = self.0.range(start..=end).next().map(|(a, b)| (*a, *b)) {
            new -= end.min(last) - first;
            high = high.max(last);
            self.0.remove(&first);
        }
        self.0.insert(low, high);
        new
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// An ack-eliciting packet in flight.
#[derive(Debug)]
pub(super) struct Sent {
    /// Its sending time in seconds.
    pub(super) at: f64,
    pub(super) pieces: Box<[Piece]>,
    /// Its length in bytes, if the log omits its frames.
    pub(super) unlisted: u64,
    /// Whether the log declares it lost. An acknowledgement may still arrive.
    pub(super) is_lost: bool,
}

/// The packets in flight of one number space, by packet number.
///
/// An acknowledged range may be arbitrarily long, and packets without an outcome stay in flight.
/// The cost of a range therefore depends only on the packets found in it.
#[derive(Debug, Default)]
pub(super) struct Flight {
    sent: BTreeMap<u64, Sent>,
    /// Number of pieces in them.
    pieces: usize,
    /// Numbers and sending times of the last [`LATEST`] packets that elicit no acknowledgement.
    /// Most are never acknowledged.
    silent: VecDeque<(u64, f64)>,
    /// Packets below this number were acknowledged, or reported missing.
    judged: u64,
}

impl Flight {
    /// Adds a sent packet; it replaces one with the same number.
    pub(super) fn add(&mut self, number: u64, sent: Sent) {
        self.take(number, number);
        self.pieces += sent.pieces.len();
        self.sent.insert(number, sent);
    }

    /// Adds a sent packet that elicits no acknowledgement.
    pub(super) fn add_silent(&mut self, number: u64, at: f64) {
        if self.silent.len() as u64 == LATEST {
            self.silent.pop_front();
        }
        self.silent.push_back((number, at));
    }

    /// Removes the packets up to `number` that elicit no acknowledgement; returns the sending time
    /// of packet `number`, if it is one of them.
    pub(super) fn take_silent(&mut self, number: u64) -> Option<f64> {
        let mut last = None;
        while self.silent.front().is_some_and(|(first, _)| *first <= number) {
            last = self.silent.pop_front();
        }
        last.filter(|(found, _)| *found == number).map(|(_, at)| at)
    }

    /// The packets in flight that an acknowledged one shows to be lost, each reported once: those
    /// sent so many packets before it (RFC 9002 section 6.1.1).
    pub(super) fn missing_below(&mut self, acked: u64) -> u64 {
        let from = self.judged;
        let to = (acked + 1).saturating_sub(PACKET_THRESHOLD);
        if from >= to {
            return 0;
        }
        self.judged = to;
        self.sent.range(from..to).count() as u64
    }

    /// Marks a packet as declared lost.
    pub(super) fn lose(&mut self, number: u64) {
        if let Some(sent) = self.sent.get_mut(&number) {
            sent.is_lost = true;
        }
    }

    /// Removes the first packet from `low` to `high`, both included.
    pub(super) fn take(&mut self, low: u64, high: u64) -> Option<(u64, Sent)> {
        if low > high {
            return None;
        }
        let number = *self.sent.range(low..=high).next()?.0;
        let taken = self.sent.remove_entry(&number)?;
        self.pieces -= taken.1.pieces.len();
        Some(taken)
    }

    /// Forgets packets [`LATEST`] or more numbers below an acknowledged one.
    pub(super) fn forget_before(&mut self, acked: u64) {
        let Some(last) = acked.checked_sub(LATEST) else { return };
        while self.take(0, last).is_some() {}
    }

    /// Memory in bytes; nodes of B-trees are at least half full.
    pub(super) fn weight(&self) -> usize {
        64 + 96 * self.sent.len()
            + size_of::<Piece>() * self.pieces
            + size_of::<(u64, f64)>() * self.silent.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::{Flight, Sent};

    #[test]
    fn a_packet_is_missing_three_numbers_below_an_acknowledged_one_and_once() {
        let mut flight = Flight::default();
        for number in 0..10 {
            let sent = Sent { at: 0.0, pieces: Box::default(), unlisted: 1, is_lost: false };
            flight.add(number, sent);
        }
        let missing = [1, 2, 5].map(|acked| {
            flight.take(acked, acked);
            flight.missing_below(acked)
        });
        // Packet 2 is acknowledged, so that 5 shows 0 alone to be lost; 3 and 4 are too near.
        assert_eq!(missing, [0, 0, 1]);
        assert_eq!(flight.missing_below(5), 0);
        assert_eq!(flight.missing_below(7), 2);
    }
}
