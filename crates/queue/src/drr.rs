//! DRR: deficit round robin over hashed flows, each a queue of its own (M. Shreedhar,
//! G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995 and
//! IEEE/ACM Transactions on Networking 4(3), 1996).
//!
//! Active flows take turns. A turn adds the quantum to the flow's deficit counter. Packets
//! leave as long as the counter covers the next one. The remainder carries over to the
//! flow's next turn, unless the flow's queue is empty.
//!
//! Deviation (Shreedhar and Varghese 1996): the counter may stay below zero until the next turn
//! (surplus round robin: Adiseshu, Parulkar, Varghese, "A Reliable and Scalable Striping Protocol",
//! SIGCOMM 1996), if the inner queue drops at the head and then sends a larger packet than the one
//! inspected, or cannot report its next packet. The AQM thus acts when a packet leaves.
//! Deviation (Linux sch_drr.c): Linux dequeues a packet to inspect it, so that its AQM acts up to a
//! round earlier, and its classes have buffers of their own.
//! Deviation (Shreedhar and Varghese 1996): a full buffer drops from the head of the longest queue
//! (the paper's buffer stealing), where the sender detects the loss soonest; the paper leaves the
//! position open.

use std::collections::VecDeque;

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Instant};

use crate::AnyQueue;
use crate::contract::{Backlog, Drops, FlowLabels, Info, Inner, Limit, Packet, Queue, Setup};
use crate::hash::Buckets;

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "drr",
    title: "DRR: flows take turns by bytes, each with its own inner queue",
    source: "Shreedhar and Varghese, IEEE/ACM ToN 4(3), 1996",
    params: keys! {
        /// Bytes that a flow may send in a turn
        // The paper's work per packet is constant if the quantum covers any packet (section 3).
        // The range is that of Linux's fq_codel: a quantum below 256 B only adds rounds.
        quantum: Kind::Data(Bytes(1514), Bytes(256), Bytes(1 << 20)),
            "Shreedhar and Varghese 1996, section 3; tc-drr(8): the interface's MTU";
        /// Number of queues that flows are hashed into
        flows: Kind::Integer(1024, 1, 65_536),
            "RFC 8290 section 5.2.5, as FQ-CoDel; the paper's stochastic fair queueing hashes too";
    },
    inner: &[Inner { name: "inner", default: "droptail", doc: "queue of each flow" }],
    // RFC 8290 section 5.2.3, as FQ-CoDel.
    default_packets: 10_240,
    random: true,
    ..Info::BASE
};

/// Deficit round robin over hashed flows.
pub struct Drr<P: Packet> {
    flows: Vec<Flow<P>>,
    /// Flows with waiting packets, in the order of their turns: the paper's `ActiveList`.
    active: VecDeque<u32>,
    backlog: Backlog,
    limit: Limit,
    quantum: i64,
    buckets: Buckets,
}

/// One of the queues that flows are hashed into.
struct Flow<P: Packet> {
    queue: AnyQueue<P>,
    turn: Turn,
}

/// Scheduling state of a flow, with its deficit counter in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Not on the active list: its queue is empty.
    Idle,
    /// On the active list.
    Waits(i64),
    /// First on the active list, after it received its quantum.
    Has(i64),
}

impl<P: Packet + Send> Flow<P> {
    /// Whether the deficit counter covers the next packet.
    #[inline]
    fn covers_next(&self, deficit: i64) -> bool {
        self.queue.head_size().map_or(deficit > 0, |size| size.0 as i64 <= deficit)
    }
}

impl<P: Packet + Send> Drr<P> {
    pub(crate) fn new(setup: &Setup) -> Drr<P> {
        let flows = setup.params.integer("flows");
        // The flows share one buffer limit.
        let classes = setup.of_active_classes();
        let queue = |copy| AnyQueue::inside(&classes, 0, copy, Limit::NONE);
        Drr {
            flows: (0..flows).map(|at| Flow { queue: queue(at), turn: Turn::Idle }).collect(),
            active: VecDeque::new(),
            backlog: Backlog::default(),
            limit: setup.limit,
            quantum: setup.params.data("quantum").0 as i64,
            buckets: Buckets::new(flows as usize, setup.seed),
        }
    }

    /// The paper's buffer stealing, over the active flows.
    #[cold]
    fn drop_from_longest(&mut self, now: Instant, drops: Drops<'_, P>) {
        let bytes = |index: &&u32| self.flows[**index as usize].queue.backlog().bytes;
        let Some(&longest) = self.active.iter().max_by_key(bytes) else { return };
        self.on_flow(longest as usize, |queue| queue.make_room(now, drops));
        let flow = &mut self.flows[longest as usize];
        if flow.queue.backlog().packets == 0 {
            flow.turn = Turn::Idle;
            self.active.retain(|index| *index != longest);
        }
    }

    /// Applies `change` to a flow's queue and updates the total backlog.
    #[inline]
    fn on_flow<T>(&mut self, index: usize, change: impl FnOnce(&mut AnyQueue<P>) -> T) -> T {
        let queue = &mut self.flows[index].queue;
        let before = queue.backlog();
        let answer = change(queue);
        let after = queue.backlog();
        self.backlog.packets = self.backlog.packets + after.packets - before.packets;
        self.backlog.bytes = self.backlog.bytes + after.bytes - before.bytes;
        answer
    }

    /// Serves the flow whose turn it is, if its deficit counter covers the next packet.
    fn serve(&mut self, index: usize, now: Instant, drops: Drops<'_, P>) -> Served<P> {
        let flow = &mut self.flows[index];
        let deficit = match flow.turn {
            Turn::Has(deficit) => deficit,
            Turn::Waits(deficit) => deficit + self.quantum,
            Turn::Idle => self.quantum,
        };
        if !flow.covers_next(deficit) {
            self.end_turn(index, deficit);
            return Served::Short;
        }
        let packet = self.on_flow(index, |queue| queue.dequeue(now, drops));
        let sent = packet.map_or(0, |packet| packet.size().0 as i64);
        let flow = &mut self.flows[index];
        flow.turn = Turn::Has(deficit - sent);
        if flow.queue.backlog().packets == 0 {
            // An idle flow keeps no deficit.
            flow.turn = Turn::Idle;
            self.active.pop_front();
        } else if packet.is_none() {
            // An inner shaper delays the flow. Take the quantum back, so that the flow
            // saves up no deficit while it waits.
            self.end_turn(index, deficit - self.quantum);
            return Served::Held;
        }
        packet.map_or(Served::Short, Served::Packet)
    }

    #[inline]
    fn end_turn(&mut self, index: usize, deficit: i64) {
        self.flows[index].turn = Turn::Waits(deficit);
        self.active.rotate_left(1);
    }
}

/// Result of a turn.
enum Served<P> {
    Packet(P),
    /// The deficit does not cover the next packet, or the queue is empty.
    Short,
    /// An inner shaper delays the flow's packets.
    Held,
}

impl<P: Packet + Send> Queue<P> for Drr<P> {
    /// The paper's enqueuing module.
    fn enqueue(&mut self, now: Instant, packet: P, drops: Drops<'_, P>) {
        let index = self.buckets.of(packet.flow_hash());
        self.on_flow(index, |queue| queue.enqueue(now, packet, drops));
        let flow = &mut self.flows[index];
        if flow.turn == Turn::Idle && flow.queue.backlog().packets > 0 {
            flow.turn = Turn::Waits(0);
            self.active.push_back(index as u32);
        }
        while self.backlog.exceeds(self.limit) {
            let before = self.backlog;
            self.drop_from_longest(now, drops);
            if self.backlog == before {
                // A user-defined queue may refuse to drop.
                break;
            }
        }
    }

    /// The paper's dequeuing module.
    #[inline(never)]
    fn dequeue(&mut self, now: Instant, drops: Drops<'_, P>) -> Option<P> {
        let mut held = 0;
        while held < self.active.len() {
            let index = *self.active.front()?;
            match self.serve(index as usize, now, drops) {
                Served::Packet(packet) => return Some(packet),
                Served::Short => held = 0,
                Served::Held => held += 1,
            }
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn ready_at(&self) -> Option<Instant> {
        // The earliest of the active flows; `None` sorts first and means now.
        let each = self.active.iter().map(|index| self.flows[*index as usize].queue.ready_at());
        each.min().flatten()
    }

    fn label_flow(&mut self, flow_hash: u64, labels: FlowLabels) {
        let index = self.buckets.of(flow_hash);
        self.flows[index].queue.label_flow(flow_hash, labels);
    }

    fn make_room(&mut self, now: Instant, drops: Drops<'_, P>) {
        self.drop_from_longest(now, drops);
    }
}
