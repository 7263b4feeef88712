//! A FIFO that knows how many bytes wait in it: what most disciplines stand on.

use sojourn_ring::Ring;
use sojourn_units::{Bytes, Instant};

use crate::contract::{Backlog, DropReason, Packet};

/// Packets in a block: of most disciplines a link has one queue, and what lies side by
/// side is fetched ahead. A queue that never held as many takes no more than it held, so
/// that the thousand of FQ-CoDel are small, too.
const BLOCK: usize = 512;

/// Packets in the order of their arrival. Allocates nothing until the first
/// comes.
pub(crate) struct Fifo<P> {
    packets: Ring<P, BLOCK>,
    bytes: Bytes,
}

impl<P: Packet> Fifo<P> {
    pub(crate) fn new() -> Fifo<P> {
        Fifo { packets: Ring::default(), bytes: Bytes::ZERO }
    }

    /// Appends `packet`, stamped with the time from which its sojourn counts.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Instant, mut packet: P) {
        self.bytes += packet.size();
        packet.set_enqueued_at(now);
        self.packets.push(packet);
    }

    /// Takes the packet that has waited longest.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop()?;
        self.bytes -= packet.size();
        Some(packet)
    }

    /// The packet that has waited longest.
    #[inline]
    pub(crate) fn first(&self) -> Option<&P> {
        self.packets.first()
    }

    /// Drops the packet that has waited longest, for want of room.
    pub(crate) fn drop_first(&mut self, drops: &mut dyn FnMut(P, DropReason)) {
        if let Some(packet) = self.pop() {
            drops(packet, DropReason::Full);
        }
    }

    /// Size of the packet that has waited longest.
    #[inline]
    pub(crate) fn head_size(&self) -> Option<Bytes> {
        self.packets.first().map(Packet::size)
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}
