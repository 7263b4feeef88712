//! How much memory a run will need, before it begins.

use sojourn_scenario::{Buffer, Capacity, Change, Control, Flow, Link, Loss, Scenario, Source};
use sojourn_units::{Bytes, Duration, Rate};

use crate::server::mean_rate;

/// State of a packet: its place in a queue or on a wire, and in its sender's
/// scoreboard; twice, since rings grow by doubling.
const PER_PACKET: u64 = 2 * (56 + 64);
/// A row of a series.
const PER_ROW: u64 = 160;
/// A step of a ramp, in every list that holds it.
const PER_STEP: u64 = 256;
/// A connection with its histogram.
const PER_CONNECTION: u64 = 16 << 10;

/// An upper estimate in bytes of what simulating `scenario` takes.
///
/// No sender can have more in flight than its links hold; where a buffer has
/// no limit, no more than the link carries in the whole run, since a window
/// grows by at most what is delivered. Where no link on the way has a rate,
/// only the flow itself may limit what is in flight.
pub fn estimate(scenario: &Scenario) -> Bytes {
    let queued = scenario.links.iter().map(|l| packets_on(scenario, l));
    let free = scenario.flows.iter().map(|f| packets_without_rate(scenario, f));
    let packets = queued.chain(free).fold(0, u64::saturating_add);
    let samples = scenario.duration.0.checked_div(scenario.record.interval.0).unwrap_or(0);
    let rows = samples.saturating_mul((scenario.flows.len() + scenario.links.len()) as u64);
    let connections: u64 = scenario.flows.iter().map(connections).sum();
    let steps: u64 = scenario.links.iter().map(ramp_steps).sum();
    Bytes(packets) * PER_PACKET
        + Bytes(rows) * PER_ROW
        + Bytes(connections) * PER_CONNECTION
        + Bytes(steps) * PER_STEP
}

/// One for the data, and one for the requests of a flow that asks.
fn connections(flow: &Flow) -> u64 {
    if matches!(flow.source, Source::Request { .. }) { 2 } else { 1 }
}

fn packets_on(scenario: &Scenario, link: &Link) -> u64 {
    let size = scenario.flows.iter().map(|f| (f.transport.mss + f.transport.header).0).min();
    let size = Bytes(size.unwrap_or(1500)) + link.overhead;
    let Some(rate) = greatest_rate(link) else { return 0 };
    let in_time = |span: Duration| rate.bytes_in(span).0 / size.0.max(1) + 1;
    let wire = in_time(greatest_delay(link) + link.jitter);
    let all = in_time(scenario.duration);
    let waiting = match link.buffer {
        Buffer::Unlimited => all,
        Buffer::Default => {
            sojourn_queue::find(&link.queue.kind).map_or(u64::MAX, |info| info.default_packets)
        }
        Buffer::Bytes(bytes) => bytes.0 / size.0.max(1) + 1,
        Buffer::Packets(packets) => packets,
        Buffer::Time(span) => in_time(span),
    };
    wire.saturating_add(waiting).min(all)
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

fn greatest_delay(link: &Link) -> Duration {
    let delays = link.delay.changes.iter().map(|c| c.value);
    delays.chain([link.delay.start]).max().unwrap_or_default()
}

/// Whether another seed can give another result: something in the scenario,
/// a controller or a queue draws at random.
pub fn is_random(scenario: &Scenario) -> bool {
    let link = |link: &Link| {
        let queue = sojourn_queue::find(&link.queue.kind).is_some_and(|info| info.random);
        !matches!(link.loss, Loss::None | Loss::Periodic(_))
            || link.jitter > Duration::ZERO
            || queue && link.rate != Capacity::Unlimited
    };
    let flow = |flow: &Flow| {
        let exponential = matches!(flow.source, Source::OnOff { exponential: true, .. });
        exponential || flow.control.as_ref().is_some_and(controller)
    };
    fn controller(control: &Control) -> bool {
        sojourn_cc::find(control.name()).is_some_and(|algorithm| algorithm.info.random)
    }
    scenario.spread > Duration::ZERO
        || scenario.links.iter().any(link)
        || scenario.flows.iter().any(flow)
        || scenario.controls.iter().any(controller)
}
