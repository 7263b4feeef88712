//! The counters of the router's qdiscs, over rtnetlink.

use netlink_packet_core::NlasIterator;
use netlink_packet_route::tc::{TcAttribute, TcFqCodelXstats, TcMessage, TcStats2, TcXstats};
use sojourn_queue::Backlog;
use sojourn_sim::LinkObservation;
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
            let is_it = |qdisc: &&TcMessage| {
                let header = &qdisc.header;
                (header.index, header.handle.major) == (index as i32, major)
            };
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

/// The counters in a message of the kernel.
fn counters(qdisc: &TcMessage) -> Counters {
    let mut counters = Counters::default();
    let mut kind = "";
    for attribute in &qdisc.attributes {
        match attribute {
            TcAttribute::Kind(name) => kind = name,
            TcAttribute::Stats2(stats) => {
                stats.iter().for_each(|one| counters.add(kind, one));
            }
            _ => {}
        }
    }
    counters
}

impl Counters {
    fn add(&mut self, kind: &str, stats: &TcStats2) {
        match stats {
            TcStats2::Basic(basic) => {
                self.sent = u64::from(basic.packets);
                self.sent_bytes = basic.bytes;
            }
            TcStats2::Queue(queue) => {
                self.dropped = u64::from(queue.drops);
                self.backlog = Backlog {
                    packets: u64::from(queue.qlen),
                    bytes: Bytes(u64::from(queue.backlog)),
                };
            }
            TcStats2::App(TcXstats::FqCodel(TcFqCodelXstats::Qdisc(own))) => {
                self.marked = u64::from(own.ecn_mark) + u64::from(own.ce_mark);
            }
            TcStats2::App(TcXstats::Other(bytes)) => self.marked = marks(kind, bytes),
            _ => {}
        }
    }
}

/// The marks in a qdisc's own counters (Linux `include/uapi/linux/pkt_sched.h`: `tc_codel_xstats`,
/// `tc_pie_xstats`, `tc_red_xstats`, `tc_dualpi2_xstats`).
fn marks(kind: &str, bytes: &[u8]) -> u64 {
    let word = |at: usize| {
        let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
        u64::from(word.map_or(0, u32::from_ne_bytes))
    };
    match kind {
        // Marks by the control law, and by `ce_threshold`.
        "codel" => word(24) + word(32),
        "pie" => word(36),
        "red" => word(12),
        // Marks of the step are part of them (`dualpi2_mark`).
        "dualpi2" => word(24),
        "cake" => cake_marks(bytes),
        _ => 0,
    }
}

/// The marks of all tins of CAKE, in nested attributes: `TCA_CAKE_STATS_TIN_STATS` has an attribute
/// for each tin, with `TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS`.
fn cake_marks(bytes: &[u8]) -> u64 {
    const TINS: u16 = 10;
    const MARKED: u16 = 8;
    let within = |bytes: &[u8], kind: u16| -> Vec<Vec<u8>> {
        let all = NlasIterator::new(bytes).flatten();
        all.filter(|one| one.kind() == kind).map(|one| one.value().to_vec()).collect()
    };
    let marked = |tin: &[u8]| -> u64 {
        let words = within(tin, MARKED).into_iter().filter_map(|word| word.try_into().ok());
        words.map(|word| u64::from(u32::from_ne_bytes(word))).sum()
    };
    let tins = within(bytes, TINS);
    let each = tins.iter().flat_map(|tins| NlasIterator::new(tins.as_slice()).flatten());
    each.map(|tin| marked(tin.value())).sum()
}
