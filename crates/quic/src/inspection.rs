//! The reader of ECN counts, in a wrapper of a stack's cryptography.
//!
//! The stacks report that there were marks, not how many, and their validation of ECN accepts
//! counts of ECT(0) alone. The wrapper sees each packet after its decryption. It reads the counts,
//! and exchanges those of ECT(0) and ECT(1) if the packets carry ECT(1). A stack, which takes its
//! own packets for ECT(0), then validates the path as usual.
//!
//! If asked, the wrapper also counts the packets that leave with data sent before. For a stack that reports no
//! packet numbers, it notes the numbers of the packets that leave, and of those that an ACK frame
//! acknowledges.

use std::sync::Arc;

use sojourn_transport::StackEvent;

use crate::frames;
use crate::tally::{Leaving, Space, Tally};

/// Reads the packets of one space of a connection in plain text.
pub(crate) struct Inspection {
    pub(crate) space: Space,
    pub(crate) tally: Arc<Tally>,
    /// Whether the counts of ECT(0) and ECT(1) are exchanged.
    pub(crate) swaps: bool,
    /// Whether the stack reports no packet numbers to the controller.
    pub(crate) reads_numbers: bool,
}

impl Inspection {
    /// Reads a packet that has arrived, of `length` bytes with its header.
    pub(crate) fn on_received(&self, packet: u64, length: usize, payload: &mut [u8]) {
        self.tally.log(|| event(false, self.space, packet, length, payload));
        if self.reads_numbers {
            self.tally.begin_acks(self.space);
        }
        frames::for_each_ack(payload, |ack, payload| {
            self.tally.delayed(self.space, ack.delay);
            if self.reads_numbers {
                ack.for_each_range(payload, |range| self.tally.acked(range));
            }
            if let Some(counts) = ack.counts() {
                self.tally.report(self.space, ack.largest, counts);
                if self.swaps {
                    ack.swap(payload);
                }
            }
        });
    }

    /// Reads a packet that leaves, of `length` bytes with its header and tag.
    pub(crate) fn on_sent(&self, packet: u64, length: usize, payload: &[u8]) {
        self.tally.log(|| event(true, self.space, packet, length, payload));
        self.tally.carries(self.space, payload);
        if self.reads_numbers && frames::counts_in_flight(payload) {
            let leaving = Leaving { space: self.space, number: packet, bytes: length as u64 };
            self.tally.leaves(leaving);
        }
    }
}

/// The event of a decrypted packet.
fn event(is_sent: bool, space: Space, number: u64, length: usize, payload: &[u8]) -> StackEvent {
    let (kind, frames) = (space.packet_type(), crate::qlog::frames(payload));
    StackEvent::Packet { is_sent, kind, number, length: length as u32, frames }
}
