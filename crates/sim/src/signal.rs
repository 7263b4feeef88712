//! Signals from bottlenecks to the flows that may hear them ("A Lower Bound on Latency Spikes":
//! the optimal controller's direct link, figure 1c).

use std::collections::BTreeMap;

use sojourn_scenario::{Capacity, Flow, Link, Scenario, Schedule};
use sojourn_units::{Duration, Instant, Rate};

use crate::timeline::steps;

/// A trace's capacity is signalled as its mean over stretches of this length.
const TRACE_STRETCH: Duration = Duration::from_millis(10);

/// One signal under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) at: Instant,
    pub(crate) flow: usize,
    /// Place of the link among those that the flow listens to.
    pub(crate) ear: usize,
    /// Capacity of the link, as the link counts it.
    pub(crate) rate: Rate,
    /// How many flows that hear signals share it.
    pub(crate) sharing: u64,
}

/// A flow that hears signals: the links that it listens to, and when it runs.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    pub(crate) flow: usize,
    pub(crate) links: Vec<usize>,
    pub(crate) start: Instant,
    pub(crate) stop: Instant,
}

/// One bottleneck that a flow listens to.
#[derive(Clone, Debug)]
pub(crate) struct Ear {
    pub(crate) link: usize,
    /// What the flow knows of its capacity.
    pub(crate) rate: Rate,
    /// What it knows of how many share it.
    pub(crate) sharing: u64,
    /// What it knows of the flows without control that use it, each with its rate.
    pub(crate) cross: BTreeMap<usize, Rate>,
    /// Payload and size of a full packet on that link.
    payload: u64,
    size: u64,
}

impl Ear {
    /// The flow's share of what flows without control leave, as a rate of payload.
    pub(crate) fn share(&self) -> Rate {
        let taken: u64 = self.cross.values().map(|rate| rate.0).fold(0, u64::saturating_add);
        let left = self.rate.0.saturating_sub(taken);
        let payload = u128::from(left) * u128::from(self.payload) / u128::from(self.size);
        Rate((payload / u128::from(self.sharing.max(1))) as u64)
    }
}

/// The ears of a flow, with what each hears at the flow's start.
pub(crate) fn ears(scenario: &Scenario, flow: &Flow) -> Vec<Ear> {
    let listen = |&link: &usize| {
        let spec = &scenario.links[link];
        let payload = flow.transport.mss.0;
        let size = payload + flow.transport.header.0 + spec.overhead.0;
        let rate = history(spec, scenario.duration, Duration::ZERO).first()?.1;
        Some(Ear { link, rate, sharing: 1, cross: BTreeMap::new(), payload, size })
    };
    flow.path.iter().filter_map(listen).collect()
}

/// Every signal that a flow will hear, after the time that it takes: each change
/// of each rated link on its way, and each start and stop of another flow that
/// shares it. What is so at its own start it knows at once.
pub(crate) fn schedule(
    scenario: &Scenario,
    me: &Listener,
    all: &[Listener],
    shift: Duration,
    direct: bool,
) -> Vec<Pending> {
    let mut out = Vec::new();
    for (ear, &link) in me.links.iter().enumerate() {
        let sharers: Vec<&Listener> = all.iter().filter(|l| l.links.contains(&link)).collect();
        let capacities = history(&scenario.links[link], scenario.duration, shift);
        let changes = capacities.iter().skip(1).map(|(at, _)| *at);
        let moves = sharers.iter().flat_map(|l| [l.start, l.stop]);
        out.extend(changes.chain(moves).map(|at| {
            let known = capacities.partition_point(|(t, _)| *t <= at).saturating_sub(1);
            let delay = if at == me.start {
                Duration::ZERO
            } else {
                let (flow, written) = (&scenario.flows[me.flow], at.saturating_sub(shift));
                signal_delay(scenario, flow, link, written, direct)
            };
            let sharing = sharers.iter().filter(|l| l.start <= at && at < l.stop).count() as u64;
            Pending { at: at + delay, flow: me.flow, ear, rate: capacities[known].1, sharing }
        }));
    }
    out.sort_by_key(|p| (p.at, p.ear));
    out
}

/// The capacity of a link over time, beginning at the start of the run.
fn history(link: &Link, duration: Duration, shift: Duration) -> Vec<(Instant, Rate)> {
    match &link.rate {
        Capacity::Unlimited => Vec::new(),
        Capacity::Rate(rates) => {
            let start = [(Instant::ZERO, rates.start)];
            start.into_iter().chain(steps(rates, shift, |r| r.0, Rate)).collect()
        }
        Capacity::Trace(trace) => trace.means(TRACE_STRETCH, duration),
    }
}

/// `d_signal` of "A Lower Bound on Latency Spikes": from the bottleneck's queue via the receiver to
/// the sender; or straight back, as long as packets take to reach it.
pub(crate) fn signal_delay(
    scenario: &Scenario,
    flow: &Flow,
    link: usize,
    at: Instant,
    direct: bool,
) -> Duration {
    let place = flow.path.iter().position(|l| *l == link).unwrap_or(0);
    let (before, behind) = flow.path.split_at(place);
    let total = |links: &[usize]| {
        let delays = links.iter().map(|l| delay_at(&scenario.links[*l].delay, at));
        delays.fold(Duration::ZERO, |sum, d| sum + d)
    };
    if direct { total(before) } else { total(behind) + total(&flow.back) }
}

/// A link's propagation delay at a moment of the scenario as it is written.
pub(crate) fn delay_at(schedule: &Schedule<Duration>, at: Instant) -> Duration {
    let past = steps(schedule, Duration::ZERO, |d| d.0, Duration);
    past.iter().rev().find(|(t, _)| *t <= at).map_or(schedule.start, |(_, d)| *d)
}

/// `d = d_flight + d_signal` of "A Lower Bound on Latency Spikes" for a flow at a moment of the
/// scenario as it is written: its whole loop of propagation delays.
pub(crate) fn loop_delay(scenario: &Scenario, flow: &Flow, at: Instant) -> Duration {
    let links = flow.path.iter().chain(&flow.back);
    links.map(|l| delay_at(&scenario.links[*l].delay, at)).fold(Duration::ZERO, |sum, d| sum + d)
}
