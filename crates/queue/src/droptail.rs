//! Drop-tail: one FIFO that refuses what does not fit.

use std::collections::VecDeque;

use sojourn_units::{Bytes, Instant};

use crate::contract::{Backlog, DropReason, Info, Limit, Packet, Queue, Setup};

/// What a listing says of it.
pub(crate) const INFO: Info = Info {
    name: "droptail",
    title: "Drop-tail: one FIFO that refuses what does not fit",
    source: "RFC 7567 section 1",
    params: &[],
    // Linux's default transmit queue length.
    default_packets: 1000,
    random: false,
};

/// A drop-tail FIFO.
pub struct DropTail<P> {
    packets: VecDeque<P>,
    bytes: Bytes,
    limit: Limit,
}

impl<P: Packet> DropTail<P> {
    pub(crate) fn new(setup: &Setup) -> DropTail<P> {
        DropTail { packets: VecDeque::new(), bytes: Bytes::ZERO, limit: setup.limit }
    }
}

impl<P: Packet + Send> Queue<P> for DropTail<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut dyn FnMut(P, DropReason)) {
        if !self.limit.admits(self.backlog(), packet.size()) {
            return drops(packet, DropReason::Full);
        }
        packet.set_enqueued_at(now);
        self.bytes += packet.size();
        self.packets.push_back(packet);
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _drops: &mut dyn FnMut(P, DropReason)) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.size();
        Some(packet)
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}
