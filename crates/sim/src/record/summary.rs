//! Makes the summary of a finished run.

use sojourn_scenario as scenario;
use sojourn_trace::Histogram;
use sojourn_transport::{Choice, EcnFailure};
use sojourn_units::{Duration, Instant, Rate};

use super::Record;
use super::load::{Load, utilisation};
use super::media::{EmptyPath, Frames};
use super::outcome::{FlowSummary, LinkSummary, MediaSummary, Outcome, RunSummary, SpikeSummary};
use super::{size_classes, transfers};
use crate::endpoint::media::FrameRow;
use crate::endpoint::outside::Outside;
use crate::endpoint::transport::{Connection, TransportEndpoint};
use crate::endpoint::{AnyEndpoint, Endpoints, Report};
use crate::link::Link;
use crate::link::network::Network;
use crate::meter::Metering;
use crate::run::Run;
use crate::tap::Tap;

/// The outcome of a run that is over.
pub(crate) fn outcome<M: Metering, T: Tap>(
    run: &Run,
    endpoints: &mut Endpoints<M, T>,
    record: Record,
) -> Outcome {
    let now = endpoints.net.clock.now;
    let net = &mut endpoints.net;
    let spikes = (0..record.loads.len()).filter_map(|i| spike(run, net, &record, i)).collect();
    let each = endpoints.net.links.iter_mut().zip(&run.scenario.links);
    let links: Vec<LinkSummary> = each.map(|(l, spec)| link(l, spec, now)).collect();
    let (mut flows, mut all) = (Vec::with_capacity(run.groups.len()), Vec::new());
    let mut frames = Vec::new();
    let mut has_sizes = false;
    for (place, group) in run.groups.iter().enumerate() {
        let (own, list) = match &group.arrivals {
            Some(arrivals) => {
                let members = group.flows.clone();
                let list =
                    transfers::list(run, endpoints, &links, place, arrivals, members.clone());
                (transfers::summarise(run, endpoints, arrivals, members, &list), Some(list))
            }
            None => {
                let index = group.flows.start;
                let list = transfers::of_connection(run, endpoints, &links, place, index);
                let classes = list.as_ref().map(|list| size_classes::of(run, list));
                let transfers_by_size = classes.unwrap_or_default();
                let spec = &run.scenario.flows[index];
                let capacities = &record.capacities;
                let media =
                    media(endpoints, index, EmptyPath { run, spec, links: &links, capacities });
                let media = media.map(|(summary, rows)| {
                    frames.push((place, rows));
                    summary
                });
                (FlowSummary { transfers_by_size, media, ..flow(run, endpoints, index) }, list)
            }
        };
        let begin = Instant::ZERO + run.scenario.measure.from;
        let rtt_missing_share = record.recorder.rtt_missing_share(place, begin);
        flows.push(FlowSummary { rtt_missing_share, ..own });
        has_sizes |= list.is_some();
        all.extend(list.into_iter().flatten());
    }
    let summary = RunSummary {
        control: run.control.clone(),
        seed: run.seed,
        duration_s: run.end.as_secs_f64(),
        measured_from_s: run.scenario.measure.from.as_secs_f64(),
        flows,
        links,
        spikes,
        live: None,
        transfer: None,
    };
    Outcome { summary, recorder: record.recorder, has_sizes, transfers: all, frames }
}

/// The summary of a flow's frames, and the frames, if it has any.
fn media<M: Metering, T: Tap>(
    endpoints: &Endpoints<M, T>,
    index: usize,
    empty: EmptyPath<'_>,
) -> Option<(MediaSummary, Vec<(FrameRow, f64)>)> {
    let state = &endpoints.flows[index];
    let AnyEndpoint::Other(endpoint) = &state.endpoint else { return None };
    let rows = endpoint.report().frames?;
    let end = state.stop.unwrap_or(empty.run.end).min(empty.run.end);
    Some((Frames::new(empty, rows, state.start, end).summary(), empty.with_least(rows)))
}

fn seconds(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e9)
}

fn mean_seconds(of: &Histogram) -> Option<f64> {
    of.mean().map(|ns| ns / 1e9)
}

fn flow<M: Metering, T: Tap>(run: &Run, endpoints: &Endpoints<M, T>, index: usize) -> FlowSummary {
    let (state, spec) = (&endpoints.flows[index], &run.scenario.flows[index]);
    let transfers = match &state.endpoint {
        AnyEndpoint::Transport(endpoint) => endpoint.source().transfers(),
        AnyEndpoint::Outside(endpoint) => endpoint.state().transfers,
        AnyEndpoint::Other(endpoint) => endpoint.report().transfers,
    };
    let done = transfers.completed_at;
    let end = done.or(state.stop).unwrap_or(run.end).min(run.end);
    let received = match done {
        None => state.received_at_stop,
        Some(_) => None,
    };
    let received = received.unwrap_or_else(|| endpoints.received_bytes(index));
    let base = FlowSummary {
        name: state.name.clone(),
        control: state.control.clone(),
        host: spec.systems().filter(|_| state.endpoint.is_simulated()),
        start_s: state.start.as_secs_f64(),
        goodput_bps: goodput(run, received.saturating_sub(state.received_before), state.start, end),
        base_rtt_s: run.loops.delays.of_loop(spec, Instant::ZERO).as_secs_f64(),
        completion_s: done.map(|at| at.since(state.start).as_secs_f64()),
        completed_transfers: transfers.completed,
        ..FlowSummary::default()
    };
    match &state.endpoint {
        AnyEndpoint::Outside(endpoint) => of_outside(base, endpoint),
        AnyEndpoint::Other(endpoint) => of_datagrams(base, &endpoint.report()),
        AnyEndpoint::Transport(endpoint) => {
            of_connection(base, end, endpoint, &endpoints.connections[endpoint.data])
        }
    }
}

fn of_datagrams(base: FlowSummary, report: &Report<'_>) -> FlowSummary {
    let base = report.rtts.map_or_else(|| base.clone(), |rtts| with_rtts(base.clone(), rtts));
    FlowSummary {
        sent_packets: report.sent,
        dropped_packets: report.dropped,
        marked_packets: report.marked,
        ..base
    }
}

fn of_outside(base: FlowSummary, endpoint: &Outside) -> FlowSummary {
    let state = endpoint.state();
    FlowSummary {
        sent_packets: endpoint.sent,
        dropped_packets: endpoint.dropped,
        retransmitted_packets: state.retransmitted,
        spurious_retransmissions: state.spurious_retransmissions,
        undone_reductions: state.undone_reductions,
        timeouts: state.timeouts,
        rwnd_limited_s: positive_seconds(state.rwnd_limited),
        ecn_failure: state.ecn_failure.map(EcnFailure::name),
        marked_packets: endpoint.marked,
        closed: endpoint.closed(),
        ..with_rtts(with_responses(base, &endpoint.responses), &endpoint.rtts)
    }
}

fn of_connection<M: Metering>(
    base: FlowSummary,
    end: Instant,
    endpoint: &TransportEndpoint,
    connection: &Connection<M>,
) -> FlowSummary {
    let stats = connection.sender.stats();
    FlowSummary {
        sent_packets: stats.sent,
        retransmitted_packets: stats.retransmitted,
        spurious_retransmissions: Some(stats.spurious_retransmissions),
        undone_reductions: Some(stats.undone_reductions),
        marked_packets: connection.receiver.ce_packets(),
        dropped_packets: connection.dropped,
        timeouts: Some(stats.timeouts),
        rwnd_limited_s: positive_seconds(connection.sender.rwnd_limited(end)),
        ecn_failure: connection.sender.ecn_failure().map(EcnFailure::name),
        ..with_rtts(with_responses(base, &endpoint.responses), &connection.rtts)
    }
}

/// A time in seconds; `None` for zero.
pub(super) fn positive_seconds(span: Duration) -> Option<f64> {
    (span > Duration::ZERO).then(|| span.as_secs_f64())
}

fn with_responses(base: FlowSummary, responses: &Histogram) -> FlowSummary {
    FlowSummary {
        response_p50_s: seconds(responses.quantile(0.5)),
        response_p99_s: seconds(responses.quantile(0.99)),
        response_mean_s: mean_seconds(responses),
        ..base
    }
}

pub(super) fn with_rtts(base: FlowSummary, rtts: &Histogram) -> FlowSummary {
    FlowSummary {
        rtt_min_s: seconds(rtts.min()),
        rtt_p50_s: seconds(rtts.quantile(0.5)),
        rtt_p99_s: seconds(rtts.quantile(0.99)),
        rtt_max_s: seconds(rtts.max()),
        rtt_mean_s: mean_seconds(rtts),
        ..base
    }
}

/// Goodput of `bytes` from the start of a flow, or from the later end of the warm-up, to `end`.
pub(super) fn goodput(run: &Run, bytes: u64, start: Instant, end: Instant) -> f64 {
    let span = end.since(start.max(Instant::ZERO + run.scenario.measure.from));
    if span == Duration::ZERO { 0.0 } else { bytes as f64 * 8.0 / span.as_secs_f64() }
}

fn link<M: Metering>(link: &mut Link<M>, spec: &scenario::Link, now: Instant) -> LinkSummary {
    let could = link.could_send_bits(now);
    debug_assert!(
        link.is_observed()
            || could.is_none_or(|could| link.sent_bits(now) <= could * (1.0 + 1e-6) + 1.0),
        "more than the capacity"
    );
    let utilisation = could.and_then(|could| {
        let before = link.warm_up;
        utilisation(link.sent_bits(now) - before.sent_bits, could - before.could_send_bits)
    });
    let reordered_packets = link.reordered();
    // Sends the packets that are left, so that it comes last.
    let longest_left = link.longest_wait_left(now).map(|wait| wait.0);
    LinkSummary {
        name: link.name.clone(),
        utilisation,
        capacity_bps: could.map(|bits| bits / now.as_secs_f64()),
        queue_delay_p50_s: seconds(link.delays.quantile(0.5)),
        queue_delay_p99_s: seconds(link.delays.quantile(0.99)),
        queue_delay_max_s: seconds(link.delays.max().max(longest_left)),
        arrived_packets: link.counts.arrived,
        delivered_packets: link.counts.delivered,
        dropped_packets: link.counts.dropped + link.counts.lost,
        marked_packets: link.counts.marked,
        duplicated_packets: link.counts.duplicated,
        reordered_packets,
        warning: spec.warning(),
    }
}

fn spike<M: Metering>(
    run: &Run,
    net: &mut Network<M>,
    record: &Record,
    index: usize,
) -> Option<SpikeSummary> {
    let change = run.timeline.capacity_changes[index];
    let trackers = &net.links[change.link].trackers;
    let place = trackers.binary_search_by_key(&index, |tracker| tracker.index).ok()?;
    let tracker = trackers[place].clone();
    let loads = record.loads[index].clone();
    let (before, at, bounds) = (loads.before?, loads.at?, loads.bounds?);
    let loop_before = loads.loop_before.unwrap_or_else(|| at.clone());
    let carried = at.rate_since(&loop_before);
    let spike = tracker.spike.map(Duration::as_secs_f64);
    let bound = bounds.bound.map(Duration::as_secs_f64);
    // A rise in capacity causes no queue, so a wait after it is not its spike.
    let falls = change.to < change.from;
    let excess = spike.zip(bound).map(|(spike, bound)| spike - bound).filter(|_| falls);
    let is_last = change.next_at >= Instant::ZERO + run.scenario.duration;
    let is_empty = is_last && net.links[change.link].backlog().packets == 0;
    let (first, last) = neighbours(run, net, record, index);
    Some(SpikeSummary {
        link: net.links[change.link].name.clone(),
        at_s: change.at.as_secs_f64(),
        complete_at_s: change.complete_at.as_secs_f64(),
        from_bps: change.from.as_f64(),
        to_bps: change.to.as_f64(),
        spike_s: spike,
        bound_s: bound,
        bound_lost_fraction: bounds.lost_fraction,
        excess_s: excess,
        recovery_s: tracker.recovery(is_empty).map(Duration::as_secs_f64),
        peak_at_s: tracker.peak_at.as_secs_f64(),
        queue_delay_before_s: tracker.before.as_secs_f64(),
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
fn neighbours<M: Metering>(
    run: &Run,
    net: &mut Network<M>,
    record: &Record,
    index: usize,
) -> (Load, Load) {
    let changes = &run.timeline.capacity_changes;
    let link = changes[index].link;
    let at = |place: Option<usize>| {
        let place = place.filter(|i| changes.get(*i).is_some_and(|c| c.link == link))?;
        record.loads[place].at.clone()
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
    (last.unwrap_or(start), next.unwrap_or_else(|| Load::of(net, link)))
}
