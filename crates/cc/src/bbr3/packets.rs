//! Per-packet state of the draft (section 4.1.2.1.2) that the transport does not record.

use std::collections::VecDeque;

use sojourn_units::Bytes;

use super::ecn::Marks;

/// Rounds after which a packet's fate is known. To declare a packet lost takes an
/// acknowledgement of a later packet, a round-trip time, and a reordering window of at most
/// another (RFC 8985 section 6.2). One round is a reserve.
const ROUNDS: usize = 4;

/// State of a packet when it was sent.
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
    /// Delivered and marked packets when it left (`tx.delivered_ce`).
    pub(super) marks: Marks,
}

/// The packets of the last rounds, by packet number.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// Number of the first packet.
    base: u64,
    sent: VecDeque<Packet>,
    /// The next packet number at the start of each of the last rounds, oldest first.
    rounds: [u64; ROUNDS],
}

impl Packets {
    /// Records packet `number`. Numbers increase by one.
    pub(super) fn push(&mut self, number: u64, packet: Packet) {
        if self.base + self.sent.len() as u64 != number {
            self.sent.clear();
            self.base = number;
        }
        self.sent.push_back(packet);
    }

    /// Packet `number`, if it is still recorded.
    pub(super) fn get(&self, number: u64) -> Option<Packet> {
        self.sent.get(usize::try_from(number.checked_sub(self.base)?).ok()?).copied()
    }

    /// Starts a round, in which `next` is the number of the first packet. Forgets packets
    /// sent before the last few rounds.
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
        // The oldest kept round begins with packet 60.
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
