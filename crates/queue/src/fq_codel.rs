//! FQ-CoDel: deficit round robin over hashed flows, each under its own CoDel
//! (RFC 8290).
//!
//! Where Linux differs from the RFC, this follows the RFC:
//!
//! - Deviation (Linux sch_fq_codel.c): CoDel's exemption of the last MTU counts the bytes of the
//!   flow's own queue, which CoDel manages. Linux counts the bytes of all flows.
//! - Deviation (Linux sch_fq_codel.c): overload drops half of the fattest flow's packets from its
//!   head (up to `drop_batch`), and leaves CoDel's `count` unchanged. Linux drops half of its
//!   bytes, and adds them to `count`.
//! - Deviation (Linux sch_fq_codel.c): the link's buffer limits the queue, in packets or bytes.
//!   Linux has a separate `memory_limit` beside the packets.
//!
//! See [`crate::codel`] for CoDel itself.

use std::collections::VecDeque;

use sojourn_params::{Kind, Param};
use sojourn_units::{Bytes, Instant};

use crate::codel::control::{self, Control, State};
use crate::contract::{Backlog, DropReason, Info, Limit, Packet, Queue, Setup};
use crate::fifo::Fifo;
use crate::hash::Buckets;
use crate::slow_path::SlowPath;

const FLOWS: Param = Param {
    name: "flows",
    kind: Kind::Integer(1024, 1, 65_536),
    doc: "Number of queues that flows are hashed into",
    source: "RFC 8290 section 5.2.5; range of tc-fq_codel(8)",
};

const QUANTUM: Param = Param {
    name: "quantum",
    // A quantum below 256 B only adds rounds (Linux's minimum).
    kind: Kind::Data(Bytes(1514), Bytes(256), Bytes(1 << 20)),
    doc: "Bytes that a flow may send in a turn",
    source: "RFC 8290 section 5.2.4; range of tc-fq_codel(8)",
};

const DROP_BATCH: Param = Param {
    name: "drop_batch",
    kind: Kind::Integer(64, 1, u32::MAX as u64),
    doc: "Greatest number of packets dropped at once from the longest queue when the buffer is \
          full",
    source: "RFC 8290 section 4.1; tc-fq_codel(8)",
};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "fq_codel",
    title: "FQ-CoDel: flows take turns, sparse ones first, each with its own CoDel",
    source: "RFC 8290",
    params: &[
        control::TARGET,
        control::INTERVAL,
        control::ecn(true, "RFC 8290 section 5.2.6"),
        control::CE_THRESHOLD,
        FLOWS,
        QUANTUM,
        DROP_BATCH,
    ],
    ordered: &[],
    inner: &[],
    // RFC 8290 section 5.2.3.
    default_packets: 10_240,
    random: true,
    shaping: None,
};

/// Round robin over hashed flows, each a FIFO controlled by CoDel.
pub struct FqCodel<P> {
    flows: Vec<Flow<P>>,
    /// The backlog in bytes of each flow, in one dense array: the search for the fattest
    /// flow then touches few cache lines.
    flow_bytes: Vec<Bytes>,
    /// Flows that have not had a full turn yet.
    new_flows: VecDeque<u32>,
    /// Flows that have had a full turn.
    old_flows: VecDeque<u32>,
    backlog: Backlog,
    limit: Limit,
    quantum: i64,
    drop_batch: u64,
    buckets: Buckets,
    control: Control,
}

/// One of the queues that flows are hashed into.
struct Flow<P> {
    fifo: Fifo<P>,
    codel: State,
    /// Bytes that the flow may still send in this turn: the RFC's credits.
    credits: i64,
    /// Whether the flow is on one of the lists.
    active: bool,
}

impl<P: Packet> FqCodel<P> {
    pub(crate) fn new(setup: &Setup) -> FqCodel<P> {
        let flows = setup.params.integer("flows") as usize;
        let empty =
            || Flow { fifo: Fifo::new(), codel: State::default(), credits: 0, active: false };
        FqCodel {
            flows: std::iter::repeat_with(empty).take(flows).collect(),
            flow_bytes: vec![Bytes::ZERO; flows],
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            backlog: Backlog::default(),
            limit: setup.limit,
            quantum: setup.params.data("quantum").0 as i64,
            drop_batch: setup.params.integer("drop_batch"),
            buckets: Buckets::new(flows, setup.seed),
            control: Control::new(setup),
        }
    }

    /// Makes room by dropping from the head of the fattest flow. It drops a batch of
    /// packets, to spread the cost of the search (RFC 8290 section 4.1).
    #[cold]
    fn drop_from_fattest(&mut self, drops: &mut dyn FnMut(P, DropReason)) {
        let most = self.flow_bytes.iter().max();
        let fattest = self.flow_bytes.iter().position(|bytes| Some(bytes) == most).unwrap_or(0);
        let before = self.flows[fattest].fifo.backlog();
        let batch = (before.packets / 2).clamp(1, self.drop_batch);
        for _ in 0..batch {
            if let Some(packet) = self.flows[fattest].fifo.pop() {
                drops(packet, DropReason::Full);
            }
        }
        self.took_from(fattest, before);
    }

    /// Dequeues from one flow through its CoDel.
    #[inline]
    fn dequeue_from(
        &mut self,
        index: usize,
        now: Instant,
        drops: &mut dyn FnMut(P, DropReason),
    ) -> Option<P> {
        let flow = &mut self.flows[index];
        let before = flow.fifo.backlog();
        let packet = flow.codel.dequeue(now, &self.control, &mut flow.fifo, drops)?;
        flow.credits -= packet.size().0 as i64;
        self.took_from(index, before);
        Some(packet)
    }

    /// Updates the totals after a dequeue or drop from a flow whose backlog was `before`.
    #[inline]
    fn took_from(&mut self, index: usize, before: Backlog) {
        let after = self.flows[index].fifo.backlog();
        self.backlog.packets -= before.packets - after.packets;
        self.backlog.bytes -= before.bytes - after.bytes;
        self.flow_bytes[index] = after.bytes;
    }

    /// Ends the turn of the first flow on its list.
    #[inline]
    fn move_to_old(&mut self, index: u32, is_new: bool) {
        if is_new {
            self.new_flows.pop_front();
        } else {
            self.old_flows.pop_front();
        }
        self.old_flows.push_back(index);
    }

    /// Removes an empty flow from the old list.
    #[inline]
    fn deactivate(&mut self, index: u32) {
        self.old_flows.pop_front();
        self.flows[index as usize].active = false;
    }
}

impl<P: Packet> FqCodel<P> {
    /// RFC 8290 section 4.1.
    #[inline(never)]
    fn enqueue_slow(
        &mut self,
        now: Instant,
        SlowPath(packet): &SlowPath<P>,
        drops: &mut dyn FnMut(P, DropReason),
    ) {
        let index = self.buckets.of(packet.flow_hash());
        let flow = &mut self.flows[index];
        flow.fifo.push(now, *packet);
        if !flow.active {
            flow.active = true;
            flow.credits = self.quantum;
            self.new_flows.push_back(index as u32);
        }
        self.flow_bytes[index] += packet.size();
        self.backlog.packets += 1;
        self.backlog.bytes += packet.size();
        // One batch is enough for a limit in packets; a limit in bytes may need more.
        while self.backlog.exceeds(self.limit) {
            self.drop_from_fattest(drops);
        }
    }
}

impl<P: Packet + Send> Queue<P> for FqCodel<P> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut dyn FnMut(P, DropReason)) {
        self.enqueue_slow(now, &SlowPath(packet), drops);
    }

    // RFC 8290 section 4.2.
    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut dyn FnMut(P, DropReason)) -> Option<P> {
        loop {
            let is_new = !self.new_flows.is_empty();
            let list = if is_new { &self.new_flows } else { &self.old_flows };
            let index = *list.front()?;
            let flow = &mut self.flows[index as usize];
            if flow.credits <= 0 {
                flow.credits += self.quantum;
                self.move_to_old(index, is_new);
                continue;
            }
            if let Some(packet) = self.dequeue_from(index as usize, now, drops) {
                return Some(packet);
            }
            // An empty new flow moves to the old list for one round. If its next packet
            // made it new again, flows that keep running empty would starve the others (RFC
            // 8290 section 4.2).
            if is_new {
                self.move_to_old(index, is_new);
            } else {
                self.deactivate(index);
            }
        }
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn make_room(&mut self, _now: Instant, drops: &mut dyn FnMut(P, DropReason)) {
        self.drop_from_fattest(drops);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
