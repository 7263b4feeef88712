//! The order of a stream's data, outside of the stacks.
//!
//! noq-proto 1.4 closes a connection once more than 2,048 pieces of a stream wait for an earlier one,
//! even without a second gap: its reassembly merges no piece that fills its packet. One lost packet
//! in a window of 2.5 MB is enough. Unordered reads leave the stack without pieces.

use std::collections::BTreeMap;
use std::iter::Sum;

use bytes::Bytes;

/// Neighbours that are shorter together become one piece, in memory of its own: a piece of a datagram
/// keeps all of it.
const SHORT: usize = 1_024;
/// Hence a run of pieces without a gap has at least this many bytes for each piece but one.
const LEAST_MEAN: u64 = SHORT as u64 / 2;
/// Pieces that may be shorter. More come from a peer that leaves gaps between small frames, each of
/// which makes the stack's list of ranges longer. noq itself admits half as many gaps.
const SHORT_PIECES: u64 = 2_048;
/// Memory of a piece beside its data: its slot in the map, the header and rounding of its allocation,
/// and a range in the stack.
const OVERHEAD: u64 = 128;

/// Data that wait for earlier ones, of one stream or of all streams of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Their bytes.
    pub bytes: u64,
    /// The pieces in memory that contain them.
    pub pieces: u64,
}

impl Held {
    /// Bytes of memory.
    pub fn memory(self) -> u64 {
        self.bytes.saturating_add(self.pieces.saturating_mul(OVERHEAD))
    }

    /// Whether there are more pieces than the losses of an honest peer leave. Any number of full
    /// packets may wait, as flow control limits their bytes; small pieces are few or have no gaps
    /// between them. So memory stays below 1.25 times the data that flow control admits, and 262 kB.
    pub fn has_too_many_pieces(self) -> bool {
        self.pieces > SHORT_PIECES + self.bytes / LEAST_MEAN
    }
}

impl Sum for Held {
    fn sum<I: Iterator<Item = Held>>(all: I) -> Held {
        all.fold(Held::default(), |sum, one| Held {
            bytes: sum.bytes + one.bytes,
            pieces: sum.pieces + one.pieces,
        })
    }
}

/// Data of one stream by offset. The pieces that it takes do not overlap, as those of unordered reads.
#[derive(Debug, Default)]
pub struct Reassembly {
    /// Offset of the first byte that is missing.
    next: u64,
    waiting: BTreeMap<u64, Bytes>,
    bytes: u64,
}

impl Reassembly {
    /// Inserts a piece, and calls `deliver` with the data that are in order now.
    #[inline]
    pub fn insert(&mut self, offset: u64, piece: Bytes, mut deliver: impl FnMut(&[u8])) {
        if offset != self.next {
            return self.hold(offset, piece);
        }
        self.next += piece.len() as u64;
        deliver(&piece);
        while let Some(first) = self.waiting.first_entry().filter(|one| *one.key() == self.next) {
            let piece = first.remove();
            self.next += piece.len() as u64;
            self.bytes -= piece.len() as u64;
            deliver(&piece);
        }
    }

    fn hold(&mut self, offset: u64, piece: Bytes) {
        self.bytes += piece.len() as u64;
        let (offset, piece) =
            if piece.len() < SHORT { self.join(offset, &piece) } else { (offset, piece) };
        self.waiting.insert(offset, piece);
    }

    /// Copies a short piece together with its short neighbours, which it removes.
    fn join(&mut self, offset: u64, piece: &[u8]) -> (u64, Bytes) {
        let end = offset + piece.len() as u64;
        let last = self.waiting.range(..offset).next_back().map(|(at, last)| (*at, last.len()));
        let adjacent = last.filter(|(at, len)| at + *len as u64 == offset);
        let fits = adjacent.filter(|(_, len)| len + piece.len() < SHORT);
        let before = fits.and_then(|(at, _)| self.waiting.remove(&at)).unwrap_or_default();
        let len = before.len() + piece.len();
        let fits = self.waiting.get(&end).is_some_and(|next| len + next.len() < SHORT);
        let after = fits.then(|| self.waiting.remove(&end)).flatten().unwrap_or_default();
        (offset - before.len() as u64, [&before[..], piece, &after].concat().into())
    }

    /// The data that wait for earlier ones. The stack has granted credit for them again, which
    /// [`crate::ReceiveWindow`] takes back.
    pub fn held(&self) -> Held {
        Held { bytes: self.bytes, pieces: self.waiting.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A stream in pieces of lengths up to `most`, in an order that the seed chooses.
    fn pieces(most: usize) -> impl Strategy<Value = (Vec<u8>, Vec<(usize, Bytes)>)> {
        let lengths = (1..most).prop_flat_map(|most| proptest::collection::vec(1..=most, 1..100));
        (lengths, any::<u64>()).prop_map(|(lengths, seed)| {
            let stream: Vec<u8> = (0..lengths.iter().sum::<usize>()).map(|at| at as u8).collect();
            let mut parts = Vec::new();
            for len in lengths {
                let at = parts.last().map_or(0, |(at, part): &(usize, Bytes)| at + part.len());
                parts.push((at, Bytes::copy_from_slice(&stream[at..at + len])));
            }
            parts.sort_by_key(|(at, _)| (*at as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            (stream, parts)
        })
    }

    /// Runs of data without a gap beyond the first missing byte.
    fn runs(arrived: &[(usize, Bytes)], next: usize) -> u64 {
        let starts = arrived.iter().filter(|(at, _)| *at > next);
        let ends_at = |at| arrived.iter().any(|(other, part)| other + part.len() == at);
        starts.filter(|(at, _)| !ends_at(*at)).count() as u64
    }

    proptest! {
        /// Pieces of any lengths, in any order, come out as the stream. Those that wait are as many
        /// as their gaps and full packets need.
        #[test]
        fn any_order_of_pieces_gives_the_stream((stream, parts) in pieces(2_000)) {
            let (mut whole, mut order) = (Vec::new(), Reassembly::default());
            let mut arrived = 0;
            for (count, (at, part)) in parts.iter().enumerate() {
                arrived += part.len();
                order.insert(*at as u64, part.clone(), |bytes| whole.extend_from_slice(bytes));
                let held = order.held();
                prop_assert_eq!(held.bytes as usize, arrived - whole.len());
                let runs = runs(&parts[..=count], whole.len());
                prop_assert!(held.pieces <= runs + held.bytes / LEAST_MEAN, "{:?}", held);
            }
            prop_assert_eq!(whole, stream);
            prop_assert_eq!(order.held(), Held::default());
        }
    }

    /// Inserts `count` pieces of `len` bytes, from one gap or each after a gap of a byte.
    fn held(count: u64, len: u64, has_gaps: bool) -> Held {
        let (datagram, mut order) = (Bytes::from(vec![0; 1_200]), Reassembly::default());
        for at in 0..count {
            let offset = 1 + at * (len + u64::from(has_gaps));
            order.insert(offset, datagram.slice(..len as usize), |_| {});
        }
        order.held()
    }

    #[test]
    fn small_pieces_with_gaps_are_too_many() {
        assert!(!held(SHORT_PIECES, 1, true).has_too_many_pieces());
        let flood = held(SHORT_PIECES + 5, 1, true);
        assert!(flood.has_too_many_pieces());
        assert!(flood.memory() > 128 * flood.bytes, "their memory counts");
    }

    #[test]
    fn full_packets_and_small_ones_without_gaps_are_never_too_many() {
        for (len, has_gaps) in
            [(1_140, false), (1_140, true), (600, true), (1, false), (300, false)]
        {
            assert!(!held(100_000, len, has_gaps).has_too_many_pieces(), "{len}, {has_gaps}");
        }
    }
}
