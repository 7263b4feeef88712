//! Signals from bottlenecks to the flows that may hear them ("A Lower Bound on Latency Spikes":
//! the optimal controller's direct link, figure 1c).

use std::collections::BTreeMap;

use sojourn_scenario::{Capacity, Flow, Link, Scenario};
use sojourn_units::{Duration, Instant, Rate};

use crate::loops::Delays;
use crate::timeline::steps;

/// A trace's capacity is signalled as its mean over stretches of this length.
pub(crate) const TRACE_STRETCH: Duration = Duration::from_millis(10);

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
    /// Whether signals take the direct way to it.
    pub(crate) is_direct: bool,
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

/// The capacity of each link over time, beginning at the start of the run; made for those
/// that a flow listens to.
pub(crate) struct Capacities<'a> {
    pub(crate) scenario: &'a Scenario,
    shift: Duration,
    known: Vec<Option<Vec<(Instant, Rate)>>>,
}

impl<'a> Capacities<'a> {
    pub(crate) fn new(scenario: &'a Scenario, shift: Duration) -> Capacities<'a> {
        Capacities { scenario, shift, known: vec![None; scenario.links.len()] }
    }

    fn of(&mut self, link: usize) -> &[(Instant, Rate)] {
        let make = || history(&self.scenario.links[link], self.scenario.duration, self.shift);
        self.known[link].get_or_insert_with(make)
    }
}

/// The ears of a flow, with what each hears at the flow's start.
pub(crate) fn ears(capacities: &mut Capacities<'_>, flow: &Flow) -> Vec<Ear> {
    let listen = |&link: &usize| {
        let payload = flow.transport.mss.0;
        let overhead = capacities.scenario.links[link].overhead.0;
        let size = payload + flow.transport.header.0 + overhead;
        let rate = capacities.of(link).first()?.1;
        Some(Ear { link, rate, sharing: 1, cross: BTreeMap::new(), payload, size })
    };
    flow.path.iter().filter_map(listen).collect()
}

/// The flows that listen to one link: when they start and stop.
#[derive(Clone, Debug, Default)]
struct Sharers {
    /// The start and the stop of each, in the order of flows.
    moves: Vec<Instant>,
    starts: Vec<Instant>,
    stops: Vec<Instant>,
}

impl Sharers {
    /// How many run at `at`.
    fn count(&self, at: Instant) -> u64 {
        let past = |times: &[Instant]| times.partition_point(|time| *time <= at);
        past(&self.starts).saturating_sub(past(&self.stops)) as u64
    }

    fn of_links(listeners: &[Listener], links: usize) -> Vec<Sharers> {
        let mut all = vec![Sharers::default(); links];
        for listener in listeners {
            let mut heard = listener.links.clone();
            heard.sort_unstable();
            heard.dedup();
            for link in heard {
                all[link].moves.extend([listener.start, listener.stop]);
                all[link].starts.push(listener.start);
                // Else it would be missed from the count before it was in it.
                all[link].stops.push(listener.stop.max(listener.start));
            }
        }
        for sharers in &mut all {
            sharers.starts.sort_unstable();
            sharers.stops.sort_unstable();
        }
        all
    }
}

/// Every signal that the flows will hear, after the time that it takes: each change of each
/// rated link on its way, and each start and stop of another flow that shares it. What is so
/// at its own start a flow knows at once.
pub(crate) fn schedule(
    capacities: &mut Capacities<'_>,
    delays: &Delays,
    listeners: &[Listener],
) -> Vec<Pending> {
    let (scenario, shift) = (capacities.scenario, capacities.shift);
    let sharers = Sharers::of_links(listeners, scenario.links.len());
    let mut out = Vec::new();
    for me in listeners {
        for (ear, &link) in me.links.iter().enumerate() {
            let (sharers, capacities) = (&sharers[link], capacities.of(link));
            let changes = capacities.iter().skip(1).map(|(at, _)| *at);
            out.extend(changes.chain(sharers.moves.iter().copied()).map(|at| {
                let known = capacities.partition_point(|(t, _)| *t <= at).saturating_sub(1);
                let delay = if at == me.start {
                    Duration::ZERO
                } else {
                    let (flow, written) = (&scenario.flows[me.flow], at.saturating_sub(shift));
                    signal_delay(delays, flow, link, written, me.is_direct)
                };
                let (rate, sharing) = (capacities[known].1, sharers.count(at));
                Pending { at: at + delay, flow: me.flow, ear, rate, sharing }
            }));
        }
    }
    out.sort_by_key(|p| (p.at, p.flow, p.ear));
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
    delays: &Delays,
    flow: &Flow,
    link: usize,
    at: Instant,
    direct: bool,
) -> Duration {
    let place = flow.path.iter().position(|l| *l == link).unwrap_or(0);
    let (before, behind) = flow.path.split_at(place);
    if direct {
        delays.sum(before, at)
    } else {
        delays.sum(behind, at) + delays.sum(&flow.back, at)
    }
}
