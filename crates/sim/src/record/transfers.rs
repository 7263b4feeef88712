//! Transfers with sizes from a distribution or in batches: their list, and the sum of random arrivals
//! in series and summary.

use std::ops::Range;

use sojourn_scenario::source::SizedTransfer;
use sojourn_trace::Histogram;
use sojourn_units::{Duration, Instant};

use super::empty_path::EmptyPath;
use super::outcome::{FlowSummary, LinkSummary, Transfer};
use super::series::Sum;
use super::{size_classes, summary};
use crate::arrivals::Arrivals;
use crate::endpoint::{AnyEndpoint, Endpoints};
use crate::meter::Metering;
use crate::run::Run;
use crate::tap::Tap;

/// The transfers of a flow during the run. A sample visits only those in progress.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    /// Transfers that have not started.
    waiting: Range<usize>,
    /// Transfers in progress.
    open: Vec<usize>,
    /// Counts of the transfers that are over.
    over: Sum,
    /// Time of the last sample.
    sampled_at: Instant,
}

impl Progress {
    pub(super) fn new(flows: Range<usize>) -> Progress {
        Progress {
            waiting: flows,
            open: Vec::new(),
            over: Sum::default(),
            sampled_at: Instant::ZERO,
        }
    }

    /// The sum of all transfers since the last sample.
    pub(super) fn sample<M: Metering, T: Tap>(&mut self, endpoints: &mut Endpoints<M, T>) -> Sum {
        let now = endpoints.net.clock.now;
        while !self.waiting.is_empty() && endpoints.flows[self.waiting.start].start <= now {
            self.open.extend(self.waiting.next());
        }
        let mut sum = self.over;
        let (since, over) = (self.sampled_at, &mut self.over);
        self.open.retain(|flow| {
            let Some((one, is_open)) = of_transfer(endpoints, *flow, since) else { return false };
            sum.add(&one);
            if !is_open {
                over.add_counts(&one);
            }
            is_open
        });
        self.sampled_at = now;
        sum
    }
}

/// State of one transfer, and whether it is in progress: its sender has data to send, or waits for
/// an acknowledgement. `since`: the time of the last sample.
fn of_transfer<M: Metering, T: Tap>(
    endpoints: &mut Endpoints<M, T>,
    flow: usize,
    since: Instant,
) -> Option<(Sum, bool)> {
    let done = completed_at(endpoints, flow);
    let id = endpoints.data_connection(flow)?;
    let start = endpoints.flows[flow].start;
    let connection = &mut endpoints.connections[id];
    let in_flight = connection.sender.in_flight().0;
    let stats = connection.sender.stats();
    let is_open = done.is_none() || in_flight > 0;
    let sum = Sum {
        cwnd: if done.is_none() { connection.sender.cwnd().0 } else { 0 },
        rtt: connection.longest_rtt.take(),
        min_rtt: connection.sender.rtts().map(|(_, min)| min),
        completion: done.filter(|at| *at > since).map(|at| at.since(start)),
        in_flight,
        received: connection.receiver.received_bytes(),
        lost: stats.lost,
        retransmitted: stats.retransmitted,
        marked: connection.receiver.ce_packets(),
    };
    Some((sum, is_open))
}

/// Time of the delivery of a transfer's last byte.
fn completed_at<M: Metering, T: Tap>(endpoints: &Endpoints<M, T>, flow: usize) -> Option<Instant> {
    match &endpoints.flows[flow].endpoint {
        AnyEndpoint::Transport(endpoint) => endpoint.source().transfers().completed_at,
        AnyEndpoint::Outside(_) | AnyEndpoint::Other(_) => None,
    }
}

/// The transfers of a flow with random arrivals at the end of a run. `arrivals`: the flow as
/// written; `flows`: its transfers.
pub(super) fn list<M: Metering, T: Tap>(
    run: &Run,
    endpoints: &Endpoints<M, T>,
    links: &[LinkSummary],
    place: usize,
    arrivals: &Arrivals,
    flows: Range<usize>,
) -> Vec<Transfer> {
    let path = EmptyPath::new(run, &arrivals.spec, links);
    let transfer = |flow: usize| {
        let start = endpoints.flows[flow].start;
        let size = run.scenario.flows[flow].source.params().data("size").0;
        let completion = completed_at(endpoints, flow).map(|at| at.since(start));
        let slowdown = path.slowdown(start, size, completion);
        Transfer { flow: place, start, size, completion, slowdown }
    };
    flows.map(transfer).collect()
}

/// The transfers of a flow with one connection; `None` if its source does not list them.
pub(super) fn of_connection<M: Metering, T: Tap>(
    run: &Run,
    endpoints: &Endpoints<M, T>,
    links: &[LinkSummary],
    place: usize,
    flow: usize,
) -> Option<Vec<Transfer>> {
    if !run.scenario.flows[flow].source.lists_transfers() {
        return None;
    }
    let transfers = match &endpoints.flows[flow].endpoint {
        AnyEndpoint::Transport(endpoint) => endpoint.source().sized_transfers(),
        AnyEndpoint::Outside(endpoint) => endpoint.sized_transfers(),
        AnyEndpoint::Other(_) => return None,
    };
    let path = EmptyPath::new(run, &run.scenario.flows[flow], links);
    let transfer = |one: SizedTransfer| {
        let SizedTransfer { start, size, completion } = one;
        let slowdown = path.slowdown(start, size, completion);
        Transfer { flow: place, start, size, completion, slowdown }
    };
    Some(transfers.into_iter().map(transfer).collect())
}

/// The summary of a flow with random arrivals. `transfers`: its transfers.
pub(super) fn summarise<M: Metering, T: Tap>(
    run: &Run,
    endpoints: &Endpoints<M, T>,
    arrivals: &Arrivals,
    flows: Range<usize>,
    transfers: &[Transfer],
) -> FlowSummary {
    let spec = &arrivals.spec;
    let end = spec.stop.unwrap_or(run.end).min(run.end);
    let mut sum = FlowSummary {
        name: spec.name.clone(),
        control: arrivals.control.clone(),
        host: spec.systems(),
        start_s: spec.start.as_secs_f64(),
        base_rtt_s: run.loops.delays.of_loop(spec, Instant::ZERO).as_secs_f64(),
        completed_transfers: transfers.iter().filter(|one| one.completion.is_some()).count() as u64,
        transfers_by_size: size_classes::of(run, transfers),
        ..FlowSummary::default()
    };
    let (mut received, mut rtts) = (0, Histogram::default());
    let mut rwnd_limited = Duration::ZERO;
    for flow in flows {
        let state = &endpoints.flows[flow];
        let all = state.received_at_stop.unwrap_or_else(|| endpoints.received_bytes(flow));
        received += all.saturating_sub(state.received_before);
        let Some(id) = endpoints.data_connection(flow) else { continue };
        let connection = &endpoints.connections[id];
        let stats = connection.sender.stats();
        sum.sent_packets += stats.sent;
        sum.retransmitted_packets += stats.retransmitted;
        *sum.spurious_retransmissions.get_or_insert(0) += stats.spurious_retransmissions;
        *sum.undone_reductions.get_or_insert(0) += stats.undone_reductions;
        sum.marked_packets += connection.receiver.ce_packets();
        sum.dropped_packets += connection.dropped;
        *sum.timeouts.get_or_insert(0) += stats.timeouts;
        rwnd_limited += connection.sender.rwnd_limited(end);
        rtts.merge(&connection.rtts);
    }
    sum.goodput_bps = summary::goodput(run, received, spec.start, end);
    sum.rwnd_limited_s = summary::positive_seconds(rwnd_limited);
    summary::with_rtts(sum, &rtts)
}
