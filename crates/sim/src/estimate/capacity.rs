//! Upper bounds on the packets in the links of a scenario.

use sojourn_cc::Catalogue;
use sojourn_scenario::source::Carrier;
use sojourn_scenario::{Buffer, Capacity, Control, Flow, Link, Loss, Reorder, Scenario, Trace};
use sojourn_units::{Bytes, Duration, Rate};

use crate::endpoint::transport::CHECK_EVERY;

/// Outstanding packets for each packet that the path holds: slow start doubles the window in
/// a round trip, the queue drops the excess, and the sender detects that a round trip later.
const OUTSTANDING: u64 = 2;

/// Packets in flight that user-defined controllers may have together, for each packet that
/// their paths hold: twice the overshoot of slow start. The path drops the rest long before.
const OWN_FLIGHT: u64 = 4;

/// Packets in flight that user-defined controllers may always have together. Their state
/// takes some 30 MB: a window that overfills a small path is a valid experiment.
const OWN_LEAST: u64 = 100_000;

/// Packets of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    /// In its queue, in its ring, and in flight over the paths whose bottleneck it is.
    pub(crate) packets: u64,
    /// Outstanding packets: sent, and not known to be delivered or lost.
    pub(crate) outstanding: u64,
    /// Lost packets among the outstanding ones.
    pub(crate) lost: u64,
}

/// The greatest number of packets in each link of a scenario.
///
/// A window grows by at most the delivered packets, so the bottleneck bounds the packets in
/// flight: at most the packets of a round trip at its rate plus those in the queues, and at most
/// the packets of the whole run. Sources and receive windows may reduce this further.
pub(crate) struct PathCapacity<'a> {
    scenario: &'a Scenario,
    pub(crate) links: Vec<Held>,
    /// The longest queueing delay of each link.
    waits: Vec<Duration>,
}

impl<'a> PathCapacity<'a> {
    pub(crate) fn of(scenario: &'a Scenario) -> PathCapacity<'a> {
        let demands = demands(scenario);
        let least = scenario.flows.iter().map(|f| f.packet_size()).min().unwrap_or(Bytes(1500));
        let lossy = scenario.links.iter().any(|link| link.loss != Loss::None || !link.is_plain());
        let of = |(link, demand)| held(link, demand, least, scenario.duration, lossy);
        let links: Vec<Held> = scenario.links.iter().zip(&demands).map(of).collect();
        let greatest = scenario.flows.iter().map(|f| f.packet_size()).max().unwrap_or(Bytes(1500));
        let wait = |(link, held): (&Link, &Held)| {
            let rate = least_rate(link).map_or(Duration::ZERO, |rate| {
                rate.time_for((greatest + link.overhead) * held.packets)
            });
            rate.min(scenario.duration)
        };
        let waits = scenario.links.iter().zip(&links).map(wait).collect();
        PathCapacity { scenario, links, waits }
    }

    /// Octaves of all histograms: of each link's waiting times, and of each flow's round-trip
    /// times and responses.
    pub(crate) fn histograms(&self) -> u64 {
        let links = self.waits.iter().map(|wait| octaves(Duration::ZERO, *wait));
        let delays = |of: fn(&Link) -> Duration| -> Vec<Duration> {
            self.scenario.links.iter().map(of).collect()
        };
        let (least, greatest) = (delays(least_delay), delays(greatest_delay));
        let flows = self.scenario.flows.iter().map(|flow| {
            let sum = |of: &[Duration]| links_of(flow).fold(Duration::ZERO, |sum, l| sum + of[l]);
            let shortest = sum(&least);
            let longest = sum(&greatest) + sum(&self.waits);
            let responses = match flow.source.carrier() {
                Carrier::Requests => octaves(shortest, self.scenario.duration),
                Carrier::Connection
                | Carrier::Connections
                | Carrier::ConnectionOrUdp
                | Carrier::Echo => 0,
                // Of the frames' delays.
                Carrier::Media => octaves(shortest, self.scenario.duration),
            };
            octaves(shortest, longest) * connections(flow) + responses
        });
        links.chain(flows).fold(0, u64::saturating_add)
    }

    /// Packets that the limited flows of one run may have in flight together. `control` applies
    /// to flows without a controller of their own. If they exceed this limit, the run ends
    /// ([`crate::Simulation::overrun`]).
    pub(crate) fn in_flight_limit(&self, control: Option<&Control>) -> u64 {
        let controls = control.map_or(&[][..], std::slice::from_ref);
        self.limit_of(|flow| is_limited(flow, controls))
    }

    fn limit_of(&self, limited: impl Fn(&Flow) -> bool) -> u64 {
        let mut used = vec![false; self.links.len()];
        let mut extra = 0_u64;
        for flow in self.scenario.flows.iter().filter(|flow| limited(flow)) {
            links_of(flow).for_each(|link| used[link] = true);
            extra = extra
                .saturating_add(self.without_rate(flow))
                .saturating_add(flow.transport.initial_window);
        }
        let used = self.links.iter().zip(used).filter(|(_, used)| *used);
        let held = used.fold(0_u64, |sum, (link, _)| sum.saturating_add(link.packets));
        held.saturating_mul(OWN_FLIGHT).max(OWN_LEAST).saturating_add(extra)
    }

    /// Packets in flight beyond the links' bounds: initial windows, and the requests of
    /// user-defined controllers.
    pub(crate) fn extra_in_flight(&self) -> u64 {
        let controls = &self.scenario.controls;
        // Packets that limited flows have to send, and those they may send before a check.
        let (mut limited, mut unchecked, mut extra) = (0_u64, 0_u64, 0_u64);
        for flow in &self.scenario.flows {
            let has = source_packets(flow, self.scenario.duration);
            let each = connections(flow);
            if is_limited(flow, controls) {
                limited = limited.saturating_add(has.saturating_mul(each));
                unchecked += has.min(CHECK_EVERY + 1) * each;
            } else {
                let window = flow.transport.initial_window;
                extra = extra.saturating_add(has.min(window).saturating_mul(each));
            }
        }
        if limited > 0 {
            let limit = self.limit_of(|flow| is_limited(flow, controls));
            extra = extra.saturating_add(limited.min(limit.saturating_add(unchecked)));
        }
        extra
    }

    /// Bound on the packets in flight of a flow over links without a rate. The path does not slow
    /// the growth of its window.
    pub(crate) fn without_rate(&self, flow: &Flow) -> u64 {
        let links = &self.scenario.links;
        let is_rated = |link: &usize| links[*link].rate != Capacity::Unlimited;
        let duration = self.scenario.duration;
        if !flow.path.iter().any(is_rated) {
            return source_packets(flow, duration);
        }
        // No window bounds datagrams on the wires of links without a rate.
        let wires = flow.path.iter().filter(|link| !is_rated(link));
        let span = wires.fold(Duration::ZERO, |sum, link| sum + greatest_delay(&links[*link]));
        if flow.source.carrier().is_paced() { source_packets(flow, span.min(duration)) } else { 0 }
    }
}

fn links_of(flow: &Flow) -> impl Iterator<Item = usize> {
    flow.path.iter().chain(&flow.back).copied()
}

fn is_own(control: &Control) -> bool {
    *control != Control::None && Catalogue::shipped().find(control.name()).is_none()
}

/// Whether the run's limit applies to `flow`: a user-defined controller sets its window.
pub(crate) fn is_limited(flow: &Flow, controls: &[Control]) -> bool {
    flow.control.as_ref().map_or_else(|| controls.iter().any(is_own), is_own)
}

/// One for the data, and one for the requests of a request/response flow.
pub(crate) fn connections(flow: &Flow) -> u64 {
    if flow.source.carrier() == Carrier::Requests { 2 } else { 1 }
}

/// Packets of payload that a flow's source produces within `span`, limited by its receive
/// window.
fn source_packets(flow: &Flow, span: Duration) -> u64 {
    let window = flow.transport.receive_window.unwrap_or(Bytes::MAX);
    let mss = flow.transport.mss;
    (window.min(flow.source.bytes_in(mss, span)).0 / mss.0).saturating_add(1)
}

/// The demand of the flows of a link.
#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    /// Packets that their sources and receive windows allow.
    packets: u64,
    /// Longest loop delay of the flows whose bottleneck this link is.
    longest_loop: Option<Duration>,
}

fn demands(scenario: &Scenario) -> Vec<Demand> {
    let delays: Vec<Duration> = scenario.links.iter().map(greatest_delay).collect();
    let rates: Vec<Option<Rate>> = scenario.links.iter().map(greatest_rate).collect();
    let mut demands = vec![Demand::default(); scenario.links.len()];
    for flow in &scenario.flows {
        let packets = source_packets(flow, scenario.duration).saturating_mul(connections(flow));
        for link in links_of(flow) {
            demands[link].packets = demands[link].packets.saturating_add(packets);
        }
        let around = links_of(flow).fold(Duration::ZERO, |sum, link| sum + delays[link]);
        // Requests are data on the reverse path.
        let requests = if connections(flow) > 1 { &flow.back[..] } else { &[] };
        for path in [&flow.path[..], requests] {
            let rated = path.iter().filter_map(|link| rates[*link].map(|rate| (rate, *link)));
            if let Some((_, bottleneck)) = rated.min() {
                let longest = &mut demands[bottleneck].longest_loop;
                *longest = Some(longest.unwrap_or_default().max(around));
            }
        }
    }
    demands
}

/// `least`: the smallest packet. `lossy`: any wire loses or reorders packets.
fn held(link: &Link, demand: &Demand, least: Bytes, duration: Duration, lossy: bool) -> Held {
    let size = (least + link.overhead).0.max(1);
    let in_time = |span| greatest_in(link, span).map_or(0, |bytes| bytes.0 / size + 1);
    let most = in_time(duration).min(demand.packets);
    let ring = link.ring.as_ref().map_or(0, |ring| ring.packets);
    let waiting = match link.buffer {
        Buffer::Unlimited => u64::MAX,
        Buffer::Default => link.queue.default_packets(),
        Buffer::Bytes(bytes) => bytes.0 / size + 1,
        Buffer::Packets(packets) => packets,
        Buffer::Time(span) => in_time(span),
    };
    let packets = demand.longest_loop.map_or(0, in_time);
    let packets = packets.saturating_add(waiting).saturating_add(ring).min(most);
    let outstanding = packets.saturating_mul(OUTSTANDING).min(most);
    // An unlimited queue drops packets only if it manages its delay.
    let drops = lossy || link.buffer != Buffer::Unlimited || !link.queue.is_drop_tail();
    Held { packets, outstanding, lost: if drops { packets } else { 0 } }
}

/// Number of doublings between two times in a histogram, plus one at either end.
fn octaves(least: Duration, greatest: Duration) -> u64 {
    /// Below 512 ns each nanosecond has its bucket.
    const FINEST: u64 = 512;
    let least = least.0.max(FINEST);
    u64::from((greatest.0 / least).max(1).ilog2()) + 2
}

/// The greatest amount that a link carries in any `span`; `None` without a rate.
fn greatest_in(link: &Link, span: Duration) -> Option<Bytes> {
    match &link.rate {
        Capacity::Trace(trace) => Some(Trace::OPPORTUNITY * most_opportunities(trace, span)),
        _ => greatest_rate(link).map(|rate| rate.bytes_in(span)),
    }
}

/// The greatest number of a trace's opportunities in any `span`, both ends included: bursts may
/// be far above the mean.
fn most_opportunities(trace: &Trace, span: Duration) -> u64 {
    let times = &trace.opportunities_ms;
    let period = trace.period().0 / 1_000_000;
    let span = span.0.div_ceil(1_000_000);
    let (count, rest) = (times.len() as u64, span % period);
    // Two periods in a row, so that a window may span the end of the trace.
    let at = |place: usize| times[place % times.len()] + period * (place / times.len()) as u64;
    let (mut end, mut most) = (0, 0);
    for start in 0..times.len() {
        while end < 2 * times.len() && at(end) <= at(start) + rest {
            end += 1;
        }
        most = most.max(end - start);
    }
    (span / period).saturating_mul(count).saturating_add(most as u64)
}

/// The greatest rate of a link; the mean rate of a trace.
fn greatest_rate(link: &Link) -> Option<Rate> {
    match &link.rate {
        Capacity::Unlimited => None,
        Capacity::Rate(rates) => rates.changes.iter().map(|c| c.value).chain([rates.start]).max(),
        Capacity::Trace(trace) => Some(trace.mean_rate()),
    }
}

/// The least rate of a link. During an outage every packet waits, at most for the whole run.
fn least_rate(link: &Link) -> Option<Rate> {
    match &link.rate {
        Capacity::Unlimited => None,
        Capacity::Rate(_) => {
            let rates = link.rates()?;
            rates.changes.iter().map(|c| c.value).chain([rates.start]).min()
        }
        Capacity::Trace(_) => Some(Rate::ZERO),
    }
}

fn least_delay(link: &Link) -> Duration {
    let delays = link.delay.changes.iter().map(|c| c.value);
    delays.chain([link.delay.start]).min().unwrap_or_default()
}

fn greatest_delay(link: &Link) -> Duration {
    let delays = link.delay.changes.iter().map(|c| c.value);
    let late = match link.reorder {
        Reorder::Late { late, .. } => late,
        Reorder::None | Reorder::Early { .. } => Duration::ZERO,
    };
    // A packet may miss one slot, and wait for the next.
    let slots = link.slots.map_or(Duration::ZERO, |slots| slots.most() * 2);
    delays.chain([link.delay.start]).max().unwrap_or_default()
        + link.jitter.greatest()
        + late
        + slots
}
