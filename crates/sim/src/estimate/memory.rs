//! An estimate of a run's memory before it starts.

use sojourn_scenario::source::Carrier;
use sojourn_scenario::{
    Capacity, Change, Control, Flow, Link, Loss, RAMP_STEP, Reorder, Scenario, Spacing, Trace,
};
use sojourn_transport::Noise;
use sojourn_units::{Bytes, Duration, Rate};

use crate::arrivals;
use crate::endpoint::media::{MOST_PACKETS, MOST_REPORTS};
use crate::estimate::capacity::{Held, PathCapacity, connections};

/// A packet takes 32 bytes in a queue or on a wire, and 32 in its sender's record, or twice as
/// much if delivery rates are measured. Rings allocate blocks of at least 64 packets: the
/// block's own vector, in a list that grows by doubling, and the allocator's overhead are
/// less than a byte a packet.
const PER_PACKET: u64 = 33;
const PER_SEGMENT: u64 = 66;
/// A lost packet, in lists that grow by doubling: its entry in the retransmission queue, its
/// retransmission, its entry among suspicions, and the gap at its receiver.
const PER_LOSS: u64 = 16 + 32 + 96 + 48;
/// An acknowledgement in flight without its ranges: its packet, 64 bytes of content, 48 of rare
/// content, the allocator's 16, and its place in the free list, which grows by doubling.
const PER_ACK: u64 = PER_PACKET + 64 + (48 + 16) + 16 + 8;
/// A range in an acknowledgement, and the receive time of a packet.
const PER_RANGE: u64 = 16;
/// A row of a series, and its columns while they are written.
const PER_ROW: u64 = 320;
/// A step of a ramp, in every list that holds it.
const PER_STEP: u64 = 256;
/// The text of a change of a rate or a delay, while the document is read.
const PER_WRITTEN: u64 = 4 << 10;
/// A change of capacity: loads around it, its spike, and its entry in the summary as JSON and
/// as a dict.
const PER_CHANGE: u64 = 6 << 10;
/// A connection, its part of the scenario, and its flow's entry in the summary.
const PER_CONNECTION: u64 = 12 << 10;
/// A link without its packets, and its entry in the summary.
const PER_LINK: u64 = 12 << 10;
/// A queue inside a queue.
const PER_QUEUE: u64 = 512;
/// A doubling of a time in a histogram: 256 buckets of 8 bytes.
const PER_OCTAVE: u64 = 2 << 10;
/// A finished run's objects in Python, without its entries.
const PER_RUN: u64 = 4 << 10;
/// The entry of a flow, a link or a change of capacity in a summary.
const PER_ENTRY: u64 = 4 << 10;
/// A transfer that arrived at random, and its columns while they are written.
const PER_TRANSFER: u64 = 128;
/// A frame of media, while it is played and in the table of frames.
const PER_FRAME: u64 = 192;
/// The content of a packet of media, and of a report with its arrivals.
const PER_MEDIA_PACKET: u64 = 64;
const PER_REPORT: u64 = 2 << 10;
/// A signal in flight to a flow, while signals are sorted.
const PER_SIGNAL: u64 = 96;

/// An upper estimate of the memory in bytes of a simulation of `scenario`.
///
/// [`PathCapacity`] bounds the packets of the built-in controllers. A user-defined controller
/// may request more, up to [`PathCapacity::in_flight_limit`]. On a path without a rate, only the
/// sources and receive windows bound the packets in flight.
pub fn estimate(scenario: &Scenario) -> Bytes {
    // The number of transfers that arrive at random varies little from seed to seed.
    let (expanded, _) = arrivals::expand(scenario, None, scenario.seed);
    of_run(&expanded) + Bytes(rows(scenario)) * PER_ROW
}

/// The estimate without series, for a scenario in which each transfer is a flow.
fn of_run(scenario: &Scenario) -> Bytes {
    let capacity = PathCapacity::of(scenario);
    let (flows, links) = (&scenario.flows, &scenario.links);
    let sum = |each: &mut dyn Iterator<Item = u64>| each.fold(0, u64::saturating_add);
    let way = per_packet_on_the_way(scenario);
    let held = capacity.links.iter().fold(Bytes::ZERO, |sum, link| sum + link.memory(way));
    let free = sum(&mut flows.iter().map(|flow| capacity.without_rate(flow)));
    let connections = sum(&mut flows.iter().map(connections));
    let steps = sum(&mut links.iter().map(ramp_steps));
    held + Bytes(free) * (PER_SEGMENT + PER_LOSS + way)
        + Bytes(capacity.extra_in_flight()) * (PER_SEGMENT + PER_PACKET + PER_LOSS)
        + Bytes(connections) * PER_CONNECTION
        + Bytes(capacity.histograms()) * PER_OCTAVE
        + Bytes(links.len() as u64) * PER_LINK
        + Bytes(sum(&mut links.iter().map(|link| link.queue.queues()))) * PER_QUEUE
        + Bytes(steps) * PER_STEP
        + Bytes(sum(&mut links.iter().map(written))) * PER_WRITTEN
        + of_changes(scenario, connections)
        + sum_of_media(scenario)
        + Bytes(signals(scenario)) * PER_SIGNAL
}

/// Memory of the frames, packets and reports of all flows of media.
fn sum_of_media(scenario: &Scenario) -> Bytes {
    let has_media = |flow: &&Flow| flow.source.carrier() == Carrier::Media;
    let each = scenario.flows.iter().filter(has_media).map(|flow| {
        let rate = flow.source.params().number("frame_rate");
        let frames = (scenario.duration.as_secs_f64() * rate).ceil() as u64;
        let packets = MOST_PACKETS as u64 * PER_MEDIA_PACKET;
        Bytes(frames) * PER_FRAME + Bytes(packets + MOST_REPORTS as u64 * PER_REPORT)
    });
    each.fold(Bytes::ZERO, |sum, one| sum + one)
}

impl Held {
    /// Memory of the packets and of their senders' state. `way`: memory of each packet in a queue
    /// or on a wire.
    fn memory(&self, way: u64) -> Bytes {
        Bytes(self.outstanding) * PER_SEGMENT
            + Bytes(self.outstanding.saturating_sub(self.packets)) * PER_PACKET
            + Bytes(self.packets) * way
            + Bytes(self.lost) * PER_LOSS
    }
}

/// Memory in bytes of a finished run: its summary as JSON and as a dict, and its series if
/// `series`.
pub fn kept(scenario: &Scenario, series: bool) -> Bytes {
    let changes = scenario.links.iter().map(|link| rates(link).len() as u64);
    let entries = scenario.flows.len() as u64 + scenario.links.len() as u64 + changes.sum::<u64>();
    let rows = if series { rows(scenario) } else { 0 };
    let transfers = scenario.flows.iter().map(|flow| flow.most_transfers(scenario.duration));
    let most: u64 = transfers.sum();
    Bytes(PER_RUN) + Bytes(entries) * PER_ENTRY + Bytes(rows) * PER_ROW + Bytes(most) * PER_TRANSFER
}

fn rows(scenario: &Scenario) -> u64 {
    let samples = scenario.duration.0.checked_div(scenario.record.interval.0).unwrap_or(0);
    samples.saturating_mul((scenario.flows.len() + scenario.links.len()) as u64)
}

/// Memory of a packet on a link, or of its share of an acknowledgement, with its copies.
fn per_packet_on_the_way(scenario: &Scenario) -> u64 {
    let every = scenario.flows.iter().map(|f| f.transport.ack_every).min().unwrap_or(1);
    let ranges = scenario.flows.iter().map(|f| f.transport.sack_ranges).max().unwrap_or(0);
    let times = scenario.flows.iter().any(|f| f.transport.receive_times);
    let ack = (PER_ACK + ranges.max(4) * PER_RANGE) / every.max(1);
    let one = PER_PACKET.max(ack) + if times { 2 * PER_RANGE } else { 0 };
    one.saturating_mul(copies(scenario))
}

/// The number of packets for each sent one, copies included: the copies of all links multiply.
/// A packet that arrives out of order takes 48 bytes, in a heap that grows by doubling.
fn copies(scenario: &Scenario) -> u64 {
    let links = &scenario.links;
    let of_path = |path: &[usize]| -> f64 {
        path.iter().map(|link| 1.0 + links[*link].duplicate.probability).product()
    };
    let each = scenario.flows.iter().map(|flow| of_path(&flow.path) * of_path(&flow.back));
    each.fold(1.0, f64::max).ceil() as u64 + u64::from(links.iter().any(Link::may_reorder))
}

/// Memory of changes of capacity and the measurements around them.
fn of_changes(scenario: &Scenario, connections: u64) -> Bytes {
    let changes = scenario.links.iter().map(|link| rates(link).len() as u64).filter(|n| *n > 0);
    // Bytes sent by each connection, now and a loop delay before a change.
    let sent_by = Bytes(connections) * 48;
    changes.fold(Bytes::ZERO, |sum, count| sum + Bytes(count) * PER_CHANGE + sent_by)
}

/// Number of signals to oracle controllers: one for each change of a link, and one for each flow
/// that starts or stops there.
fn signals(scenario: &Scenario) -> u64 {
    let needs_signal =
        |control: &Control| control.needs(&scenario.controllers).is_some_and(|needs| needs.signal);
    let any = scenario.controls.iter().any(needs_signal);
    let is_listener = |flow: &&Flow| flow.control.as_ref().map_or(any, needs_signal);
    let mut listeners = vec![0_u64; scenario.links.len()];
    for link in scenario.flows.iter().filter(is_listener).flat_map(|flow| &flow.path) {
        listeners[*link] += 1;
    }
    let each = scenario.links.iter().zip(listeners).map(|(link, listeners)| {
        let changes = match &link.rate {
            Capacity::Unlimited => 0,
            Capacity::Rate(_) => rate_steps(rates(link)),
            Capacity::Trace(trace) if trace.spacing == Spacing::Even => {
                (scenario.duration.0 / trace.period().0 + 1) * trace.curve().len() as u64
            }
            Capacity::Trace(_) => scenario.duration.0 / Trace::STRETCH.0,
        };
        listeners.saturating_mul(2 * listeners + changes)
    });
    each.fold(0, u64::saturating_add)
}

fn rate_steps<T>(changes: &[Change<T>]) -> u64 {
    changes.iter().map(|c| (c.to.since(c.from).0 / RAMP_STEP.0).max(1)).sum()
}

fn ramp_steps(link: &Link) -> u64 {
    rate_steps(rates(link)) + rate_steps(&link.delay.changes) + rate_steps(losses(link))
}

/// The changes of the link's rate, or of its shaper's.
fn rates(link: &Link) -> &[Change<Rate>] {
    match (&link.shaper, &link.rate) {
        (Some(schedule), _) | (None, Capacity::Rate(schedule)) => &schedule.changes,
        (None, Capacity::Unlimited | Capacity::Trace(_)) => &[],
    }
}

/// The changes of the probability of a loss.
fn losses(link: &Link) -> &[Change<f64>] {
    match &link.loss {
        Loss::Random(schedule) => &schedule.changes,
        _ => &[],
    }
}

/// Changes of a link in the document.
fn written(link: &Link) -> u64 {
    (rates(link).len() + link.delay.changes.len() + losses(link).len()) as u64
}

/// Whether the wire chooses packets at random, with a probability between 0 and 1.
fn draws(link: &Link) -> bool {
    let reorder = match link.reorder {
        Reorder::None => 0.0,
        Reorder::Late { chance, .. } | Reorder::Early { chance, .. } => chance.probability,
    };
    let ecn = link.ecn.map_or(0.0, |fault| fault.probability);
    [reorder, link.duplicate.probability, ecn].iter().any(|p| (f64::MIN_POSITIVE..1.0).contains(p))
}

/// Whether another seed can give another result: something in the scenario,
/// a controller or a queue draws at random.
pub fn is_random(scenario: &Scenario) -> bool {
    let link = |link: &Link| {
        !matches!(link.loss, Loss::None | Loss::Periodic(_))
            || link.jitter.span > Duration::ZERO
            || draws(link)
            || link.slots.is_some_and(|slots| slots.least < slots.most())
            || link.queue.is_random() && link.rate != Capacity::Unlimited
    };
    let controller = |control: &Control| {
        scenario.controllers.find(control.name()).is_some_and(|info| info.random)
    };
    let flow =
        |flow: &Flow| flow.source.is_random() || flow.control.as_ref().is_some_and(&controller);
    scenario.spread > Duration::ZERO
        || scenario.flows.iter().any(|flow| flow.start_jitter > Duration::ZERO)
        || scenario.flows.iter().any(|flow| flow.noise != [Noise::None; 2])
        || scenario.links.iter().any(link)
        || scenario.flows.iter().any(flow)
        || scenario.controls.iter().any(controller)
}
