//! Drop-tail: one FIFO that drops packets that do not fit.

use sojourn_units::{Bytes, Instant};

use crate::apart::{Apart, refuse};
use crate::contract::{Backlog, DropReason, Info, Limit, Packet, Queue, Setup};
use crate::fifo::Fifo;

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "droptail",
    title: "Drop-tail: one FIFO that drops packets that do not fit",
    source: "RFC 7567 section 1",
    params: &[],
    ordered: &[],
    inner: &[],
    // Linux's default transmit queue length.
    default_packets: 1000,
    random: false,
    shaping: None,
};

/// A drop-tail FIFO.
pub struct DropTail<P> {
    fifo: Fifo<P>,
    limit: Limit,
}

impl<P: Packet> DropTail<P> {
    pub(crate) fn new(setup: &Setup) -> DropTail<P> {
        DropTail { fifo: Fifo::new(), limit: setup.limit }
    }
}

impl<P: Packet + Send> Queue<P> for DropTail<P> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut dyn FnMut(P, DropReason)) {
        if !self.limit.admits(self.fifo.backlog(), packet.size()) {
            return refuse(&Apart(packet), drops);
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
