//! The counters of the router's qdiscs, over rtnetlink.

use sojourn_queue::Backlog;
use sojourn_sim::LinkObservation;
use sojourn_udp::io::rtnetlink::{Qdisc, attributes};
use sojourn_units::Bytes;

use super::link::{KernelLink, QUEUE, WIRE};
use crate::error::Error;
use crate::machine::{Namespace, Netlink};

/// The counters of a qdisc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Packets and bytes that left it.
    pub(super) sent: u64,
    pub(super) sent_bytes: u64,
    pub(super) dropped: u64,
    pub(super) marked: u64,
    pub(super) backlog: Backlog,
}

impl Counters {
    fn arrived(&self) -> u64 {
        self.sent + self.dropped + self.backlog.packets
    }
}

/// The qdiscs of a link: device and major number of the handle.
#[derive(Clone, Copy, Debug)]
struct Qdiscs {
    queue: Option<(u32, u16)>,
    wire: Option<(u32, u16)>,
}

/// Reads the counters of the links.
pub(super) struct Reader {
    netlink: Netlink,
    links: Vec<Qdiscs>,
}

impl Reader {
    pub(super) fn new(router: &Namespace, links: &[KernelLink]) -> Result<Reader, Error> {
        router.enter(|| {
            let netlink = Netlink::open()?;
            let of = |link: &KernelLink| {
                let at = |is_there: bool, device, major| {
                    is_there.then(|| Ok((netlink.index(device)?, major))).transpose()
                };
                Ok(Qdiscs {
                    queue: at(link.is_shaped(), link.direction.shaper(), QUEUE)?,
                    wire: at(link.has_wire(), link.direction.egress(), WIRE)?,
                })
            };
            let links = links.iter().map(of).collect::<Result<_, Error>>()?;
            Ok(Reader { netlink, links })
        })?
    }

    /// The state of each link.
    pub(super) fn read(&self) -> Result<Vec<LinkObservation>, Error> {
        let qdiscs = self.netlink.qdiscs()?;
        let counters = |at: Option<(u32, u16)>| {
            let (index, major) = at?;
            let is_it = |qdisc: &&Qdisc| (qdisc.index, qdisc.major) == (index, major);
            qdiscs.iter().find(is_it).map(counters)
        };
        let observe = |link: &Qdiscs| observation(counters(link.queue), counters(link.wire));
        Ok(self.links.iter().map(observe).collect())
    }
}

/// The state of a link. Without a queue, packets are delivered as soon as they arrive; without a
/// wire, as soon as they leave the queue.
fn observation(queue: Option<Counters>, wire: Option<Counters>) -> LinkObservation {
    let first = queue.or(wire).unwrap_or_default();
    let last = wire.or(queue).unwrap_or_default();
    let own = queue.unwrap_or_default();
    let (lost, duplicated) = wire.zip(queue).map_or_else(
        || (wire.unwrap_or_default().dropped, 0),
        |(wire, queue)| (wire.dropped, wire.arrived().saturating_sub(queue.sent)),
    );
    LinkObservation {
        arrived: first.arrived(),
        departed: own.sent,
        sent_bits: first.sent_bytes * 8,
        delivered: last.sent,
        dropped: own.dropped,
        lost,
        marked: own.marked,
        duplicated,
        backlog: own.backlog,
    }
}

/// The counters in the kernel's answer: `gnet_stats_basic`, `gnet_stats_queue` and the qdisc's own
/// (Linux `include/uapi/linux/gen_stats.h`).
fn counters(qdisc: &Qdisc) -> Counters {
    const BASIC: u16 = 1;
    const QUEUE: u16 = 3;
    const OWN: u16 = 4;
    let mut found = Counters::default();
    let all = attributes(&qdisc.attributes).filter(|(kind, _)| *kind == libc::TCA_STATS2);
    for (kind, stats) in all.flat_map(|(_, all)| attributes(all)) {
        match kind {
            BASIC => {
                let bytes = stats.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
                (found.sent_bytes, found.sent) = (bytes, word(stats, 8));
            }
            QUEUE => {
                found.backlog = Backlog { packets: word(stats, 0), bytes: Bytes(word(stats, 4)) };
                found.dropped = word(stats, 8);
            }
            OWN => found.marked = marks(&qdisc.kind, stats),
            _ => {}
        }
    }
    found
}

/// The 32-bit counter at a place.
fn word(stats: &[u8], at: usize) -> u64 {
    let word = stats.get(at..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u64::from(u32::from_ne_bytes(*word)))
}

/// The marks in a qdisc's own counters (Linux `include/uapi/linux/pkt_sched.h`: `tc_codel_xstats`,
/// `tc_fq_codel_xstats`, `tc_pie_xstats`, `tc_red_xstats`, `tc_dualpi2_xstats`).
fn marks(kind: &str, stats: &[u8]) -> u64 {
    let word = |at| word(stats, at);
    match kind {
        // Marks by the control law, and by `ce_threshold`.
        "codel" => word(24) + word(32),
        // After the type of the counters.
        "fq_codel" => word(12) + word(28),
        "pie" => word(36),
        "red" => word(12),
        // Marks of the step are part of them (`dualpi2_mark`).
        "dualpi2" => word(24),
        "cake" => cake_marks(stats),
        _ => 0,
    }
}

/// The marks of all tins of CAKE, in nested attributes: `TCA_CAKE_STATS_TIN_STATS` has an attribute
/// for each tin, with `TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS`.
fn cake_marks(stats: &[u8]) -> u64 {
    const TINS: u16 = 10;
    const MARKED: u16 = 8;
    let of = |octets, wanted| attributes(octets).filter(move |(kind, _)| *kind == wanted);
    let tins = of(stats, TINS).flat_map(|(_, tins)| attributes(tins));
    tins.flat_map(|(_, tin)| of(tin, MARKED)).map(|(_, marked)| word(marked, 0)).sum()
}
