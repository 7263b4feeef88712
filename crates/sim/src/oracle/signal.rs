//! The times and values of all signals from bottlenecks to flows.

use sojourn_scenario::{Capacity, Flow, Link, Scenario, Spacing, Trace, steps};
use sojourn_units::{Duration, Instant, Rate};

use crate::loops::Delays;

/// One signal in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) at: Instant,
    pub(crate) flow: usize,
    /// Index of the link among those whose signals the flow gets.
    pub(crate) input: usize,
    /// Capacity of the link, with the link's overhead.
    pub(crate) rate: Rate,
    /// Number of flows with signals that share the link.
    pub(crate) sharing: u64,
}

/// A flow that gets signals: its links, and the time of its run.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    pub(crate) flow: usize,
    pub(crate) links: Vec<usize>,
    pub(crate) start: Instant,
    pub(crate) stop: Instant,
    /// Whether signals take the direct path to it.
    pub(crate) is_direct: bool,
}

/// The capacity of each link over time, from the start of the run. Computed only for links with
/// signals.
pub(crate) struct Capacities<'a> {
    pub(crate) scenario: &'a Scenario,
    shift: Duration,
    known: Vec<Option<Vec<(Instant, Rate)>>>,
}

impl<'a> Capacities<'a> {
    pub(crate) fn new(scenario: &'a Scenario, shift: Duration) -> Capacities<'a> {
        Capacities { scenario, shift, known: vec![None; scenario.links.len()] }
    }

    pub(super) fn of(&mut self, link: usize) -> &[(Instant, Rate)] {
        let make = || history(&self.scenario.links[link], self.scenario.duration, self.shift);
        self.known[link].get_or_insert_with(make)
    }
}

/// The flows that get signals of one link: their starts and stops.
#[derive(Clone, Debug, Default)]
struct Sharers {
    /// The start and the stop of each, in the order of flows.
    moves: Vec<Instant>,
    starts: Vec<Instant>,
    stops: Vec<Instant>,
}

impl Sharers {
    /// Number of flows that run at `at`.
    fn count(&self, at: Instant) -> u64 {
        let past = |times: &[Instant]| times.partition_point(|time| *time <= at);
        past(&self.starts).saturating_sub(past(&self.stops)) as u64
    }

    fn of_links(listeners: &[Listener], links: usize) -> Vec<Sharers> {
        let mut all = vec![Sharers::default(); links];
        for listener in listeners {
            let mut links = listener.links.clone();
            links.sort_unstable();
            links.dedup();
            for link in links {
                all[link].moves.extend([listener.start, listener.stop]);
                all[link].starts.push(listener.start);
                // A stop before the start would be subtracted from the count before the start is
                // added.
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

/// Schedules all signals, each after its delay: every change of each rated link on a flow's path,
/// and each start and stop of another flow that shares the link. A flow knows the values of its own
/// start at once.
pub(crate) fn schedule(
    capacities: &mut Capacities<'_>,
    delays: &Delays,
    listeners: &[Listener],
) -> Vec<Pending> {
    let (scenario, shift) = (capacities.scenario, capacities.shift);
    let sharers = Sharers::of_links(listeners, scenario.links.len());
    let mut out = Vec::new();
    for me in listeners {
        for (input, &link) in me.links.iter().enumerate() {
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
                Pending { at: at + delay, flow: me.flow, input, rate, sharing }
            }));
        }
    }
    out.sort_by_key(|p| (p.at, p.flow, p.input));
    out
}

/// The capacity of a link over time, from the start of the run.
fn history(link: &Link, duration: Duration, shift: Duration) -> Vec<(Instant, Rate)> {
    if let Some(rates) = link.rates() {
        let start = [(Instant::ZERO, rates.start)];
        return start.into_iter().chain(steps(&rates, shift, |r| r.0, Rate)).collect();
    }
    match &link.rate {
        Capacity::Unlimited | Capacity::Rate(_) => Vec::new(),
        Capacity::Trace(trace) => match trace.spacing {
            Spacing::Even => trace.rates(duration),
            // Deviation (A lower bound on latency spikes): the paper's sender knows the capacity at any
            // time; that of bursts, which is a rate at no time, is signalled as the mean of 10 ms.
            Spacing::Burst => trace.means(Trace::STRETCH, duration),
        },
    }
}

/// `d_signal` of "A Lower Bound on Latency Spikes": from the bottleneck's queue via the receiver to
/// the sender. On the direct path, it equals the time that packets take to reach the queue, so that
/// d is twice the delay to the bottleneck.
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
