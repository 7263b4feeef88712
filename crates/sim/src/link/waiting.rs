//! The packets that wait for a link.

use sojourn_queue::{
    AnyQueue, Backlog, Discipline, DropReason, FlowLabels, Limit, Packet as _, Queue, Setup,
};
use sojourn_scenario::{self as scenario, Loss};
use sojourn_units::{Bytes, Instant, Rate};

use crate::link::device_ring::TransmitRing;
use crate::link::line::DelayLine;
use crate::link::packet::Packet;

/// Receives the dropped packets.
type Drops<'a> = dyn FnMut(Packet, DropReason) + 'a;

/// The storage of waiting packets.
pub(crate) enum Waiting {
    /// On the delay line itself, behind the packets on the wire. Possible for drop-tail, whose
    /// packets leave in order, on a wire that makes no copies, losses or overtaking, which would
    /// leave gaps.
    ///
    /// The queue `droptail` has the same outcomes, but copies each packet once more. Per simulated
    /// second it costs 3.2 % more instructions in `benches/cases/a.toml`, 1.0 % in `b.toml` and
    /// 1.2 % in `c-fifo.toml` (cachegrind, 2 s less 1 s).
    OnLine(Tail),
    /// In a queue, which returns one packet at a time.
    Queue(AnyQueue<Packet>),
    /// In a queue, and in a device's ring below it.
    Ring(AnyQueue<Packet>, TransmitRing),
}

/// The drop-tail queue at the end of the line.
pub(crate) struct Tail {
    bytes: Bytes,
    limit: Limit,
}

/// A packet whose transmission begins.
pub(crate) struct Begun {
    pub(crate) size: Bytes,
    pub(crate) enqueued_at: Instant,
    pub(crate) is_marked: bool,
}

impl Begun {
    #[inline(always)]
    fn of(packet: &Packet) -> Begun {
        Begun {
            size: packet.size(),
            enqueued_at: packet.enqueued_at(),
            is_marked: packet.is_marked(),
        }
    }
}

impl Waiting {
    /// The storage for the link that `spec` describes, up to `limit`. `mtu`: its largest packet.
    /// `seed`: for disciplines with random decisions.
    pub(crate) fn new(spec: &scenario::Link, limit: Limit, mtu: Bytes, seed: u64) -> Waiting {
        let is_plain_wire = spec.loss == Loss::None && spec.is_plain();
        if spec.queue.is_drop_tail() && spec.ring.is_none() && is_plain_wire {
            return Waiting::OnLine(Tail { bytes: Bytes::ZERO, limit });
        }
        let Discipline { kind, params, inner } = spec.queue.clone();
        let setup = Setup { limit, mtu, seed, params, inner, is_asked_when_empty: true };
        let queue = AnyQueue::build(&kind, &setup).expect("the scenario was validated");
        match &spec.ring {
            None => Waiting::Queue(queue),
            Some(ring) => Waiting::Ring(queue, TransmitRing::new(ring)),
        }
    }

    /// A packet arrives.
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        mut packet: Packet,
        line: &mut DelayLine,
        drops: &mut Drops<'_>,
    ) {
        match self {
            Waiting::OnLine(tail) => {
                let size = packet.size();
                if !tail.limit.admits(tail.backlog(line), size) {
                    return drops(packet, DropReason::Full);
                }
                packet.set_enqueued_at(now);
                tail.bytes += size;
                line.wait(packet);
            }
            Waiting::Queue(queue) => queue.enqueue(now, packet, drops),
            Waiting::Ring(queue, ring) => {
                queue.enqueue(now, packet, drops);
                if line.is_sending() {
                    ring.fill(now, queue, drops);
                }
            }
        }
    }

    /// Starts to send the next packet, if one may leave now.
    #[inline(always)]
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        line: &mut DelayLine,
        drops: &mut Drops<'_>,
    ) -> Option<Begun> {
        // Taken from registers: a read of the packet just written would stall.
        let begin = |line: &mut DelayLine, packet: Packet| {
            line.begin(packet);
            Begun::of(&packet)
        };
        match self {
            Waiting::OnLine(tail) => {
                let begun = Begun::of(line.begin_first()?);
                tail.bytes -= begun.size;
                Some(begun)
            }
            Waiting::Queue(queue) => queue.dequeue_to(now, drops, |packet| begin(line, packet)),
            Waiting::Ring(queue, ring) => {
                ring.next(now, queue, drops).map(|packet| begin(line, packet))
            }
        }
    }

    /// Sets the labels of the packets with this flow hash.
    pub(crate) fn label_flow(&mut self, flow_hash: u64, labels: FlowLabels) {
        match self {
            Waiting::OnLine(_) => {}
            Waiting::Queue(queue) | Waiting::Ring(queue, _) => queue.label_flow(flow_hash, labels),
        }
    }

    /// Packets and bytes in the queue.
    pub(crate) fn backlog(&self, line: &DelayLine) -> Backlog {
        match self {
            Waiting::OnLine(tail) => tail.backlog(line),
            Waiting::Queue(queue) | Waiting::Ring(queue, _) => queue.backlog(),
        }
    }

    /// Packets and bytes in the queue and in the ring.
    pub(crate) fn all(&self, line: &DelayLine) -> Backlog {
        let mut all = self.backlog(line);
        if let Waiting::Ring(_, ring) = self {
            all.packets += ring.len();
            all.bytes += ring.bytes();
        }
        all
    }

    /// Changes the limit.
    pub(crate) fn set_limit(&mut self, limit: Limit) {
        match self {
            Waiting::OnLine(tail) => tail.limit = limit,
            Waiting::Queue(queue) | Waiting::Ring(queue, _) => queue.set_limit(limit),
        }
    }

    /// Changes the rate of the shaper.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        match self {
            Waiting::OnLine(_) => {}
            Waiting::Queue(queue) | Waiting::Ring(queue, _) => queue.set_rate(rate),
        }
    }

    /// Time of the next attempt, if the waiting packets may not leave yet.
    pub(crate) fn ready_at(&self) -> Option<Instant> {
        match self {
            Waiting::OnLine(_) => None,
            Waiting::Queue(queue) | Waiting::Ring(queue, _) => queue.ready_at(),
        }
    }
}

impl Tail {
    #[inline(always)]
    fn backlog(&self, line: &DelayLine) -> Backlog {
        Backlog { packets: line.waiting() as u64, bytes: self.bytes }
    }
}
