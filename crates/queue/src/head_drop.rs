//! Head-drop: one FIFO that makes room by dropping its oldest packets.
//!
//! The sender detects a drop at the head sooner than one at the tail, by the queueing
//! delay.

use sojourn_units::{Bytes, Instant};

use crate::apart::{Apart, refuse};
use crate::contract::{Backlog, DropReason, Info, Limit, Packet, Queue, Setup};
use crate::fifo::Fifo;

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "head_drop",
    title: "Head-drop: one FIFO that drops its oldest packets to make room for new ones",
    source: "Lakshman, Neidhardt, Ott: The drop from front strategy in TCP and in TCP over \
             ATM, INFOCOM 1996; pfifo_head_drop in Linux",
    params: &[],
    // Linux's default transmit queue length.
    default_packets: 1000,
    random: false,
    ordered: &[],
    inner: &[],
    shaping: None,
};

/// A FIFO that drops from its head.
pub struct HeadDrop<P> {
    fifo: Fifo<P>,
    limit: Limit,
}

impl<P: Packet> HeadDrop<P> {
    pub(crate) fn new(setup: &Setup) -> HeadDrop<P> {
        HeadDrop { fifo: Fifo::new(), limit: setup.limit }
    }

    /// Drops from the head until `packet` fits.
    #[cold]
    #[inline(never)]
    fn make_room_for(&mut self, packet: &Apart<P>, drops: &mut dyn FnMut(P, DropReason)) {
        while !self.limit.admits(self.fifo.backlog(), packet.0.size())
            && let Some(oldest) = self.fifo.pop()
        {
            drops(oldest, DropReason::Full);
        }
    }
}

impl<P: Packet + Send> Queue<P> for HeadDrop<P> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut dyn FnMut(P, DropReason)) {
        if !self.limit.admits(self.fifo.backlog(), packet.size()) {
            // A packet larger than the whole buffer must not drop other packets.
            if !self.limit.admits(Backlog::default(), packet.size()) {
                return refuse(&Apart(packet), drops);
            }
            self.make_room_for(&Apart(packet), drops);
        }
        self.fifo.push(now, packet);
    }

    #[inline(always)]
    fn dequeue(&mut self, _now: Instant, _drops: &mut dyn FnMut(P, DropReason)) -> Option<P> {
        self.fifo.pop()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn make_room(&mut self, _now: Instant, drops: &mut dyn FnMut(P, DropReason)) {
        self.fifo.drop_first(drops);
    }

    fn head_size(&self) -> Option<Bytes> {
        self.fifo.head_size()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}
