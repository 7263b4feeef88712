//! A FIFO that knows how many bytes wait in it: what CoDel controls.

use std::collections::VecDeque;

use sojourn_units::{Bytes, Instant};

use crate::contract::{Backlog, Packet};

/// Packets in the order of their arrival. Allocates nothing until the first
/// comes.
pub(crate) struct Fifo<P> {
    packets: VecDeque<P>,
    bytes: Bytes,
}

impl<P: Packet> Fifo<P> {
    pub(crate) fn new() -> Fifo<P> {
        Fifo { packets: VecDeque::new(), bytes: Bytes::ZERO }
    }

    /// Appends `packet`, stamped with the time from which its sojourn counts.
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, mut packet: P) {
        packet.set_enqueued_at(now);
        self.bytes += packet.size();
        self.packets.push_back(packet);
    }

    /// Takes the packet that has waited longest.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.size();
        Some(packet)
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    /// Gives memory back where an empty FIFO holds room for more than `keep`
    /// packets. It takes a burst longer than that to need the room again, so
    /// the cost per packet stays constant.
    #[inline]
    pub(crate) fn release_beyond(&mut self, keep: usize) {
        if self.packets.is_empty() && self.packets.capacity() > keep {
            self.packets = VecDeque::new();
        }
    }
}
