//! The contract of a queue discipline.

use std::fmt;

use sojourn_units::params::{Key, Ordered, Params};
use sojourn_units::{Bytes, Ecn, Instant, Rate};

use crate::discipline::Discipline;

/// The packet fields that queues read and write. Packets are small plain values; a queue
/// owns the packets that wait in it.
pub trait Packet: Copy + fmt::Debug {
    /// Size on this link, including all headers that the link counts.
    fn size(&self) -> Bytes;
    /// Flow identifier (a hash of the five-tuple, on real networks). All packets of a flow
    /// have the same one; different flows usually differ.
    fn flow_hash(&self) -> u64;
    /// The ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets the ECN field to CE.
    fn mark_ce(&mut self);
    /// Whether the packet is a pure acknowledgement.
    fn is_ack(&self) -> bool;
    /// When the packet entered the queue.
    fn enqueued_at(&self) -> Instant;
    /// Notes when the packet entered the queue.
    fn set_enqueued_at(&mut self, now: Instant);
    /// Whether it makes `older` redundant but for its echo of ECN: both are acknowledgements of one
    /// TCP connection, and this one repeats all other information of `older` (RFC 3449 section 5.2.1).
    fn replaces(&self, older: &Self) -> bool {
        let _ = older;
        false
    }
    /// Whether it is an acknowledgement of TCP with an echo of ECN (ECE, RFC 3168 section 6.1.3).
    fn echoes_ecn(&self) -> bool {
        false
    }
}

/// Fields of the IP header that are equal in all packets of a flow. Few queues read them, so
/// packets do not carry them: see [`Queue::label_flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLabels {
    /// Differentiated services codepoint, 0 to 63 (RFC 2474).
    pub dscp: u8,
    /// The host that sends, as a hash of its address.
    pub source: u64,
    /// The host that receives.
    pub destination: u64,
}

impl FlowLabels {
    /// Labels of a flow without any: the default codepoint, and hosts of its own.
    pub(crate) fn of(flow_hash: u64) -> FlowLabels {
        FlowLabels { dscp: 0, source: flow_hash, destination: flow_hash }
    }
}

/// Receives the packets that a queue drops.
pub type Drops<'a, P> = &'a mut dyn FnMut(P, DropReason);

/// A queue discipline over packets of type `P`.
///
/// Every packet that is enqueued either leaves by `dequeue` or goes to `drops`, exactly
/// once.
pub trait Queue<P: Packet>: Send {
    /// Enqueues `packet`. Packets dropped to make room, or `packet` itself if it is
    /// refused, go to `drops`.
    fn enqueue(&mut self, now: Instant, packet: P, drops: Drops<'_, P>);

    /// The next packet to transmit, if one may leave now, with CE if the discipline marked
    /// it. Packets dropped on the way go to `drops`.
    fn dequeue(&mut self, now: Instant, drops: Drops<'_, P>) -> Option<P>;

    /// Packets and bytes in the queue.
    fn backlog(&self) -> Backlog;

    /// Changes the limit. Packets already in the queue stay, even above the new limit.
    fn set_limit(&mut self, limit: Limit);

    /// Changes the rate of a shaper. Other queues, and the inner ones, have none that changes.
    fn set_rate(&mut self, rate: Rate) {
        let _ = rate;
    }

    /// The earliest time at which a waiting packet may leave, if the queue is a shaper. A
    /// time in the past means that a packet may leave now. After a `dequeue` that returned
    /// no packet from a queue with packets waiting, the time lies after that `dequeue`.
    fn ready_at(&self) -> Option<Instant> {
        None
    }

    /// Sets the labels of all later packets with this flow hash. A queue that does not use them
    /// ignores them.
    fn label_flow(&mut self, flow_hash: u64, labels: FlowLabels) {
        let _ = (flow_hash, labels);
    }

    /// Drops at least one waiting packet, as [`DropReason::Full`], to free space in a
    /// buffer shared with other queues. By default this drops the next packet in turn.
    fn make_room(&mut self, now: Instant, drops: Drops<'_, P>) {
        if let Some(packet) = self.dequeue(now, drops) {
            drops(packet, DropReason::Full);
        }
    }

    /// Size of the next packet, if the discipline knows it before [`Queue::dequeue`]. The
    /// discipline may still drop that packet at the dequeue.
    fn head_size(&self) -> Option<Bytes> {
        None
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The buffer was full.
    Full,
    /// The discipline dropped it as a congestion signal, or because it exceeded a policer's rate.
    Aqm,
}

/// Packets and bytes in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u64,
    /// Sum of their sizes.
    pub bytes: Bytes,
}

impl Backlog {
    /// Whether the backlog exceeds `limit`.
    #[inline]
    pub(crate) fn exceeds(&self, limit: Limit) -> bool {
        self.packets > limit.packets || self.bytes > limit.bytes
    }
}

/// Maximum backlog; [`Bytes::MAX`] and [`u64::MAX`] mean no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Maximum bytes in the queue.
    pub bytes: Bytes,
    /// Maximum packets in the queue.
    pub packets: u64,
}

impl Limit {
    /// No limit.
    pub const NONE: Limit = Limit { bytes: Bytes::MAX, packets: u64::MAX };

    /// Whether a packet of `size` fits behind `backlog`.
    #[inline]
    pub fn admits(&self, backlog: Backlog, size: Bytes) -> bool {
        backlog.packets < self.packets && backlog.bytes + size <= self.bytes
    }
}

/// Registry entry of a queue discipline.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Description in one line.
    pub title: &'static str,
    /// The specification.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Key],
    /// Pairs of parameters, of which the first must not exceed the second.
    pub ordered: &'static [Ordered],
    /// The inner queues; empty for most disciplines.
    pub inner: &'static [Inner],
    /// Default limit in packets. Zero means the sum of the inner queues' defaults.
    pub default_packets: u64,
    /// Whether it uses random numbers.
    pub random: bool,
    /// Its shaper; `None` for a discipline that never delays packets.
    pub shaper: Option<ShaperInfo>,
}

impl Info {
    /// A discipline without parameters, inner queues, random numbers or a shaper. An entry states
    /// its differences: `Info { name, ..Info::BASE }`.
    pub const BASE: Info = Info {
        name: "",
        title: "",
        source: "",
        params: &[],
        ordered: &[],
        inner: &[],
        default_packets: 0,
        random: false,
        shaper: None,
    };
}

/// A shaper, as a discipline declares it.
#[derive(Clone, Copy, Debug)]
pub struct ShaperInfo {
    /// Computes the rate and burst that it enforces; `None` with parameters that delay no packet.
    pub shaping: fn(&Params) -> Option<Shaping>,
    /// The parameter that may change during a run ([`Queue::set_rate`]).
    pub changes: Option<&'static str>,
}

/// A queue inside another, as the outer one declares it.
#[derive(Clone, Copy, Debug)]
pub struct Inner {
    /// The key that names it in scenarios.
    pub name: &'static str,
    /// The default discipline, which needs no parameters.
    pub default: &'static str,
    /// Its purpose, in one line.
    pub doc: &'static str,
}

/// The output bound of a shaper: at most `rate` t + `burst` in any interval t, plus the
/// rest of the packet that used up the burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaping {
    /// The long-run rate.
    pub rate: Rate,
    /// Bytes that may leave back to back after an idle period.
    pub burst: Bytes,
}

/// Arguments of a queue's constructor.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Maximum backlog.
    pub limit: Limit,
    /// Largest packet on this link, including headers.
    pub mtu: Bytes,
    /// Seed of the discipline's random numbers.
    pub seed: u64,
    /// The declared parameters, each with a value.
    pub params: Params,
    /// The inner queues, in the order of [`Info::inner`].
    pub inner: Vec<Discipline>,
    /// Whether the queue is asked for a packet while it has none, from which RED learns that it is
    /// idle.
    pub is_asked_when_empty: bool,
}

impl Setup {
    /// The setup for classes that an outer queue asks only while they have packets, as HTB and DRR
    /// do (Linux `htb_dequeue_tree`, `drr_dequeue`).
    pub(crate) fn of_active_classes(&self) -> Setup {
        Setup { is_asked_when_empty: false, ..self.clone() }
    }
}
