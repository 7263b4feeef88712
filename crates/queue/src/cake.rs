//! CAKE: a shaper, priority tins, fairness among hosts and flows, and COBALT (Høiland-Jørgensen,
//! Täht and Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways",
//! 2018, arXiv 1804.07617; tc-cake(8); Linux net/sched/sch_cake.c, whose functions are named at
//! the code).
//!
//! Deviation (Linux sch_cake.c): the limit is that of the link's buffer, in packets or bytes of
//! packets, by default 10,240 packets. Linux limits the memory in place of it, 4 MB or more.
//! Deviation (Linux sch_cake.c): absent are `nat` and `wash`, which change no outcome in a
//! simulation, `autorate-ingress`, firewall marks, and bytes of overhead without a keyword. GSO
//! packets are always split.

use std::collections::{BTreeMap, VecDeque};

use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{
    Backlog, DropReason, Drops, FlowLabels, Info, Limit, Packet, Queue, Setup, ShaperInfo, Shaping,
};
use crate::random::{Random, mix};

mod cobalt;
mod diffserv;
mod hosts;
mod isolation;
mod overhead;
mod tin;

use diffserv::Mode;
use isolation::Isolation;
pub use overhead::{Framing, Overhead};
use tin::{List, Tin, time_for};

keys! {
    /// Rate of the shaper; the default is unlimited, and leaves the rate to the link
    const BANDWIDTH = bandwidth: Kind::Rate(Kind::FASTEST, tin::LEAST_RATE, Kind::FASTEST),
        "tc-cake(8), unlimited";
    /// Round-trip time of the flows: CoDel's interval; its target is a twentieth of it
    const RTT = rtt: Kind::Time(
        Duration::from_millis(100),
        Duration::from_micros(20),
        Duration::from_secs(1_000),
    ), "tc-cake(8), internet";
    /// Priority tins, by the codepoint of a packet (`dscp` of its flow)
    const DIFFSERV = diffserv: Kind::Choice("diffserv3", diffserv::NAMES), "tc-cake(8)";
    /// Fairness among flows, and among their source and destination hosts (`from` and `to` of a
    /// flow)
    const ISOLATION = isolation: Kind::Choice("triple-isolate", isolation::NAMES), "tc-cake(8)";
}

const NO_FILTER: &str = "no-ack-filter";
const FILTER: &str = "ack-filter";
const AGGRESSIVE: &str = "ack-filter-aggressive";

keys! {
    /// Drops acknowledgements of TCP that a later one in the queue makes redundant, but keeps two,
    /// or one if aggressive
    const ACK_FILTER = ack_filter: Kind::Choice(NO_FILTER, &[NO_FILTER, FILTER, AGGRESSIVE]),
        "tc-cake(8)";
    /// Bytes that the shaper adds to each packet, by the technology of the access line; the link's
    /// own `overhead` comes first
    const OVERHEAD = overhead: Kind::Choice("raw", overhead::NAMES),
        "tc-cake(8), OVERHEAD COMPENSATION PARAMETERS";
    /// Counts dropped packets against the rate, for a shaper behind the bottleneck
    const INGRESS = ingress: Kind::Switch(false), "tc-cake(8)";
}

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "cake",
    title: "CAKE: shaper, priority tins, fairness among hosts and flows, CoDel and BLUE",
    source: "arXiv 1804.07617; Linux net/sched/sch_cake.c",
    params: &[BANDWIDTH, RTT, DIFFSERV, ISOLATION, ACK_FILTER, OVERHEAD, INGRESS],
    // `sch->limit` of `cake_init`.
    default_packets: 10_240,
    random: true,
    shaper: Some(ShaperInfo { shaping, changes: None }),
    ..Info::BASE
};

/// The tin of a codepoint, if there is a mode of this name.
pub(crate) fn tin(diffserv: &str, dscp: u8) -> Option<usize> {
    diffserv::NAMES.contains(&diffserv).then(|| Mode::named(diffserv).tin(dscp))
}

/// The shaper sends no packet before its time. A packet that waits for the link's previous one
/// leaves later, and the shaper makes up for that time: one packet.
fn shaping(params: &Params) -> Option<Shaping> {
    let rate = bandwidth(params)?;
    Some(Shaping { rate, burst: Bytes(1514) })
}

fn bandwidth(params: &Params) -> Option<Rate> {
    Some(params.rate(BANDWIDTH.name)).filter(|rate| *rate < Kind::FASTEST)
}

/// The global shaper.
struct Shaper {
    rate: Rate,
    /// Time at which the next packet may leave.
    time_next: Instant,
    /// The same, if dropped packets did not count and packets took half as long again. Keeps
    /// packets flowing while drops use up the rate (`failsafe_next_packet`).
    failsafe: Instant,
}

impl Shaper {
    fn ready_at(&self) -> Instant {
        self.time_next.min(self.failsafe)
    }

    fn charge(&mut self, adjusted: u64, is_dropped: bool) {
        let took = time_for(self.rate, adjusted);
        self.time_next += took;
        if !is_dropped {
            self.failsafe += took + took / 2;
        }
    }
}

/// The mode of the ACK filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckFilter {
    Off,
    On,
    Aggressive,
}

/// The queue.
pub struct Cake<P: Packet> {
    tins: Vec<Tin<P>>,
    mode: Mode,
    isolation: Isolation,
    shaper: Option<Shaper>,
    overhead: Overhead,
    ack_filter: AckFilter,
    ingress: bool,
    /// The tin in service (`cur_tin`).
    current: usize,
    backlog: Backlog,
    limit: Limit,
    /// Codepoints and hosts by flow hash.
    ///
    /// Deviation (Linux sch_cake.c): the codepoint and the hosts belong to a flow (`dscp`, `from`,
    /// `to`), and not to a packet. Without these keys, a flow has the default codepoint and hosts
    /// of its own.
    labels: BTreeMap<u64, FlowLabels>,
    salt: u64,
    random: Random,
}

/// The result of a look at one tin.
enum Served<P> {
    Packet(P),
    /// A queue was empty: choose a tin again.
    Empty,
}

impl<P: Packet> Cake<P> {
    pub(crate) fn new(setup: &Setup) -> Cake<P> {
        let p = &setup.params;
        let mode = Mode::named(p.choice(DIFFSERV.name));
        let isolation = Isolation::named(p.choice(ISOLATION.name));
        let rate = bandwidth(p);
        let rtt = p.time(RTT.name);
        let tin = |share| Tin::new(share, rate, isolation, rtt, setup.mtu);
        Cake {
            tins: mode.shares().into_iter().map(tin).collect(),
            mode,
            isolation,
            shaper: rate.map(|rate| Shaper {
                rate,
                time_next: Instant::ZERO,
                failsafe: Instant::ZERO,
            }),
            overhead: Overhead::named(p.choice(OVERHEAD.name)),
            ack_filter: match p.choice(ACK_FILTER.name) {
                FILTER => AckFilter::On,
                AGGRESSIVE => AckFilter::Aggressive,
                _ => AckFilter::Off,
            },
            ingress: p.switch(INGRESS.name),
            current: 0,
            backlog: Backlog::default(),
            limit: setup.limit,
            labels: BTreeMap::new(),
            salt: mix(setup.seed),
            random: Random::new(setup.seed),
        }
    }

    /// Lets idle shapers forget the time that they did not use.
    fn refresh(&mut self, at: usize, now: Instant) {
        let tin = &mut self.tins[at];
        if tin.backlog == Bytes::ZERO {
            tin.time_next = tin.time_next.max(now);
        }
        if let Some(shaper) = self.shaper.as_mut().filter(|_| self.backlog.packets == 0)
            && shaper.time_next < now
        {
            (shaper.time_next, shaper.failsafe) = (now, now);
        }
    }

    /// Drops an acknowledgement that the flow's newest packet makes redundant: the first of two,
    /// or, if aggressive, the one before the newest (`cake_ack_filter`).
    fn filter_acks(&mut self, at: usize, slot: usize, now: Instant, drops: Drops<'_, P>) {
        if self.ack_filter == AckFilter::Off {
            return;
        }
        let is_aggressive = self.ack_filter == AckFilter::Aggressive;
        let Some(place) = redundant(&self.tins[at].flows[slot].packets, is_aggressive) else {
            return;
        };
        if let Some(ack) = self.take(at, slot, place) {
            self.charge_drop(at, now, ack.size());
            drops(ack, DropReason::Aqm);
        }
    }

    /// Removes a packet from a flow.
    fn take(&mut self, at: usize, slot: usize, place: usize) -> Option<P> {
        let packet = self.tins[at].remove(slot, place)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= packet.size();
        Some(packet)
    }

    /// Counts a dropped packet against the rate, if CAKE shapes behind the bottleneck.
    fn charge_drop(&mut self, at: usize, now: Instant, size: Bytes) {
        if self.ingress {
            self.charge(at, now, size, true);
        }
    }

    /// `cake_advance_shaper`. Returns the size on the wire.
    fn charge(&mut self, at: usize, now: Instant, size: Bytes, is_dropped: bool) -> i64 {
        let adjusted = self.overhead.adjusted(size);
        if let Some(shaper) = &mut self.shaper {
            self.tins[at].charge(now, adjusted);
            shaper.charge(adjusted, is_dropped);
        }
        adjusted as i64
    }

    /// `cake_drop`: drops from the head of the longest queue of all tins.
    ///
    /// Deviation (Linux `cake_heapify`): Linux finds it by a heap, which moves a shorter queue down by
    /// one level only. The queue that it finds may be some percent shorter, or one of several as long.
    #[cold]
    fn drop_from_longest(&mut self, now: Instant, drops: Drops<'_, P>) {
        let longest = |tin: &Tin<P>| tin.bytes.iter().copied().max().unwrap_or(0);
        let most: Vec<u64> = self.tins.iter().map(longest).collect();
        let Some(most_of_all) = most.iter().copied().max().filter(|most| *most > 0) else { return };
        let at = most.iter().position(|most| *most == most_of_all).unwrap_or(0);
        let slot = self.tins[at].bytes.iter().position(|bytes| *bytes == most_of_all).unwrap_or(0);
        let settings = self.tins[at].settings;
        self.tins[at].flows[slot].cobalt.queue_full(now, &settings);
        if let Some(packet) = self.take(at, slot, 0) {
            self.charge_drop(at, now, packet.size());
            drops(packet, DropReason::Full);
        }
    }

    /// The tin to serve: with a shaper, the last one within its share of the rate, or else the one
    /// whose share is due first; without, by weighted deficit round robin.
    fn choose(&mut self, now: Instant) -> Option<usize> {
        if self.shaper.is_none() {
            return self.choose_by_deficit();
        }
        let mut best: Option<(Instant, usize)> = None;
        for (at, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
            if tin.time_next <= now || best.is_none_or(|(due, _)| tin.time_next <= due) {
                best = Some((tin.time_next, at));
            }
        }
        best.map(|(_, at)| at)
    }

    fn choose_by_deficit(&mut self) -> Option<usize> {
        if !self.tins.iter().any(Tin::is_active) {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_active() {
                return Some(self.current);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    /// Serves one tin: rounds of its flows, until a packet leaves or a queue is empty.
    fn serve(
        &mut self,
        at: usize,
        now: Instant,
        is_first: &mut bool,
        drops: Drops<'_, P>,
    ) -> Served<P> {
        loop {
            let Some((list, slot)) = self.tins[at].front(std::mem::take(is_first)) else {
                return Served::Empty;
            };
            if self.tins[at].flows[slot].deficit <= 0 {
                self.tins[at].next_round(list, slot, &mut self.random);
                continue;
            }
            if let Some(served) = self.send(at, list, slot, now, drops) {
                return served;
            }
        }
    }

    /// Takes packets of a flow until COBALT passes one. `None` if a drop in ingress mode used up
    /// the turn.
    fn send(
        &mut self,
        at: usize,
        list: List,
        slot: usize,
        now: Instant,
        drops: Drops<'_, P>,
    ) -> Option<Served<P>> {
        loop {
            let Some(mut packet) = self.take(at, slot, 0) else {
                self.tins[at].retire(list, slot, now);
                return Some(Served::Empty);
            };
            let tin = &mut self.tins[at];
            let bulk = if self.ingress { tin.bulk } else { 0 };
            let flow = &mut tin.flows[slot];
            let is_last = flow.packets.is_empty();
            let (settings, random) = (&tin.settings, &mut self.random);
            let drop = flow.cobalt.should_drop(now, settings, &mut packet, bulk, random);
            // The last packet of a queue is never dropped.
            if !drop || is_last {
                let adjusted = self.charge(at, now, packet.size(), false);
                self.charge_turn(at, slot, adjusted);
                return Some(Served::Packet(packet));
            }
            if self.ingress {
                let adjusted = self.charge(at, now, packet.size(), true);
                self.charge_turn(at, slot, adjusted);
            }
            drops(packet, DropReason::Aqm);
            if self.ingress {
                return None;
            }
        }
    }

    fn charge_turn(&mut self, at: usize, slot: usize, adjusted: i64) {
        self.tins[at].flows[slot].deficit -= adjusted;
        self.tins[at].deficit -= adjusted;
    }
}

/// The acknowledgement that the newest packet makes redundant: the first of two. An aggressive
/// filter
/// also takes a single one that is next to the newest. The last one before the echo of ECN changes
/// is
/// kept (`cake_ack_filter`).
///
/// Deviation (Linux `cake_ack_filter`): every acknowledgement with selective ranges is kept; Linux
/// drops one whose ranges a later one covers.
/// Deviation (Linux `cake_ack_filter`): the echo of ECN is the classic one alone (ECE). On the
/// wire, the counter of accurate ECN is in the bits AE, CWR and ECE, and Linux keeps an
/// acknowledgement with AE, or with another ECE and CWR than the one before. So it keeps
/// acknowledgements of Prague and DCTCP that are dropped here.
fn redundant<P: Packet>(packets: &VecDeque<P>, is_aggressive: bool) -> Option<usize> {
    let newest = packets.back()?;
    let older = packets.len() - 1;
    let mut first: Option<usize> = None;
    for (place, packet) in packets.iter().enumerate().take(older) {
        let is_of_connection = packet.flow_hash() == newest.flow_hash();
        let changes = |first: &usize| packets[*first].echoes_ecn() != packet.echoes_ecn();
        if is_of_connection && first.as_ref().is_some_and(changes) {
            first = None;
        }
        if !newest.replaces(packet) {
            continue;
        }
        if first.is_some() {
            return first;
        }
        first = Some(place);
    }
    let is_next =
        |first: &usize| *first + 1 == older && packets[*first].echoes_ecn() == newest.echoes_ecn();
    first.filter(|first| is_aggressive && is_next(first))
}

impl<P: Packet + Send> Queue<P> for Cake<P> {
    /// `cake_enqueue`.
    fn enqueue(&mut self, now: Instant, mut packet: P, drops: Drops<'_, P>) {
        let flow_hash = packet.flow_hash();
        let labels = self.labels.get(&flow_hash).copied().unwrap_or(FlowLabels::of(flow_hash));
        let keys = self.isolation.keys(flow_hash, labels, self.salt);
        let at = self.mode.tin(labels.dscp);
        let slot = self.tins[at].place(&keys);
        self.refresh(at, now);
        packet.set_enqueued_at(now);
        self.backlog.packets += 1;
        self.backlog.bytes += packet.size();
        self.tins[at].push(slot, packet);
        self.filter_acks(at, slot, now, drops);
        self.tins[at].activate(slot, &mut self.random);
        while self.backlog.exceeds(self.limit) {
            self.drop_from_longest(now, drops);
        }
    }

    /// `cake_dequeue`.
    #[inline(never)]
    fn dequeue(&mut self, now: Instant, drops: Drops<'_, P>) -> Option<P> {
        let mut is_first = true;
        while self.backlog.packets > 0 {
            if self.shaper.as_ref().is_some_and(|shaper| now < shaper.ready_at()) {
                return None;
            }
            let at = self.choose(now)?;
            if let Served::Packet(packet) = self.serve(at, now, &mut is_first, drops) {
                return Some(packet);
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
        let shaper = self.shaper.as_ref().filter(|_| self.backlog.packets > 0)?;
        Some(shaper.ready_at())
    }

    fn make_room(&mut self, now: Instant, drops: Drops<'_, P>) {
        self.drop_from_longest(now, drops);
    }

    fn label_flow(&mut self, flow_hash: u64, labels: FlowLabels) {
        self.labels.insert(flow_hash, labels);
    }
}
