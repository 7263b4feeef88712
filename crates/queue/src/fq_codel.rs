//! FQ-CoDel: deficit round robin over hashed flows, each under its own CoDel, as Linux
//! deploys it (`net/sched/sch_fq_codel.c` of 6.12).
//!
//! [`crate::fq_codel_rfc`] follows RFC 8290 instead.
//!
//! - Deviation (RFC 8290 4.1): as in Linux, a full buffer drops half of the fattest flow's bytes,
//!   not of its packets, and adds the drops to CoDel's `count`: the next drops of that flow come
//!   sooner.
//! - Deviation (RFC 8289 5.6): as in Linux, CoDel exempts the last MTU of all flows, not of each
//!   flow's queue, which it manages.
//! - Deviation (RFC 8290 4.2): as in Linux, a new flow that runs empty leaves the lists if no old
//!   flow waits.
//! - Deviation (RFC 8289 5): as in Linux, CoDel computes in integers
//!   ([`crate::codel::linux`]).
//! - Deviation (Linux sch_fq_codel.c): absent are `memory_limit`, which counts the memory of packets
//!   beside their number, `ce_threshold_selector`, and filters. The link's buffer limits the queue,
//!   in packets or bytes.

use std::collections::VecDeque;

use sojourn_units::params::{Key, Kind, keys};
use sojourn_units::{Bytes, Instant};

use crate::codel::control::{self, Control};
use crate::codel::linux;
use crate::contract::{Backlog, DropReason, Drops, Info, Limit, Packet, Queue, Setup};
use crate::fifo::Fifo;
use crate::hash::Buckets;
use crate::slow_path::SlowPath;

/// The parameters of both forms.
pub(crate) const PARAMS: &[Key] = keys! {
    control::TARGET;
    control::INTERVAL;
    control::ecn(true, "RFC 8290 section 5.2.6");
    control::CE_THRESHOLD;
    /// Number of queues that flows are hashed into
    flows: Kind::Integer(1024, 1, 65_536), "RFC 8290 section 5.2.5; range of tc-fq_codel(8)";
    /// Bytes that a flow may send in a turn
    // A quantum below 256 B only adds rounds (Linux's minimum).
    quantum: Kind::Data(Bytes(1514), Bytes(256), Bytes(1 << 20)),
        "RFC 8290 section 5.2.4; range of tc-fq_codel(8)";
    /// Greatest number of packets dropped at once from the longest queue when the buffer is full
    drop_batch: Kind::Integer(64, 1, u32::MAX as u64), "RFC 8290 section 4.1; tc-fq_codel(8)";
};

/// RFC 8290 section 5.2.3.
pub(crate) const PACKETS: u64 = 10_240;

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "fq_codel",
    title: "FQ-CoDel as in Linux: flows take turns, sparse ones first, each with its own CoDel",
    source: "net/sched/sch_fq_codel.c, Linux 6.12; RFC 8290",
    params: PARAMS,
    default_packets: PACKETS,
    random: true,
    ..Info::BASE
};

/// The decisions in which Linux and RFC 8290 differ, and CoDel's state of one flow.
pub trait FlowControl: Default + Send {
    /// Whether a new flow that runs empty leaves the lists if there is no old flow.
    const FORGETS_NEW_FLOWS: bool;

    /// Dequeues from a flow; `others` is the backlog of the other flows.
    fn dequeue<P: Packet>(
        &mut self,
        now: Instant,
        control: &Control,
        fifo: &mut Fifo<P>,
        others: Bytes,
        drops: Drops<'_, P>,
    ) -> Option<P>;

    /// Whether to drop another packet of the fattest flow, of which this many are dropped.
    fn is_too_fat(before: Backlog, dropped: Backlog) -> bool;

    /// Follows drops of this many of the flow's packets for want of room.
    fn on_overload(&mut self, dropped: u64);
}

/// FQ-CoDel of Linux.
pub(crate) type FqCodel<P> = FairCodel<P, linux::State>;

/// Round robin over hashed flows, each a FIFO controlled by CoDel.
pub struct FairCodel<P, C> {
    flows: Vec<Flow<P, C>>,
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
struct Flow<P, C> {
    fifo: Fifo<P>,
    codel: C,
    /// Bytes that the flow may still send in this turn: the RFC's credits.
    credits: i64,
    /// Whether the flow is on one of the lists.
    active: bool,
}

impl<P: Packet, C: FlowControl> FairCodel<P, C> {
    pub(crate) fn new(setup: &Setup) -> FairCodel<P, C> {
        let flows = setup.params.integer("flows") as usize;
        let empty = || Flow { fifo: Fifo::new(), codel: C::default(), credits: 0, active: false };
        FairCodel {
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
    fn drop_from_fattest(&mut self, drops: Drops<'_, P>) {
        let most = self.flow_bytes.iter().max();
        let fattest = self.flow_bytes.iter().position(|bytes| Some(bytes) == most).unwrap_or(0);
        let flow = &mut self.flows[fattest];
        let before = flow.fifo.backlog();
        let mut dropped = Backlog::default();
        while let Some(packet) = flow.fifo.pop() {
            dropped.packets += 1;
            dropped.bytes += packet.size();
            drops(packet, DropReason::Full);
            if dropped.packets >= self.drop_batch || !C::is_too_fat(before, dropped) {
                break;
            }
        }
        flow.codel.on_overload(dropped.packets);
        self.took_from(fattest, before);
    }

    /// Dequeues from one flow through its CoDel.
    #[inline]
    fn dequeue_from(&mut self, index: usize, now: Instant, drops: Drops<'_, P>) -> Option<P> {
        let flow = &mut self.flows[index];
        let before = flow.fifo.backlog();
        let others = self.backlog.bytes - before.bytes;
        let packet = flow.codel.dequeue(now, &self.control, &mut flow.fifo, others, drops);
        flow.credits -= packet.as_ref().map_or(0, |packet| packet.size().0 as i64);
        // Also without a packet: CoDel may have dropped the flow's last ones.
        self.took_from(index, before);
        packet
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

    /// Removes an empty flow from its list.
    #[inline]
    fn deactivate(&mut self, index: u32, is_new: bool) {
        let list = if is_new { &mut self.new_flows } else { &mut self.old_flows };
        list.pop_front();
        self.flows[index as usize].active = false;
    }
}

impl<P: Packet, C: FlowControl> FairCodel<P, C> {
    /// RFC 8290 section 4.1.
    #[inline(never)]
    fn enqueue_slow(&mut self, now: Instant, SlowPath(packet): &SlowPath<P>, drops: Drops<'_, P>) {
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

impl<P: Packet + Send, C: FlowControl> Queue<P> for FairCodel<P, C> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: P, drops: Drops<'_, P>) {
        self.enqueue_slow(now, &SlowPath(packet), drops);
    }

    // RFC 8290 section 4.2.
    #[inline]
    fn dequeue(&mut self, now: Instant, drops: Drops<'_, P>) -> Option<P> {
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
            if is_new && !(C::FORGETS_NEW_FLOWS && self.old_flows.is_empty()) {
                self.move_to_old(index, is_new);
            } else {
                self.deactivate(index, is_new);
            }
        }
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn make_room(&mut self, _now: Instant, drops: Drops<'_, P>) {
        self.drop_from_fattest(drops);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
