//! How much memory a run will need, before it begins.

use sojourn_scenario::{
    Buffer, Capacity, Change, Control, Flow, Link, Loss, Reorder, Scenario, Source,
};
use sojourn_units::{Bytes, Duration, Rate};

use crate::server::mean_rate;

/// A packet in a queue or on a wire, 32 bytes, and what its sender remembers of it,
/// 32 and as much again where delivery rates are measured. Rings take blocks of 64 of
/// them or more: the block's own vector, in a list that grows by doubling, and what the
/// allocator keeps are less than a byte a packet.
const PER_PACKET: u64 = 33;
const PER_SEGMENT: u64 = 66;
/// An acknowledgement under way: its packet, 64 bytes of what it says, 48 of what few
/// tell and four ranges of 16, both with the allocator's 16, and its place in the list of
/// free ones, which grows by doubling.
const PER_ACK: u64 = PER_PACKET + 64 + (48 + 16) + (4 * 16 + 16) + 8;
/// A row of a series.
const PER_ROW: u64 = 160;
/// A step of a ramp, in every list that holds it.
const PER_STEP: u64 = 256;
/// A connection with its histogram.
const PER_CONNECTION: u64 = 16 << 10;

/// An upper estimate in bytes of what simulating `scenario` takes.
///
/// No sender can have more in flight than its links hold, and what they carry in
/// a round trip; where a buffer has no limit, no more than the link carries in the
/// whole run, since a window grows by at most what is delivered. Where no link on
/// the way has a rate, only the flow itself may limit what is in flight.
pub fn estimate(scenario: &Scenario) -> Bytes {
    let queued = (0..scenario.links.len()).map(|l| packets_of(scenario, l));
    let free = scenario.flows.iter().map(|f| packets_without_rate(scenario, f));
    let packets = queued.chain(free).fold(0, u64::saturating_add);
    let samples = scenario.duration.0.checked_div(scenario.record.interval.0).unwrap_or(0);
    let rows = samples.saturating_mul((scenario.flows.len() + scenario.links.len()) as u64);
    let connections: u64 = scenario.flows.iter().map(connections).sum();
    let steps: u64 = scenario.links.iter().map(ramp_steps).sum();
    Bytes(packets) * per_packet(scenario)
        + Bytes(rows) * PER_ROW
        + Bytes(connections) * PER_CONNECTION
        + Bytes(steps) * PER_STEP
}

/// State of a packet in flight: on its way, or as its share of an acknowledgement.
fn per_packet(scenario: &Scenario) -> u64 {
    let every = scenario.flows.iter().map(|f| f.transport.ack_every).min().unwrap_or(1);
    PER_SEGMENT + PER_PACKET.max(PER_ACK / every.max(1))
}

/// One for the data, and one for the requests of a flow that asks.
fn connections(flow: &Flow) -> u64 {
    if matches!(flow.source, Source::Request { .. }) { 2 } else { 1 }
}

/// What waits for a link and in its device's ring, and what it carries in a round
/// trip: that is on a wire, or acknowledged without its sender knowing of it.
fn packets_of(scenario: &Scenario, place: usize) -> u64 {
    let link = &scenario.links[place];
    let size = scenario.flows.iter().map(|f| f.packet_size().0).min();
    let size = Bytes(size.unwrap_or(1500)) + link.overhead;
    let Some(rate) = greatest_rate(link) else { return 0 };
    let in_time = |span: Duration| rate.bytes_in(span).0 / size.0.max(1) + 1;
    let flying = in_time(greatest_loop(scenario, place));
    let ring = link.ring.as_ref().map_or(0, |ring| ring.packets);
    let all = in_time(scenario.duration);
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

/// What a flow over links without a rate may have in flight: nothing slows the
/// doubling of its window.
fn packets_without_rate(scenario: &Scenario, flow: &Flow) -> u64 {
    let mut links = flow.path.iter().map(|l| &scenario.links[*l].rate);
    if links.any(|rate| *rate != Capacity::Unlimited) {
        return 0;
    }
    let window = flow.transport.receive_window.unwrap_or(Bytes::MAX);
    let most = match flow.source {
        Source::Bulk => window,
        Source::Files { size, .. } => window.min(size),
        Source::Request { response, .. } => window.min(response),
        Source::OnOff { rate, .. } => window.min(rate.bytes_in(scenario.duration)),
        Source::Ping { interval, .. } => {
            flow.transport.mss * scenario.duration.0.div_ceil(interval.0)
        }
    };
    most.0 / flow.transport.mss.0 + 1
}

fn ramp_steps(link: &Link) -> u64 {
    fn of<T>(changes: &[Change<T>]) -> u64 {
        changes.iter().map(|c| c.to.since(c.from).0 / crate::timeline::RAMP_STEP.0).sum()
    }
    let rates = match &link.rate {
        Capacity::Rate(rates) => of(&rates.changes),
        Capacity::Unlimited | Capacity::Trace(_) => 0,
    };
    rates + of(&link.delay.changes)
}

fn greatest_rate(link: &Link) -> Option<Rate> {
    match &link.rate {
        Capacity::Unlimited => None,
        Capacity::Rate(rates) => rates.changes.iter().map(|c| c.value).chain([rates.start]).max(),
        Capacity::Trace(trace) => Some(mean_rate(trace)),
    }
}

/// Greatest delay out and back, without queues, of a flow that uses the link.
fn greatest_loop(scenario: &Scenario, place: usize) -> Duration {
    let links = |flow: &Flow| flow.path.iter().chain(&flow.back).copied().collect::<Vec<_>>();
    let ways = scenario.flows.iter().map(links).filter(|way| way.contains(&place));
    let total = |way: Vec<usize>| {
        let delays = way.iter().map(|l| greatest_delay(&scenario.links[*l]));
        delays.fold(Duration::ZERO, |sum, delay| sum + delay)
    };
    ways.map(total).max().unwrap_or_default()
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
