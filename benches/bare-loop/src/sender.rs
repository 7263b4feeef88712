//! The sender: a window and the packets in flight.

use crate::Ack;
use crate::cubic::Cubic;

/// A sender with endless data. Each packet has a new number, as in QUIC.
#[derive(Default)]
pub(crate) struct Sender {
    cubic: Cubic,
    /// Number of the next packet.
    next: u64,
    /// One more than the greatest number acknowledged.
    acknowledged: u64,
    lost: u64,
    /// Losses below this number belong to the last reduction (RFC 9438 section 4.6: one reduction a
    /// round trip).
    recovery_end: u64,
}

impl Sender {
    /// Number of the next packet, if the window permits one.
    pub(crate) fn next(&mut self) -> Option<u64> {
        let in_flight = self.next - self.acknowledged;
        if in_flight as f64 >= self.cubic.cwnd {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// Handles an acknowledgement; returns whether it reduced the window.
    pub(crate) fn on_ack(&mut self, now: u64, ack: &Ack) -> bool {
        let covered = ack.next - self.acknowledged;
        let lost = ack.next - ack.received - self.lost;
        self.acknowledged = ack.next;
        self.lost += lost;
        if lost > 0 && ack.next > self.recovery_end {
            self.recovery_end = self.next;
            self.cubic.on_loss();
            return true;
        }
        // No growth in recovery.
        if ack.next > self.recovery_end {
            self.cubic.on_ack(now, covered - lost, now - ack.sent_at);
        }
        false
    }
}
