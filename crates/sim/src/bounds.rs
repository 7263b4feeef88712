//! The unavoidable spike of each change of capacity ("A Lower Bound on Latency Spikes").

use sojourn_scenario::{Buffer, Scenario};
use sojourn_theory::capacity::{Sender, Step, peak_delay};
use sojourn_theory::spike::{mean_delay, weighted};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::engine::Simulation;
use crate::measure::Load;
use crate::meter::Metering;
use crate::setup::{Carrier, FlowState};
use crate::signal::loop_delay;
use crate::timeline::{CapacityChange, What};

/// The bounds on one spike.
pub(crate) struct Bounds {
    /// For traffic that filled the link until the change; none where capacity ends for good.
    pub(crate) full: Option<Duration>,
    /// For what the link carried in the loop delay before: a sender that is clocked by
    /// acknowledgements sends as much until it can know of the change.
    pub(crate) corrected: Option<Duration>,
    /// Share of the excess that the buffer cannot hold (equation 3).
    pub(crate) lost_fraction: f64,
}

impl Bounds {
    pub(crate) fn new<M: Metering>(
        simulation: &Simulation<M>,
        change: &CapacityChange,
        loads: (&Load, &Load),
        carried: Rate,
    ) -> Bounds {
        let flows = shares(simulation, change, loads);
        let Ok(delay) = mean_delay(&flows) else {
            let zero = (change.to > Rate::ZERO).then_some(Duration::ZERO);
            return Bounds { full: zero, corrected: zero, lost_fraction: 0.0 };
        };
        let alone = is_alone(simulation, change, delay);
        let bound = |from: Rate| {
            if alone && from <= change.to {
                return Some(Duration::ZERO);
            }
            if alone && is_step(change) {
                let r = from.as_f64() / change.to.as_f64();
                return weighted(&flows, r).ok();
            }
            // A link that was full may have had a queue from before: what came
            // then is not limited by what it carried.
            let full = from.0 >= change.from.0 - change.from.0 / 1000;
            among_others(simulation, change, delay, if full { Rate::MAX } else { from })
        };
        let (full, corrected) = (bound(change.from), bound(carried.min(change.from)));
        let held = held(simulation, change);
        let capped = |bound: Option<Duration>| bound.map(|b| b.min(held));
        let lost = full.map_or(0.0, |q| q.saturating_sub(held).as_secs_f64() / q.as_secs_f64());
        Bounds {
            full: capped(full),
            corrected: capped(corrected),
            lost_fraction: if lost.is_finite() { lost } else { 0.0 },
        }
    }
}

fn is_step(change: &CapacityChange) -> bool {
    change.at == change.complete_at && change.to > Rate::ZERO
}

/// Whether no other change of the link is near enough to have a part in the
/// spike: the one before is over, and the one after comes later than the peak.
fn is_alone<M: Metering>(
    simulation: &Simulation<M>,
    change: &CapacityChange,
    delay: Duration,
) -> bool {
    let changes = simulation.timeline.capacity_changes.iter();
    let mut earlier = changes.filter(|c| c.link == change.link && c.at < change.at);
    // A queue of (r - 1) d that is drained by a pause as long: r d in all.
    let drained = |c: &CapacityChange| {
        let r = c.from.as_f64() / c.to.as_f64().max(1.0);
        c.complete_at + delay.mul_f64(1.0 + r.max(1.0))
    };
    earlier.all(|c| drained(c) <= change.at) && change.next_at >= change.at + delay
}

/// The bound among other changes, or through a ramp: for one sender with the
/// mean loop delay that also drains what it caused, over what comes in before
/// the next change. Until this one is complete, no more than `most` was sent.
fn among_others<M: Metering>(
    simulation: &Simulation<M>,
    change: &CapacityChange,
    delay: Duration,
    most: Rate,
) -> Option<Duration> {
    let steps = steps(simulation, change, most);
    let peak = peak_delay(&steps, delay, Sender::Draining, change.at, change.next_at);
    (peak < Duration::MAX).then_some(peak)
}

/// The link's capacity over the whole run; at most `most` until the change is
/// complete.
fn steps<M: Metering>(
    simulation: &Simulation<M>,
    change: &CapacityChange,
    most: Rate,
) -> Vec<Step> {
    let entries = simulation.timeline.entries.iter();
    let rates = entries.filter_map(|entry| match entry.what {
        What::Rate(rate) if entry.link == change.link => Some((entry.at, rate)),
        _ => None,
    });
    let changes = &simulation.timeline.capacity_changes;
    let start = changes.iter().find(|c| c.link == change.link).map_or(change.from, |c| c.from);
    let all = [(Instant::ZERO, start)].into_iter().chain(rates);
    all.map(|(at, rate)| if at <= change.complete_at { (at, rate.min(most)) } else { (at, rate) })
        .collect()
}

/// How long the link's buffer, full, takes at the new capacity.
fn held<M: Metering>(simulation: &Simulation<M>, change: &CapacityChange) -> Duration {
    let scenario = &simulation.scenario;
    let link = &scenario.links[change.link];
    let packets = |count: u64| {
        let sizes = scenario.flows.iter().map(|f| f.transport.mss + f.transport.header);
        let size = sizes.max().unwrap_or(Bytes(1500)) + link.overhead;
        change.to.time_for(size * count)
    };
    match link.buffer {
        Buffer::Unlimited => Duration::MAX,
        Buffer::Bytes(bytes) => change.to.time_for(bytes),
        Buffer::Packets(count) => packets(count),
        // As many bytes as at the rate before, which an outage never carries.
        Buffer::Time(_) if change.to == Rate::ZERO => Duration::MAX,
        Buffer::Time(span) => span,
        Buffer::Default => packets(link.queue.default_packets()),
    }
}

/// Each flow's share of what the link carried before the change, with its
/// loop delay. Equal shares where it carried nothing.
fn shares<M: Metering>(
    simulation: &Simulation<M>,
    change: &CapacityChange,
    loads: (&Load, &Load),
) -> Vec<(f64, Duration)> {
    let using = simulation.flows.iter().enumerate().filter_map(|(index, flow)| {
        let Carrier::Connection { data, .. } = flow.carrier else { return None };
        let spec = &simulation.scenario.flows[index];
        let stopped = flow.stop.is_some_and(|stop| stop <= change.at);
        let runs = flow.start <= change.at && !stopped && spec.path.contains(&change.link);
        let count = |load: &Load| load.sent_by.get(data).copied().unwrap_or(0);
        let bytes = Bytes(count(loads.1) - count(loads.0));
        runs.then(|| {
            (
                bytes.as_f64(),
                loop_of(&simulation.scenario, (index, flow), change, simulation.timeline.shift),
            )
        })
    });
    let mut shares: Vec<(f64, Duration)> = using.collect();
    if shares.iter().all(|(share, _)| *share == 0.0) {
        shares.iter_mut().for_each(|(share, _)| *share = 1.0);
    }
    shares
}

/// d = d_signal + d_flight of a flow: via the receiver, or twice d_flight for
/// one that the bottleneck itself tells directly.
fn loop_of(
    scenario: &Scenario,
    flow: (usize, &FlowState),
    change: &CapacityChange,
    shift: Duration,
) -> Duration {
    let mut spec = scenario.flows[flow.0].clone();
    if flow.1.direct
        && let Some(place) = spec.path.iter().position(|l| *l == change.link)
    {
        spec.path.truncate(place);
        spec.back = spec.path.clone();
    }
    loop_delay(scenario, &spec, change.at.saturating_sub(shift))
}

/// The greatest loop delay of the flows over a link at a change.
pub(crate) fn greatest_delay(
    scenario: &Scenario,
    flows: &[FlowState],
    change: &CapacityChange,
    shift: Duration,
) -> Duration {
    let over = |(index, flow): (usize, &FlowState)| {
        let uses = scenario.flows[index].path.contains(&change.link);
        uses.then(|| loop_of(scenario, (index, flow), change, shift))
    };
    flows.iter().enumerate().filter_map(over).max().unwrap_or_default()
}
