//! What the draft notes with every packet (section 4.1.2.1.2), kept here since
//! the transport has no use for it.

use std::collections::VecDeque;

use sojourn_units::Bytes;

/// Rounds after which a packet's fate is known: deemed lost takes until a later
/// packet was acknowledged, and a round-trip time and the reordering window of
/// at most another beyond it (RFC 8985 section 6.2); one round stands in reserve.
const ROUNDS: usize = 4;

/// A packet when it was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    /// `C.inflight` immediately after it left (`P.tx_in_flight`).
    pub(super) tx_in_flight: Bytes,
    /// `C.lost` when it left (`P.lost`).
    pub(super) lost: Bytes,
    /// `P.size`.
    pub(super) size: u32,
    /// `P.is_app_limited`.
    pub(super) is_app_limited: bool,
}

/// The packets of the last rounds by their numbers.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// Number of the first.
    base: u64,
    sent: VecDeque<Packet>,
    /// The next number when each of the last rounds began, the oldest first.
    rounds: [u64; ROUNDS],
}

impl Packets {
    /// Packet `number` leaves. Numbers count up by one.
    pub(super) fn push(&mut self, number: u64, packet: Packet) {
        if self.base + self.sent.len() as u64 != number {
            self.sent.clear();
            self.base = number;
        }
        self.sent.push_back(packet);
    }

    /// Packet `number`, where it is remembered.
    pub(super) fn get(&self, number: u64) -> Option<Packet> {
        self.sent.get(usize::try_from(number.checked_sub(self.base)?).ok()?).copied()
    }

    /// A round begins, and `next` is the number of the next packet: forgets those
    /// that left before the last few rounds.
    pub(super) fn on_round(&mut self, next: u64) {
        let old = self.rounds[0].saturating_sub(self.base).min(self.sent.len() as u64);
        self.sent.drain(..old as usize);
        self.base += old;
        self.rounds.rotate_left(1);
        self.rounds[ROUNDS - 1] = next;
    }
}

#[cfg(test)]
mod tests {
    use sojourn_units::Bytes;

    use super::{Packet, Packets};

    fn packet(size: u32) -> Packet {
        Packet { size, tx_in_flight: Bytes(u64::from(size)), ..Packet::default() }
    }

    #[test]
    fn remembers_the_last_rounds_only() {
        let mut packets = Packets::default();
        for round in 0_u32..10 {
            (0..10).for_each(|i| packets.push(u64::from(round * 10 + i), packet(round * 10 + i)));
            packets.on_round(u64::from(round + 1) * 10);
        }
        // The fifth round before the last began with packet 50 unsent.
        assert!(packets.get(59).is_none() && packets.get(100).is_none());
        assert_eq!(packets.get(60).map(|p| p.size), Some(60));
        assert_eq!(packets.get(99).map(|p| p.size), Some(99));
    }

    #[test]
    fn a_gap_in_the_numbers_begins_anew() {
        let mut packets = Packets::default();
        packets.push(3, packet(3));
        packets.push(7, packet(7));
        assert!(packets.get(3).is_none() && packets.get(4).is_none());
        assert_eq!(packets.get(7).map(|p| p.size), Some(7));
    }
}
