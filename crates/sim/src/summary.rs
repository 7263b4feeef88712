//! Makes the summary of a finished run.

use sojourn_theory::capacity::{Sender, peak_delay};
use sojourn_theory::spike::{corrected, weighted};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::engine::Simulation;
use crate::link::Link;
use crate::measure::Load;
use crate::outcome::{FlowSummary, LinkSummary, Outcome, RunSummary, SpikeSummary};
use crate::setup::{Carrier, FlowState};
use crate::signal::loop_delay;
use crate::timeline::{CapacityChange, What};

pub(crate) fn outcome(mut simulation: Simulation) -> Outcome {
    for link in &mut simulation.links {
        if let Some(tracker) = link.tracker.take() {
            let place = tracker.index;
            simulation.spikes[place] = Some(tracker);
        }
    }
    let spikes = (0..simulation.spikes.len()).filter_map(|i| spike(&mut simulation, i)).collect();
    let now = simulation.now;
    let summary = RunSummary {
        control: simulation.control.clone(),
        seed: simulation.seed,
        duration_s: simulation.end.as_secs_f64(),
        flows: (0..simulation.flows.len()).map(|i| flow(&simulation, i)).collect(),
        links: simulation.links.iter_mut().map(|l| link(l, now)).collect(),
        spikes,
    };
    Outcome { summary, recorder: simulation.recorder }
}

fn seconds(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e9)
}

fn flow(simulation: &Simulation, index: usize) -> FlowSummary {
    let (state, spec) = (&simulation.flows[index], &simulation.scenario.flows[index]);
    let done = state.application.completed_at;
    let end = done.or(state.stop).unwrap_or(simulation.end).min(simulation.end);
    let received = match done {
        None => state.received_at_stop,
        Some(_) => None,
    };
    let span = end.since(state.start);
    let responses = &state.application.responses;
    let base = FlowSummary {
        name: state.name.clone(),
        control: state.control.clone(),
        goodput_bps: goodput(received.unwrap_or_else(|| simulation.received_bytes(index)), span),
        base_rtt_s: loop_delay(&simulation.scenario, spec, Instant::ZERO).as_secs_f64(),
        rtt_min_s: None,
        rtt_p50_s: None,
        rtt_p99_s: None,
        sent_packets: state.datagrams.sent,
        retransmitted_packets: 0,
        marked_packets: 0,
        dropped_packets: state.datagrams.dropped,
        timeouts: 0,
        completion_s: done.map(|at| at.since(state.start).as_secs_f64()),
        completed_transfers: state.application.completed,
        response_p50_s: seconds(responses.quantile(0.5)),
        response_p99_s: seconds(responses.quantile(0.99)),
    };
    match state.carrier {
        Carrier::Datagrams => base,
        Carrier::Connection { data, .. } => of_connection(base, simulation, data),
    }
}

fn of_connection(base: FlowSummary, simulation: &Simulation, data: usize) -> FlowSummary {
    let connection = &simulation.connections[data];
    let stats = connection.sender.stats();
    FlowSummary {
        rtt_min_s: seconds(connection.rtts.min()),
        rtt_p50_s: seconds(connection.rtts.quantile(0.5)),
        rtt_p99_s: seconds(connection.rtts.quantile(0.99)),
        sent_packets: stats.sent,
        retransmitted_packets: stats.retransmitted,
        marked_packets: connection.receiver.ce_packets(),
        dropped_packets: connection.dropped,
        timeouts: stats.timeouts,
        ..base
    }
}

fn goodput(bytes: u64, span: Duration) -> f64 {
    if span == Duration::ZERO { 0.0 } else { bytes as f64 * 8.0 / span.as_secs_f64() }
}

fn link(link: &mut Link, now: Instant) -> LinkSummary {
    let could = link.could_send_bits(now);
    let sent = link.sent_bits(now) as f64;
    LinkSummary {
        name: link.name.clone(),
        utilisation: could.filter(|bits| *bits > 0.0).map(|bits| sent / bits),
        capacity_bps: could.map(|bits| bits / now.as_secs_f64()),
        queue_delay_p50_s: seconds(link.delays.quantile(0.5)),
        queue_delay_p99_s: seconds(link.delays.quantile(0.99)),
        queue_delay_max_s: seconds(link.delays.max()),
        sent_packets: link.counts.arrived,
        delivered_packets: link.counts.delivered,
        dropped_packets: link.counts.dropped + link.counts.lost,
        marked_packets: link.counts.marked,
    }
}

fn spike(simulation: &mut Simulation, index: usize) -> Option<SpikeSummary> {
    let change = simulation.timeline.capacity_changes[index];
    let tracker = simulation.spikes[index].take()?;
    let (before, at) = simulation.loads[index].clone();
    let (before, at) = (before?, at?);
    let carried = at.rate_since(&before);
    let bounds = Bounds::new(simulation, &change, &before, &at, carried);
    let spike = tracker.spike.map(Duration::as_secs_f64);
    let full = bounds.full.map(Duration::as_secs_f64);
    let (first, last) = neighbours(simulation, index);
    Some(SpikeSummary {
        link: simulation.links[change.link].name.clone(),
        at_s: change.at.as_secs_f64(),
        from_bps: change.from.as_f64(),
        to_bps: change.to.as_f64(),
        spike_s: spike,
        bound_s: full,
        bound_corrected_s: bounds.corrected.map(Duration::as_secs_f64),
        excess_s: spike.zip(full).map(|(spike, bound)| spike - bound),
        duration_s: tracker.duration().map(Duration::as_secs_f64),
        peak_at_s: tracker.peak_at.as_secs_f64(),
        carried_before_bps: carried.as_f64(),
        utilisation_before: at.utilisation_since(&first),
        utilisation_after: last.utilisation_since(&at),
    })
}

/// Loads at the change of the same link before this one (or the start), and at
/// the one after it (or the end).
fn neighbours(simulation: &mut Simulation, index: usize) -> (Load, Load) {
    let link = simulation.timeline.capacity_changes[index].link;
    let at = |place: Option<usize>| place.and_then(|p| simulation.loads[p].1.clone());
    let changes = &simulation.timeline.capacity_changes;
    let last = (0..index).rev().find(|i| changes[*i].link == link);
    let next = (index + 1..changes.len()).find(|i| changes[*i].link == link);
    let (last, next) = (at(last), at(next));
    let start = Load {
        at: Instant::ZERO,
        sent_bits: 0,
        could_send_bits: 0.0,
        waited: (0, 0),
        sent_by: Vec::new(),
    };
    (last.unwrap_or(start), next.unwrap_or_else(|| simulation.load(link)))
}

/// What nobody could avoid (document 000).
struct Bounds {
    full: Option<Duration>,
    corrected: Option<Duration>,
}

impl Bounds {
    fn new(
        simulation: &Simulation,
        change: &CapacityChange,
        before: &Load,
        at: &Load,
        carried: Rate,
    ) -> Bounds {
        let flows = shares(simulation, change, before, at);
        let none = Bounds { full: Some(Duration::ZERO), corrected: Some(Duration::ZERO) };
        if change.to >= change.from {
            return none;
        }
        if change.to == Rate::ZERO {
            return Bounds { full: None, corrected: None };
        }
        let Some(delay) = mean_delay(&flows) else { return none };
        if change.at == change.complete_at {
            let r = change.from.as_f64() / change.to.as_f64();
            let corrected = corrected(carried, change.to, delay).ok();
            return Bounds { full: weighted(&flows, r).ok(), corrected };
        }
        let ramp = |from: Rate| {
            let window = change.complete_at + delay + delay;
            peak_delay(
                &ramp_steps(simulation, change, from),
                delay,
                Sender::Draining,
                change.at,
                window,
            )
        };
        Bounds { full: Some(ramp(change.from)), corrected: Some(ramp(carried.min(change.from))) }
    }
}

/// The capacity through one ramp, at most `from` (what was carried before it).
fn ramp_steps(
    simulation: &Simulation,
    change: &CapacityChange,
    from: Rate,
) -> Vec<(Instant, Rate)> {
    let entries = simulation.timeline.entries.iter();
    let inside = entries.filter_map(|e| match e.what {
        What::Rate(rate)
            if e.link == change.link && e.at >= change.at && e.at <= change.complete_at =>
        {
            Some((e.at, rate.min(from)))
        }
        _ => None,
    });
    [(Instant::ZERO, from)].into_iter().chain(inside).collect()
}

/// Each flow's share of what the link carried before the change, with its
/// loop delay. Equal shares where it carried nothing.
fn shares(
    simulation: &Simulation,
    change: &CapacityChange,
    before: &Load,
    at: &Load,
) -> Vec<(f64, Duration)> {
    let using = simulation.flows.iter().enumerate().filter_map(|(index, flow)| {
        let Carrier::Connection { data, .. } = flow.carrier else { return None };
        let spec = &simulation.scenario.flows[index];
        let runs = spec.start <= change.at && spec.path.contains(&change.link);
        let count = |load: &Load| load.sent_by.get(data).copied().unwrap_or(0);
        let bytes = Bytes(count(at) - count(before));
        runs.then(|| (bytes.as_f64(), loop_of(simulation, flow, index, change)))
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
    simulation: &Simulation,
    flow: &FlowState,
    index: usize,
    change: &CapacityChange,
) -> Duration {
    let mut spec = simulation.scenario.flows[index].clone();
    if flow.direct
        && let Some(place) = spec.path.iter().position(|l| *l == change.link)
    {
        spec.path.truncate(place);
        spec.back = spec.path.clone();
    }
    let written = change.at.saturating_sub(simulation.timeline.shift);
    loop_delay(&simulation.scenario, &spec, written)
}

fn mean_delay(flows: &[(f64, Duration)]) -> Option<Duration> {
    let total: f64 = flows.iter().map(|f| f.0).sum();
    let mean = flows.iter().map(|f| f.0 * f.1.as_secs_f64()).sum::<f64>() / total;
    (total > 0.0).then(|| Duration::from_secs_f64(mean))
}
