//! What waits for a link.

use sojourn_queue::{AnyQueue, Backlog, Discipline, DropReason, Limit, Packet as _, Queue, Setup};
use sojourn_scenario::{self as scenario, Loss};
use sojourn_units::{Bytes, Instant};

use crate::line::DelayLine;
use crate::packet::Packet;
use crate::ring::TransmitRing;

/// What is done with packets that are dropped.
type Drops<'a> = dyn FnMut(Packet, DropReason) + 'a;

/// Where packets wait.
pub(crate) enum Waiting {
    /// On the line itself, behind what travels: drop-tail, since they leave in the order in
    /// which they came, where the wire loses none and none overtakes, which would leave a
    /// gap, and where it copies none.
    OnLine(Tail),
    /// In a queue, which hands over one packet at a time.
    Queue(AnyQueue<Packet>),
    /// In a queue, and in a device's ring behind it.
    Ring(AnyQueue<Packet>, TransmitRing),
}

/// The tail of the line.
pub(crate) struct Tail {
    bytes: Bytes,
    limit: Limit,
}

/// A packet that the line begins to send.
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
    /// What waits for the link that `spec` describes: `limit` of it at most. `mtu`: its
    /// largest packet. `seed`: of whatever the discipline randomises.
    pub(crate) fn new(spec: &scenario::Link, limit: Limit, mtu: Bytes, seed: u64) -> Waiting {
        let is_plain_wire =
            spec.loss == Loss::None && !spec.may_reorder() && spec.duplicate.probability == 0.0;
        if spec.queue.is_drop_tail() && spec.ring.is_none() && is_plain_wire {
            return Waiting::OnLine(Tail { bytes: Bytes::ZERO, limit });
        }
        let Discipline { kind, params, inner } = spec.queue.clone();
        let setup = Setup { limit, mtu, seed, params, inner };
        let queue = AnyQueue::build(&kind, &setup).expect("the scenario was validated");
        match &spec.ring {
            None => Waiting::Queue(queue),
            Some(ring) => Waiting::Ring(queue, TransmitRing::new(ring)),
        }
    }

    /// A packet comes in.
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

    /// The line begins to send the next packet, where one may leave now.
    #[inline(always)]
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        line: &mut DelayLine,
        drops: &mut Drops<'_>,
    ) -> Option<Begun> {
        // What is told of it is told from registers: it has just been written.
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

    /// What waits in the queue.
    pub(crate) fn backlog(&self, line: &DelayLine) -> Backlog {
        match self {
            Waiting::OnLine(tail) => tail.backlog(line),
            Waiting::Queue(queue) | Waiting::Ring(queue, _) => queue.backlog(),
        }
    }

    /// What waits in the queue and in the ring.
    pub(crate) fn all(&self, line: &DelayLine) -> Backlog {
        let mut all = self.backlog(line);
        if let Waiting::Ring(_, ring) = self {
            all.packets += ring.len();
            all.bytes += ring.bytes();
        }
        all
    }

    /// Changes how much may wait.
    pub(crate) fn set_limit(&mut self, limit: Limit) {
        match self {
            Waiting::OnLine(tail) => tail.limit = limit,
            Waiting::Queue(queue) | Waiting::Ring(queue, _) => queue.set_limit(limit),
        }
    }

    /// When to ask again, where packets wait but none may leave before.
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
