//! How much memory a run will need, before it begins.

use sojourn_cc::Catalogue;
use sojourn_scenario::{
    Buffer, Capacity, Change, Control, Flow, Link, Loss, Reorder, Scenario, Source,
};
use sojourn_units::{Bytes, Duration, Rate};

use crate::measure::LONGEST;
use crate::server::mean_rate;

/// A packet in a queue or on a wire, 32 bytes, and what its sender remembers of it,
/// 32 and as much again where delivery rates are measured. Rings take blocks of 64 of
/// them or more: the block's own vector, in a list that grows by doubling, and what the
/// allocator keeps are less than a byte a packet.
const PER_PACKET: u64 = 33;
const PER_SEGMENT: u64 = 66;
/// Of a lost packet, in lists that grow by doubling: its place among those to be sent again,
/// its retransmission, its entry among suspicions, and the gap that its receiver sees.
const PER_LOSS: u64 = 16 + 32 + 96 + 48;
/// An acknowledgement under way but for its ranges: its packet, 64 bytes of what it says, 48
/// of what few tell, both with the allocator's 16, and its place in the list of free ones,
/// which grows by doubling.
const PER_ACK: u64 = PER_PACKET + 64 + (48 + 16) + 16 + 8;
/// A range in an acknowledgement, and the receive time of a packet.
const PER_RANGE: u64 = 16;
/// A row of a series, and its columns when they are written.
const PER_ROW: u64 = 320;
/// A step of a ramp, in every list that holds it.
const PER_STEP: u64 = 256;
/// A change of a rate or a delay as it is written, while the document is read.
const PER_WRITTEN: u64 = 4 << 10;
/// A change of capacity: loads around it, its spike, and its entry in the summary, which is
/// JSON and then a dict.
const PER_CHANGE: u64 = 6 << 10;
/// Waiting times after a change of capacity are kept by the millisecond, in lists that grow
/// by doubling.
const PER_MILLISECOND: u64 = 16;
/// A connection, its part of the scenario, and its flow's entry in the summary.
const PER_CONNECTION: u64 = 12 << 10;
/// A link without what is in it, and its entry in the summary.
const PER_LINK: u64 = 12 << 10;
/// A queue inside a queue.
const PER_QUEUE: u64 = 512;
/// A doubling of a time in a histogram: 256 buckets of 8 bytes.
const PER_OCTAVE: u64 = 2 << 10;
/// A run that is over, without its entries: what waits for it in Python.
const PER_RUN: u64 = 4 << 10;
/// The entry of a flow, a link or a change of capacity in a summary.
const PER_ENTRY: u64 = 4 << 10;
/// A signal under way to a flow, while they are sorted.
const PER_SIGNAL: u64 = 96;

/// What a sender has outstanding for each packet that its way holds: a window that doubles
/// in a round trip sends twice as many, of which the queue drops as many as it has no room
/// for, and the sender knows of that a round trip later.
const OUTSTANDING: u64 = 2;

/// What a user's own controller may have in flight, in multiples of what the queues and
/// wires of its way hold: twice what a doubling window has. Its window may be anything;
/// what is beyond this was dropped long ago, and would only fill the memory.
const OWN_FLIGHT: u64 = 4;

/// An upper estimate in bytes of what simulating `scenario` takes.
///
/// A window grows by at most what is delivered, so that no more is in flight than initial
/// windows and [`OUTSTANDING`] times what the links hold, and what they carry in a round
/// trip; where a buffer has no limit, no more than the link carries in the whole run. A
/// user's own controller may ask for more, up to [`greatest_flight`]. Where no link on the
/// way has a rate, only the flow itself may limit what is in flight.
pub fn estimate(scenario: &Scenario) -> Bytes {
    let ways = Ways::of(scenario);
    let (flows, links) = (&scenario.flows, &scenario.links);
    let sum = |each: &mut dyn Iterator<Item = u64>| each.fold(0, u64::saturating_add);
    let held = sum(&mut ways.held.iter().copied());
    let free = sum(&mut flows.iter().map(|flow| ways.without_rate(flow)));
    let more = sum(&mut flows.iter().map(|flow| ways.windows(flow)));
    let connections = sum(&mut flows.iter().map(connections));
    let steps = sum(&mut links.iter().map(ramp_steps));
    let histograms = ways.histograms();
    Bytes(held.saturating_add(free)) * per_packet(scenario)
        + Bytes(more) * (PER_SEGMENT + PER_PACKET + PER_LOSS)
        + Bytes(rows(scenario)) * PER_ROW
        + Bytes(connections) * PER_CONNECTION
        + Bytes(histograms) * PER_OCTAVE
        + Bytes(links.len() as u64) * PER_LINK
        + Bytes(sum(&mut links.iter().map(|link| link.queue.queues()))) * PER_QUEUE
        + Bytes(steps) * PER_STEP
        + Bytes(sum(&mut links.iter().map(written))) * PER_WRITTEN
        + of_changes(scenario, connections)
        + Bytes(signals(scenario)) * PER_SIGNAL
}

fn is_own(control: &Control) -> bool {
    *control != Control::None && Catalogue::shipped().find(control.name()).is_none()
}

/// Bytes that a run leaves when it is over: its summary, which is JSON and then a dict, and
/// its series, where they are wanted.
pub fn kept(scenario: &Scenario, series: bool) -> Bytes {
    let changes = scenario.links.iter().map(|link| match &link.rate {
        Capacity::Rate(rates) => rates.changes.len() as u64,
        Capacity::Unlimited | Capacity::Trace(_) => 0,
    });
    let entries = scenario.flows.len() as u64 + scenario.links.len() as u64 + changes.sum::<u64>();
    let rows = if series { rows(scenario) } else { 0 };
    Bytes(PER_RUN) + Bytes(entries) * PER_ENTRY + Bytes(rows) * PER_ROW
}

fn rows(scenario: &Scenario) -> u64 {
    let samples = scenario.duration.0.checked_div(scenario.record.interval.0).unwrap_or(0);
    samples.saturating_mul((scenario.flows.len() + scenario.links.len()) as u64)
}

/// What the links of a scenario hold.
pub(crate) struct Ways<'a> {
    scenario: &'a Scenario,
    /// Packets in the queue of each link and on the way behind it.
    held: Vec<u64>,
    /// How long the last of them waits.
    waits: Vec<Duration>,
}

impl<'a> Ways<'a> {
    pub(crate) fn of(scenario: &'a Scenario) -> Ways<'a> {
        let loops = greatest_loops(scenario);
        let least = scenario.flows.iter().map(|f| f.packet_size().0).min().unwrap_or(1500);
        let of = |(link, longest)| packets_of(link, longest, Bytes(least), scenario.duration);
        let held: Vec<u64> = scenario.links.iter().zip(loops).map(of).collect();
        let greatest = scenario.flows.iter().map(|f| f.packet_size()).max().unwrap_or(Bytes(1500));
        let wait = |(link, held): (&Link, &u64)| {
            let rate = least_rate(link)
                .map_or(Duration::ZERO, |rate| rate.time_for((greatest + link.overhead) * *held));
            rate.min(scenario.duration)
        };
        let waits = scenario.links.iter().zip(&held).map(wait).collect();
        Ways { scenario, held, waits }
    }

    /// Octaves of all histograms: of each link's waiting times, and of each flow's round-trip
    /// times and responses.
    fn histograms(&self) -> u64 {
        let links = self.waits.iter().map(|wait| octaves(Duration::ZERO, *wait));
        let delays = |of: fn(&Link) -> Duration| -> Vec<Duration> {
            self.scenario.links.iter().map(of).collect()
        };
        let (least, greatest) = (delays(least_delay), delays(greatest_delay));
        let flows = self.scenario.flows.iter().map(|flow| {
            let way = || flow.path.iter().chain(&flow.back);
            let sum = |of: &[Duration]| way().fold(Duration::ZERO, |sum, link| sum + of[*link]);
            let shortest = sum(&least);
            let longest = sum(&greatest) + sum(&self.waits);
            let responses = match flow.source {
                Source::Bulk | Source::OnOff { .. } => 0,
                _ => octaves(shortest, self.scenario.duration),
            };
            octaves(shortest, longest) * connections(flow) + responses
        });
        links.chain(flows).fold(0, u64::saturating_add)
    }

    /// Bytes that the controller of `flow` may have in flight: a sender beyond that is
    /// stopped ([`crate::Simulation::overrun`]). No limit for a controller that ships, which
    /// grows its window by what is delivered, nor where the receive window is one.
    pub(crate) fn greatest_flight(&self, flow: &Flow, control: &Control) -> Bytes {
        if flow.transport.receive_window.is_some() || !is_own(control) {
            return Bytes::MAX;
        }
        flow.transport.mss * self.flight(flow)
    }

    fn flight(&self, flow: &Flow) -> u64 {
        let way = flow.path.iter().chain(&flow.back);
        let held = way.map(|link| self.held[*link]).fold(0, u64::saturating_add);
        let held = held.saturating_add(self.without_rate(flow));
        held.saturating_mul(OWN_FLIGHT).saturating_add(flow.transport.initial_window)
    }

    /// Packets that a flow may have in flight beside what the links hold: its initial window,
    /// or what its own controller asks for.
    fn windows(&self, flow: &Flow) -> u64 {
        let runs = self.scenario.controls.iter().filter(|_| flow.control.is_none());
        let own = flow.control.iter().chain(runs).any(is_own);
        let most = match (own, flow.transport.receive_window) {
            (true, Some(_)) => u64::MAX,
            (true, None) => self.flight(flow),
            (false, _) => flow.transport.initial_window,
        };
        let each = most.min(source_packets(flow, self.scenario.duration));
        each.saturating_mul(connections(flow))
    }

    /// What a flow over links without a rate may have in flight: nothing slows the
    /// doubling of its window.
    fn without_rate(&self, flow: &Flow) -> u64 {
        let links = &self.scenario.links;
        let is_rated = |link: &usize| links[*link].rate != Capacity::Unlimited;
        let duration = self.scenario.duration;
        if !flow.path.iter().any(is_rated) {
            return source_packets(flow, duration);
        }
        // Datagrams wait for nothing on the wires before and behind the link with a rate.
        let wires = flow.path.iter().filter(|link| !is_rated(link));
        let span = wires.fold(Duration::ZERO, |sum, link| sum + greatest_delay(&links[*link]));
        match flow.source {
            Source::OnOff { .. } | Source::Ping { .. } => source_packets(flow, span.min(duration)),
            _ => 0,
        }
    }
}

/// Packets of payload that a flow's source has for its sender within `span`, as far as its
/// receive window lets them.
fn source_packets(flow: &Flow, span: Duration) -> u64 {
    let window = flow.transport.receive_window.unwrap_or(Bytes::MAX);
    let most = match flow.source {
        Source::Bulk => window,
        Source::Files { size, .. } => window.min(size),
        Source::Request { response, .. } => window.min(response),
        Source::OnOff { rate, .. } => window.min(rate.bytes_in(span)),
        Source::Ping { interval, .. } => flow.transport.mss * span.0.div_ceil(interval.0),
    };
    most.0 / flow.transport.mss.0 + 1
}

/// State for each packet that the links hold: on its way, or as its share of an
/// acknowledgement, and what its sender knows of it.
fn per_packet(scenario: &Scenario) -> u64 {
    let every = scenario.flows.iter().map(|f| f.transport.ack_every).min().unwrap_or(1);
    let ranges = scenario.flows.iter().map(|f| f.transport.sack_ranges).max().unwrap_or(0);
    let times = scenario.flows.iter().any(|f| f.transport.receive_times);
    let ack = (PER_ACK + ranges.max(4) * PER_RANGE) / every.max(1);
    let way = PER_PACKET.max(ack) + if times { 2 * PER_RANGE } else { 0 };
    OUTSTANDING * (PER_SEGMENT + PER_PACKET) + PER_LOSS + way
}

/// One for the data, and one for the requests of a flow that asks.
fn connections(flow: &Flow) -> u64 {
    if matches!(flow.source, Source::Request { .. }) { 2 } else { 1 }
}

/// What waits for a link and in its device's ring, and what it carries in a round
/// trip: that is on a wire, or acknowledged without its sender knowing of it. `least`: the
/// smallest packet.
fn packets_of(link: &Link, longest_loop: Duration, least: Bytes, duration: Duration) -> u64 {
    let size = least + link.overhead;
    let Some(rate) = greatest_rate(link) else { return 0 };
    let in_time = |span: Duration| rate.bytes_in(span).0 / size.0.max(1) + 1;
    let flying = in_time(longest_loop);
    let ring = link.ring.as_ref().map_or(0, |ring| ring.packets);
    let all = in_time(duration);
    let waiting = match link.buffer {
        Buffer::Unlimited => all,
        Buffer::Default => link.queue.default_packets(),
        Buffer::Bytes(bytes) => bytes.0 / size.0.max(1) + 1,
        Buffer::Packets(packets) => packets,
        Buffer::Time(span) => in_time(span),
    };
    let packets = flying.saturating_add(waiting).saturating_add(ring).min(all);
    // A packet beside the line takes 48 bytes, in a heap that grows by doubling; and each may
    // have its copy.
    let times = 1 + u64::from(link.may_reorder()) + u64::from(link.duplicate.probability > 0.0);
    packets.saturating_mul(times)
}

/// Doublings between two times in a histogram, and one at either end.
fn octaves(least: Duration, greatest: Duration) -> u64 {
    /// Below 512 ns each nanosecond has its bucket.
    const FINEST: u64 = 512;
    let least = least.0.max(FINEST);
    u64::from((greatest.0 / least).max(1).ilog2()) + 2
}

/// Changes of capacity, with what is kept around them.
fn of_changes(scenario: &Scenario, connections: u64) -> Bytes {
    let changes = scenario.links.iter().filter_map(|link| match &link.rate {
        Capacity::Rate(rates) if !rates.changes.is_empty() => Some(rates.changes.len() as u64),
        _ => None,
    });
    let followed = |count| scenario.duration.min(LONGEST * count).0 / 1_000_000;
    // Bytes sent by each, now and a loop delay before a change.
    let sent_by = Bytes(connections) * 24;
    changes.fold(Bytes::ZERO, |sum, count| {
        let waits = Bytes(followed(count)) * PER_MILLISECOND;
        sum + Bytes(count) * PER_CHANGE + waits + sent_by
    })
}

/// Signals to flows whose controllers the bottlenecks tell: of each change of a link and
/// of each flow that comes and goes there.
fn signals(scenario: &Scenario) -> u64 {
    let hears =
        |control: &Control| control.needs(&scenario.controllers).is_some_and(|needs| needs.signal);
    let any = scenario.controls.iter().any(hears);
    let listens = |flow: &&Flow| flow.control.as_ref().map_or(any, hears);
    let mut listeners = vec![0_u64; scenario.links.len()];
    for link in scenario.flows.iter().filter(listens).flat_map(|flow| &flow.path) {
        listeners[*link] += 1;
    }
    let each = scenario.links.iter().zip(listeners).map(|(link, listeners)| {
        let changes = match &link.rate {
            Capacity::Unlimited => 0,
            Capacity::Rate(rates) => rate_steps(&rates.changes),
            Capacity::Trace(_) => scenario.duration.0 / crate::signal::TRACE_STRETCH.0,
        };
        listeners.saturating_mul(2 * listeners + changes)
    });
    each.fold(0, u64::saturating_add)
}

fn rate_steps<T>(changes: &[Change<T>]) -> u64 {
    changes.iter().map(|c| (c.to.since(c.from).0 / crate::timeline::RAMP_STEP.0).max(1)).sum()
}

fn ramp_steps(link: &Link) -> u64 {
    let rates = match &link.rate {
        Capacity::Rate(rates) => rate_steps(&rates.changes),
        Capacity::Unlimited | Capacity::Trace(_) => 0,
    };
    rates + rate_steps(&link.delay.changes)
}

/// Changes of a link as they are written.
fn written(link: &Link) -> u64 {
    let rates = match &link.rate {
        Capacity::Rate(rates) => rates.changes.len(),
        Capacity::Unlimited | Capacity::Trace(_) => 0,
    };
    (rates + link.delay.changes.len()) as u64
}

fn greatest_rate(link: &Link) -> Option<Rate> {
    match &link.rate {
        Capacity::Unlimited => None,
        Capacity::Rate(rates) => rates.changes.iter().map(|c| c.value).chain([rates.start]).max(),
        Capacity::Trace(trace) => Some(mean_rate(trace)),
    }
}

/// The least rate that moves anything: through an outage everything waits, which is the
/// whole run at most.
fn least_rate(link: &Link) -> Option<Rate> {
    match &link.rate {
        Capacity::Unlimited => None,
        Capacity::Rate(rates) => rates.changes.iter().map(|c| c.value).chain([rates.start]).min(),
        Capacity::Trace(_) => Some(Rate::ZERO),
    }
}

fn least_delay(link: &Link) -> Duration {
    let delays = link.delay.changes.iter().map(|c| c.value);
    delays.chain([link.delay.start]).min().unwrap_or_default()
}

/// For each link the greatest delay out and back, without queues, of a flow that uses it.
fn greatest_loops(scenario: &Scenario) -> Vec<Duration> {
    let delays: Vec<Duration> = scenario.links.iter().map(greatest_delay).collect();
    let mut greatest = vec![Duration::ZERO; delays.len()];
    for flow in &scenario.flows {
        let way = || flow.path.iter().chain(&flow.back);
        let total = way().fold(Duration::ZERO, |sum, link| sum + delays[*link]);
        way().for_each(|link| greatest[*link] = greatest[*link].max(total));
    }
    greatest
}

fn greatest_delay(link: &Link) -> Duration {
    let delays = link.delay.changes.iter().map(|c| c.value);
    let late = match link.reorder {
        Reorder::Late { late, .. } => late,
        Reorder::None | Reorder::Early { .. } => Duration::ZERO,
    };
    delays.chain([link.delay.start]).max().unwrap_or_default() + link.jitter.span + late
}

/// Whether the wire chooses packets at random: neither none nor all.
fn draws(link: &Link) -> bool {
    let reorder = match link.reorder {
        Reorder::None => 0.0,
        Reorder::Late { chance, .. } | Reorder::Early { chance, .. } => chance.probability,
    };
    [reorder, link.duplicate.probability].iter().any(|p| (f64::MIN_POSITIVE..1.0).contains(p))
}

/// Whether another seed can give another result: something in the scenario,
/// a controller or a queue draws at random.
pub fn is_random(scenario: &Scenario) -> bool {
    let link = |link: &Link| {
        !matches!(link.loss, Loss::None | Loss::Periodic(_))
            || link.jitter.span > Duration::ZERO
            || draws(link)
            || link.queue.is_random() && link.rate != Capacity::Unlimited
    };
    let controller = |control: &Control| {
        scenario.controllers.find(control.name()).is_some_and(|info| info.random)
    };
    let flow = |flow: &Flow| {
        let exponential = matches!(flow.source, Source::OnOff { exponential: true, .. });
        exponential || flow.control.as_ref().is_some_and(&controller)
    };
    scenario.spread > Duration::ZERO
        || scenario.start_jitter > Duration::ZERO
        || scenario.host_noise > Duration::ZERO
        || scenario.links.iter().any(link)
        || scenario.flows.iter().any(flow)
        || scenario.controls.iter().any(controller)
}
