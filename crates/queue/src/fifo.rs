//! The FIFO with a byte count that most disciplines use.

use sojourn_ring::Ring;
use sojourn_units::{Bytes, Instant};

use crate::contract::{Backlog, DropReason, Packet};

/// Packets per block. Most disciplines have one queue per link, and hardware prefetches
/// adjacent packets. A queue that never held a full block allocates only its maximum
/// length, so that FQ-CoDel's thousand queues stay small.
const BLOCK: usize = 512;

/// Packets in order of arrival. Allocates no memory until the first packet.
pub(crate) struct Fifo<P> {
    packets: Ring<P, BLOCK>,
    bytes: Bytes,
}

impl<P: Packet> Fifo<P> {
    pub(crate) fn new() -> Fifo<P> {
        Fifo { packets: Ring::default(), bytes: Bytes::ZERO }
    }

    /// Appends `packet` and stamps it with `now`, the start of its sojourn time.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Instant, mut packet: P) {
        self.bytes += packet.size();
        packet.set_enqueued_at(now);
        self.packets.push(packet);
    }

    /// Removes the oldest packet.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop()?;
        self.bytes -= packet.size();
        Some(packet)
    }

    /// The oldest packet.
    #[inline]
    pub(crate) fn first(&self) -> Option<&P> {
        self.packets.first()
    }

    /// Drops the oldest packet as [`DropReason::Full`].
    pub(crate) fn drop_first(&mut self, drops: &mut dyn FnMut(P, DropReason)) {
        if let Some(packet) = self.pop() {
            drops(packet, DropReason::Full);
        }
    }

    /// Size of the oldest packet.
    #[inline]
    pub(crate) fn head_size(&self) -> Option<Bytes> {
        self.packets.first().map(Packet::size)
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}
