//! Flows with random arrivals: the sum of their transfers in series and summary.

use std::ops::Range;

use sojourn_trace::Histogram;
use sojourn_units::{Duration, Instant};

use super::outcome::{FlowSummary, SizeClass, Transfer};
use super::series::Sum;
use super::summary;
use crate::arrivals::Arrivals;
use crate::host::{AnyHost, Hosts};
use crate::meter::Metering;
use crate::run::Run;
use crate::tap::Tap;

/// Upper ends of the size classes in bytes, except for the last class: those of pFabric (Alizadeh
/// et al. 2013, SIGCOMM) and PIAS (Bai et al. 2015, NSDI).
const CLASSES: [u64; 2] = [100_000, 10_000_000];

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
    pub(super) fn sample<M: Metering, T: Tap>(&mut self, hosts: &mut Hosts<M, T>) -> Sum {
        let now = hosts.net.clock.now;
        while !self.waiting.is_empty() && hosts.flows[self.waiting.start].start <= now {
            self.open.extend(self.waiting.next());
        }
        let mut sum = self.over;
        let (since, over) = (self.sampled_at, &mut self.over);
        self.open.retain(|flow| {
            let Some((one, is_open)) = of_transfer(hosts, *flow, since) else { return false };
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
    hosts: &mut Hosts<M, T>,
    flow: usize,
    since: Instant,
) -> Option<(Sum, bool)> {
    let done = completed_at(hosts, flow);
    let id = hosts.data_connection(flow)?;
    let start = hosts.flows[flow].start;
    let connection = &mut hosts.connections[id];
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
fn completed_at<M: Metering, T: Tap>(hosts: &Hosts<M, T>, flow: usize) -> Option<Instant> {
    match &hosts.flows[flow].host {
        AnyHost::Transport(host) => host.source().transfers().completed_at,
        AnyHost::Outside(_) | AnyHost::Other(_) => None,
    }
}

/// The transfers of a flow at the end of a run.
pub(super) fn list<M: Metering, T: Tap>(
    run: &Run,
    hosts: &Hosts<M, T>,
    (place, flows): (usize, Range<usize>),
) -> Vec<Transfer> {
    flows
        .map(|flow| {
            let start = hosts.flows[flow].start;
            Transfer {
                flow: place,
                start,
                size: run.scenario.flows[flow].source.params().data("size").0,
                completion: completed_at(hosts, flow).map(|at| at.since(start)),
            }
        })
        .collect()
}

/// The summary of a flow with random arrivals. `transfers`: its transfers.
pub(super) fn summarise<M: Metering, T: Tap>(
    run: &Run,
    hosts: &Hosts<M, T>,
    (arrivals, flows): (&Arrivals, Range<usize>),
    transfers: &[Transfer],
) -> FlowSummary {
    let spec = &arrivals.spec;
    let warm = Instant::ZERO + run.scenario.measure_from;
    let measured: Vec<Transfer> =
        transfers.iter().filter(|one| one.start >= warm).cloned().collect();
    let end = spec.stop.unwrap_or(run.end).min(run.end);
    let mut sum = FlowSummary {
        name: spec.name.clone(),
        control: arrivals.control.clone(),
        start_s: spec.start.as_secs_f64(),
        base_rtt_s: run.loops.delays.of_loop(spec, Instant::ZERO).as_secs_f64(),
        completed_transfers: transfers.iter().filter(|one| one.completion.is_some()).count() as u64,
        transfers_by_size: classes(&measured),
        ..FlowSummary::default()
    };
    let (mut received, mut rtts) = (0, Histogram::default());
    for flow in flows {
        received +=
            hosts.flows[flow].received_at_stop.unwrap_or_else(|| hosts.received_bytes(flow));
        let Some(id) = hosts.data_connection(flow) else { continue };
        let connection = &hosts.connections[id];
        let stats = connection.sender.stats();
        sum.sent_packets += stats.sent;
        sum.retransmitted_packets += stats.retransmitted;
        sum.spurious_retransmissions += stats.spurious_retransmissions;
        sum.undone_reductions += stats.undone_reductions;
        sum.marked_packets += connection.receiver.ce_packets();
        sum.dropped_packets += connection.dropped;
        sum.timeouts += stats.timeouts;
        rtts.merge(&connection.rtts);
    }
    sum.goodput_bps = summary::goodput(received, end.since(spec.start));
    summary::with_rtts(sum, &rtts)
}

/// All transfers, and those of each class of sizes that has any.
fn classes(transfers: &[Transfer]) -> Vec<SizeClass> {
    let mut all = vec![class(transfers, 0, None)];
    let ends = CLASSES.into_iter().map(Some).chain([None]);
    let mut from = 0;
    for to in ends {
        all.push(class(transfers, from, to));
        from = to.unwrap_or(from);
    }
    let is_used = |class: &SizeClass| class.started_transfers > 0;
    all.into_iter().enumerate().filter(|(i, c)| *i == 0 || is_used(c)).map(|(_, c)| c).collect()
}

/// The transfers of more than `from` bytes, up to `to` bytes.
fn class(transfers: &[Transfer], from: u64, to: Option<u64>) -> SizeClass {
    let is_inside = |one: &&Transfer| one.size > from && to.is_none_or(|to| one.size <= to);
    let inside: Vec<&Transfer> = transfers.iter().filter(is_inside).collect();
    let mut times: Vec<Duration> = inside.iter().filter_map(|one| one.completion).collect();
    times.sort_unstable();
    let sum: f64 = times.iter().map(|time| time.as_secs_f64()).sum();
    SizeClass {
        from_bytes: from,
        to_bytes: to,
        started_transfers: inside.len() as u64,
        completed_transfers: times.len() as u64,
        completion_p50_s: quantile(&times, 50),
        completion_p95_s: quantile(&times, 95),
        completion_p99_s: quantile(&times, 99),
        completion_mean_s: (!times.is_empty()).then(|| sum / times.len() as f64),
    }
}

/// A percentile by nearest rank, in seconds; `None` without times.
fn quantile(sorted: &[Duration], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).map(|time| time.as_secs_f64())
}
