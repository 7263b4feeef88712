//! What a queue discipline is asked, and what it answers.

use std::fmt;

use sojourn_units::params::{Ordered, Param, Params};
use sojourn_units::{Bytes, Ecn, Instant, Rate};

use crate::discipline::Discipline;

/// What a queue must be able to see of a packet. Packets are small plain
/// values: queues own them while they wait.
pub trait Packet: Copy + fmt::Debug {
    /// Size on this link, every header that the link counts included.
    fn size(&self) -> Bytes;
    /// A number that is the same for all packets of a flow (a hash of the
    /// five-tuple, on real networks) and usually differs between flows.
    fn flow_hash(&self) -> u64;
    /// The ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets the ECN field to CE.
    fn mark_ce(&mut self);
    /// Whether it is an acknowledgement and carries nothing else.
    fn is_ack(&self) -> bool;
    /// When the packet entered the queue.
    fn enqueued_at(&self) -> Instant;
    /// Notes when the packet entered the queue.
    fn set_enqueued_at(&mut self, now: Instant);
}

/// A queue discipline over packets of type `P`.
///
/// Nothing is ever lost silently: every packet that goes in comes out of
/// `dequeue` or is handed to `drops`, once.
pub trait Queue<P: Packet>: Send {
    /// Takes `packet`; what is dropped to make room (or because the packet
    /// itself is refused) goes to `drops`.
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut dyn FnMut(P, DropReason));

    /// The next packet to transmit, if one may leave now; it carries CE where
    /// the discipline marked it. What is dropped on the way goes to `drops`.
    fn dequeue(&mut self, now: Instant, drops: &mut dyn FnMut(P, DropReason)) -> Option<P>;

    /// Packets and bytes that wait.
    fn backlog(&self) -> Backlog;

    /// Changes how much may wait. What waits already stays; less is taken in.
    fn set_limit(&mut self, limit: Limit);

    /// When to ask again, where packets wait but none may leave before (shapers).
    /// It may be past: then one may leave now. After a `dequeue` that left packets
    /// waiting and gave none, it is later than that.
    fn ready_at(&self) -> Option<Instant> {
        None
    }

    /// Drops a packet or more, as [`DropReason::Full`], where any waits: this
    /// queue's part of a buffer that it shares with others is needed. The packet
    /// whose turn it is goes, unless the discipline knows better.
    fn make_room(&mut self, now: Instant, drops: &mut dyn FnMut(P, DropReason)) {
        if let Some(packet) = self.dequeue(now, drops) {
            drops(packet, DropReason::Full);
        }
    }

    /// Size of the packet whose turn it is, where the discipline knows it before
    /// [`Queue::dequeue`]; it may still choose to drop that packet then.
    fn head_size(&self) -> Option<Bytes> {
        None
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The buffer was full.
    Full,
    /// The discipline chose to, as a congestion signal.
    Aqm,
}

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u64,
    /// Their sizes, added up.
    pub bytes: Bytes,
}

impl Backlog {
    /// Whether more waits than may.
    #[inline]
    pub(crate) fn exceeds(&self, limit: Limit) -> bool {
        self.packets > limit.packets || self.bytes > limit.bytes
    }
}

/// How much may wait; [`Bytes::MAX`] and [`u64::MAX`] where there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes that may wait.
    pub bytes: Bytes,
    /// Packets that may wait.
    pub packets: u64,
}

impl Limit {
    /// No limit.
    pub const NONE: Limit = Limit { bytes: Bytes::MAX, packets: u64::MAX };

    /// Whether a packet of `size` still fits behind `backlog`.
    #[inline]
    pub fn admits(&self, backlog: Backlog, size: Bytes) -> bool {
        backlog.packets < self.packets && backlog.bytes + size <= self.bytes
    }
}

/// What a listing says of a queue discipline.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One line on what it is.
    pub title: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Which of them may not be above which.
    pub ordered: &'static [Ordered],
    /// The queues that it holds; none in most.
    pub inner: &'static [Inner],
    /// Packets that may wait where the scenario names no buffer; zero where that is
    /// what the queues inside it may hold together.
    pub default_packets: u64,
    /// Whether it draws from its seed.
    pub random: bool,
    /// What it holds all that leaves to; none where it holds nothing back.
    pub shaping: Option<fn(&Params) -> Shaping>,
}

/// A queue inside another, as the outer one declares it.
#[derive(Clone, Copy, Debug)]
pub struct Inner {
    /// The key that names it in scenarios.
    pub name: &'static str,
    /// What it is where the scenario names none: a queue that needs no parameter.
    pub default: &'static str,
    /// What it holds, in one line.
    pub doc: &'static str,
}

/// What a shaper lets through in any span t: at most `rate` t + `burst`, and the
/// rest of the packet that used up the burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaping {
    /// The rate in the long run.
    pub rate: Rate,
    /// What may leave at once after a pause.
    pub burst: Bytes,
}

/// What a queue is built from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How much may wait.
    pub limit: Limit,
    /// Largest packet on this link, its headers included.
    pub mtu: Bytes,
    /// Seed of whatever the discipline randomises.
    pub seed: u64,
    /// The declared parameters, each with a value.
    pub params: Params,
    /// The queues inside it, in the order of [`Info::inner`].
    pub inner: Vec<Discipline>,
}
