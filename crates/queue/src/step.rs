//! Step marking: one FIFO that marks every packet which arrives while more than a threshold
//! is waiting.
//!
//! This is RED with both thresholds at K and the instantaneous queue length as the average,
//! as in the DCTCP paper. RED with these settings drops packets that are not ECN-capable;
//! this queue drops them only at its limit.

use sojourn_units::params::{Kind, Param};
use sojourn_units::{Bytes, Instant};

use crate::apart::{Apart, refuse};
use crate::contract::{Backlog, DropReason, Info, Limit, Packet, Queue, Setup};
use crate::fifo::Fifo;

const K: Param = Param {
    name: "k",
    // No flow has more than 10^7 packets in flight.
    kind: Kind::Integer(65, 0, 10_000_000),
    doc: "Queue in packets above which an arriving packet is marked",
    source: "Alizadeh et al.: Data Center TCP (DCTCP), SIGCOMM 2010, section 3.1 and, for \
             10 Gbit/s, section 4",
};

const K_BYTES: Param = Param {
    name: "k_bytes",
    kind: Kind::Data(Bytes::MAX, Bytes::ZERO, Bytes::MAX),
    doc: "Queue in bytes above which an arriving packet is marked; off by default",
    source: "RFC 8257 section 3.1: the threshold, as switches that count bytes have it",
};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "step",
    title: "Step marking: a FIFO that marks all arrivals beyond a threshold, for DCTCP",
    source: "RFC 8257 section 3.1; Alizadeh et al., SIGCOMM 2010",
    params: &[K, K_BYTES],
    // Linux's default transmit queue length.
    default_packets: 1000,
    random: false,
    ordered: &[],
    inner: &[],
    shaping: None,
};

/// A FIFO with a threshold.
pub struct Step<P> {
    fifo: Fifo<P>,
    limit: Limit,
    k: u64,
    k_bytes: Bytes,
}

impl<P: Packet> Step<P> {
    pub(crate) fn new(setup: &Setup) -> Step<P> {
        Step {
            fifo: Fifo::new(),
            limit: setup.limit,
            k: setup.params.integer("k"),
            k_bytes: setup.params.data("k_bytes"),
        }
    }

    #[inline]
    fn is_beyond(&self) -> bool {
        let backlog = self.fifo.backlog();
        backlog.packets > self.k || backlog.bytes > self.k_bytes
    }
}

impl<P: Packet + Send> Queue<P> for Step<P> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut dyn FnMut(P, DropReason)) {
        if !self.limit.admits(self.fifo.backlog(), packet.size()) {
            return refuse(&Apart(packet), drops);
        }
        if self.is_beyond() && packet.ecn().is_capable() {
            packet.mark_ce();
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
