//! Makes the summary of a finished run.

use sojourn_trace::Histogram;
use sojourn_units::{Duration, Instant, Rate};

use crate::engine::Simulation;
use crate::link::Link;
use crate::measure::{Load, utilisation};
use crate::meter::Metering;
use crate::outcome::{FlowSummary, LinkSummary, Outcome, RunSummary, SpikeSummary};
use crate::setup::Carrier;

pub(crate) fn outcome<M: Metering>(mut simulation: Simulation<M>) -> Outcome {
    let spikes = (0..simulation.loads.len()).filter_map(|i| spike(&mut simulation, i)).collect();
    let now = simulation.clock.now;
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

fn mean_seconds(of: &Histogram) -> Option<f64> {
    of.mean().map(|ns| ns / 1e9)
}

fn flow<M: Metering>(simulation: &Simulation<M>, index: usize) -> FlowSummary {
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
        start_s: state.start.as_secs_f64(),
        goodput_bps: goodput(received.unwrap_or_else(|| simulation.received_bytes(index)), span),
        base_rtt_s: simulation.loops.delays.of_loop(spec, Instant::ZERO).as_secs_f64(),
        rtt_min_s: None,
        rtt_p50_s: None,
        rtt_p99_s: None,
        rtt_max_s: None,
        rtt_mean_s: None,
        sent_packets: state.datagrams.sent,
        retransmitted_packets: 0,
        spurious_retransmissions: 0,
        undone_reductions: 0,
        marked_packets: 0,
        dropped_packets: state.datagrams.dropped,
        timeouts: 0,
        completion_s: done.map(|at| at.since(state.start).as_secs_f64()),
        completed_transfers: state.application.completed,
        response_p50_s: seconds(responses.quantile(0.5)),
        response_p99_s: seconds(responses.quantile(0.99)),
        response_mean_s: mean_seconds(responses),
    };
    match state.carrier {
        Carrier::Datagrams => match &state.echo {
            None => base,
            Some(echo) => {
                FlowSummary { completed_transfers: echo.replies, ..with_rtts(base, &echo.rtts) }
            }
        },
        Carrier::Connection { data, .. } => of_connection(base, simulation, data),
    }
}

fn of_connection<M: Metering>(
    base: FlowSummary,
    simulation: &Simulation<M>,
    data: usize,
) -> FlowSummary {
    let connection = &simulation.connections[data];
    let stats = connection.sender.stats();
    FlowSummary {
        sent_packets: stats.sent,
        retransmitted_packets: stats.retransmitted,
        spurious_retransmissions: stats.spurious_retransmissions,
        undone_reductions: stats.undone_reductions,
        marked_packets: connection.receiver.ce_packets(),
        dropped_packets: connection.dropped,
        timeouts: stats.timeouts,
        ..with_rtts(base, &connection.rtts)
    }
}

fn with_rtts(base: FlowSummary, rtts: &Histogram) -> FlowSummary {
    FlowSummary {
        rtt_min_s: seconds(rtts.min()),
        rtt_p50_s: seconds(rtts.quantile(0.5)),
        rtt_p99_s: seconds(rtts.quantile(0.99)),
        rtt_max_s: seconds(rtts.max()),
        rtt_mean_s: mean_seconds(rtts),
        ..base
    }
}

fn goodput(bytes: u64, span: Duration) -> f64 {
    if span == Duration::ZERO { 0.0 } else { bytes as f64 * 8.0 / span.as_secs_f64() }
}

fn link<M: Metering>(link: &mut Link<M>, now: Instant) -> LinkSummary {
    let could = link.could_send_bits(now);
    LinkSummary {
        name: link.name.clone(),
        utilisation: could.and_then(|could| utilisation(link.sent_bits(now), could)),
        capacity_bps: could.map(|bits| bits / now.as_secs_f64()),
        queue_delay_p50_s: seconds(link.delays.quantile(0.5)),
        queue_delay_p99_s: seconds(link.delays.quantile(0.99)),
        queue_delay_max_s: seconds(link.delays.max()),
        arrived_packets: link.counts.arrived,
        delivered_packets: link.counts.delivered,
        dropped_packets: link.counts.dropped + link.counts.lost,
        marked_packets: link.counts.marked,
        duplicated_packets: link.counts.duplicated,
        reordered_packets: link.reordered(),
    }
}

fn spike<M: Metering>(simulation: &mut Simulation<M>, index: usize) -> Option<SpikeSummary> {
    let change = simulation.timeline.capacity_changes[index];
    let trackers = &simulation.links[change.link].trackers;
    let place = trackers.binary_search_by_key(&index, |tracker| tracker.index).ok()?;
    let tracker = trackers[place].clone();
    let loads = simulation.loads[index].clone();
    let (before, at, bounds) = (loads.before?, loads.at?, loads.bounds?);
    let loop_before = loads.loop_before.unwrap_or_else(|| at.clone());
    let carried = at.rate_since(&loop_before);
    let spike = tracker.spike.map(Duration::as_secs_f64);
    let full = bounds.full.map(Duration::as_secs_f64);
    let corrected = bounds.corrected.map(Duration::as_secs_f64);
    // A rise in capacity causes no queue, so a wait after it is not its spike.
    let falls = change.to < change.from;
    let over = |bound: Option<f64>| Some(spike? - bound?).filter(|_| falls);
    let (first, last) = neighbours(simulation, index);
    Some(SpikeSummary {
        link: simulation.links[change.link].name.clone(),
        at_s: change.at.as_secs_f64(),
        from_bps: change.from.as_f64(),
        to_bps: change.to.as_f64(),
        spike_s: spike,
        bound_s: full,
        bound_corrected_s: corrected,
        bound_lost_fraction: bounds.lost_fraction,
        excess_s: over(full),
        excess_corrected_s: over(corrected),
        duration_s: tracker.duration().map(Duration::as_secs_f64),
        peak_at_s: tracker.peak_at.as_secs_f64(),
        carried_before_bps: at.rate_since(&before).as_f64(),
        loop_s: at.at.since(loop_before.at).as_secs_f64(),
        carried_loop_bps: carried.as_f64(),
        offered_loop_bps: loads.loop_after.and_then(|l| l.offered_since(&at)).map(Rate::as_f64),
        dropped_to_peak_packets: tracker.dropped.saturating_sub(at.dropped),
        utilisation_before: at.utilisation_since(&first),
        utilisation_after: last.utilisation_since(&at),
    })
}

/// Loads at the previous change of the same link (or the start), and at the next one (or the end).
/// The changes of a link are adjacent.
fn neighbours<M: Metering>(simulation: &mut Simulation<M>, index: usize) -> (Load, Load) {
    let link = simulation.timeline.capacity_changes[index].link;
    let changes = &simulation.timeline.capacity_changes;
    let at = |place: Option<usize>| {
        let place = place.filter(|i| changes.get(*i).is_some_and(|c| c.link == link))?;
        simulation.loads[place].at.clone()
    };
    let (last, next) = (at(index.checked_sub(1)), at(Some(index + 1)));
    let start = Load {
        at: Instant::ZERO,
        arrived_bits: 0,
        dropped: 0,
        sent_bits: 0.0,
        could_send_bits: 0.0,
        waited: (0, 0),
    };
    (last.unwrap_or(start), next.unwrap_or_else(|| simulation.load(link)))
}
