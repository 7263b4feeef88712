//! The order of a stream's data, outside of the stacks.
//!
//! noq-proto 1.4 closes a connection once more than 2,048 pieces of a stream wait for an earlier one,
//! even without a second gap: its reassembly merges no piece that fills its packet. One lost packet
//! in a window of 2.5 MB is enough. Unordered reads leave the stack without pieces.

use std::collections::BTreeMap;

use bytes::Bytes;

/// Pieces that may wait. A window of 64 MiB has as many packets of the least size, 1200 bytes, and
/// half as many gaps; more come from a peer that fills memory with small frames.
const MOST_PIECES: usize = 1 << 16;
/// A shorter piece is copied, since it would keep the memory of its datagram.
const SHORT: usize = 512;

/// More pieces than those of an honest peer wait for earlier data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyGaps;

/// Data of one stream by offset. The pieces that it takes do not overlap, as those of unordered reads.
#[derive(Debug, Default)]
pub struct Reassembly {
    /// Offset of the first byte that is missing.
    next: u64,
    waiting: BTreeMap<u64, Bytes>,
    held: u64,
}

impl Reassembly {
    /// Takes a piece, and passes on the data that are in order now.
    ///
    /// # Errors
    /// If too many pieces wait.
    #[inline]
    pub fn take(
        &mut self,
        offset: u64,
        piece: Bytes,
        mut pass: impl FnMut(&[u8]),
    ) -> Result<(), TooManyGaps> {
        if offset != self.next {
            return self.keep(offset, piece);
        }
        self.next += piece.len() as u64;
        pass(&piece);
        while let Some(first) = self.waiting.first_entry().filter(|one| *one.key() == self.next) {
            let piece = first.remove();
            self.next += piece.len() as u64;
            self.held -= piece.len() as u64;
            pass(&piece);
        }
        Ok(())
    }

    fn keep(&mut self, offset: u64, piece: Bytes) -> Result<(), TooManyGaps> {
        if self.waiting.len() >= MOST_PIECES {
            return Err(TooManyGaps);
        }
        self.held += piece.len() as u64;
        let piece = if piece.len() < SHORT { Bytes::copy_from_slice(&piece) } else { piece };
        self.waiting.insert(offset, piece);
        Ok(())
    }

    /// Bytes that wait for earlier ones. The stack has granted credit for them again, which the
    /// reader takes back from the connection's window.
    pub fn held(&self) -> u64 {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Pieces of any lengths, in any order, come out as the stream.
        #[test]
        fn any_order_of_pieces_gives_the_stream(
            pieces in Just(1..2_000_usize).prop_flat_map(|sizes| {
                proptest::collection::vec(sizes, 1..40)
            }),
            seed: u64,
        ) {
            let stream: Vec<u8> = (0..pieces.iter().sum::<usize>()).map(|at| at as u8).collect();
            let mut parts = Vec::new();
            for len in pieces {
                let at = parts.last().map_or(0, |(at, part): &(usize, Bytes)| at + part.len());
                parts.push((at, Bytes::copy_from_slice(&stream[at..at + len])));
            }
            parts.sort_by_key(|(at, _)| (*at as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let (mut whole, mut order) = (Vec::new(), Reassembly::default());
            for (at, part) in parts {
                order.take(at as u64, part, |bytes| whole.extend_from_slice(bytes)).unwrap();
            }
            prop_assert_eq!(whole, stream);
            prop_assert_eq!(order.held(), 0);
        }
    }

    #[test]
    fn a_peer_that_sends_gaps_alone_is_stopped() {
        let (datagram, mut order) = (Bytes::from(vec![0; 1_200]), Reassembly::default());
        let mut take = |at: u64| order.take(1 + 2 * at, datagram.slice(..1), |_| {});
        assert!((0..MOST_PIECES as u64).all(|at| take(at).is_ok()));
        assert_eq!(take(MOST_PIECES as u64), Err(TooManyGaps));
    }
}
