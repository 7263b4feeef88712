//! The record of a transfer: its summary and its series, with the keys and the columns of a
//! simulated flow.

use sojourn_cc::{Controller, Pacing};
use sojourn_record::columns::Row;
use sojourn_record::{FlowSample, FlowSummary, rtt_missing_share};
use sojourn_trace::{Histogram, Table};
use sojourn_transport::{EcnCounts, EcnFailure, Stats};
use sojourn_units::{Bytes, Duration, Instant};

use crate::client::Client;
use crate::departures::Departures;
use crate::wire::Receipt;

/// One sample of a connection. Times and rates are `None` while they are unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time since the clock's origin.
    pub at: Instant,
    /// The controller's phase.
    pub phase: &'static str,
    /// Congestion window; `None` if it is unlimited.
    pub cwnd: Option<Bytes>,
    /// Slow-start threshold.
    pub ssthresh: Option<Bytes>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Greatest round-trip time since the last sample.
    pub rtt: Option<Duration>,
    /// Least round-trip time.
    pub min_rtt: Option<Duration>,
    /// The controller's pacing rate in bit/s.
    pub pacing_bps: Option<f64>,
    /// Payload acknowledged since the last sample, in bit/s.
    pub goodput_bps: f64,
    /// The controller's estimate of the fraction of marked packets.
    pub alpha: Option<f64>,
    /// The controller's estimate of the bandwidth in bit/s.
    pub bandwidth_bps: Option<f64>,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Payload acknowledged so far. The simulator counts it at the receiver, half a round trip
    /// earlier.
    pub delivered: Bytes,
    /// The sender's counters so far.
    pub stats: Stats,
    /// Time in which the receive window alone kept data from leaving, so far.
    pub rwnd_limited: Duration,
    /// The reason for which the sender stopped its use of ECN.
    pub ecn_failure: Option<EcnFailure>,
    /// Packets that the receiver has reported with CE so far.
    pub marked_packets: u64,
}

/// Takes samples of a connection.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) samples: Vec<Sample>,
    pub(crate) rtts: Histogram,
    longest: Option<Duration>,
    last_at: Instant,
    last_delivered: u64,
}

impl Recorder {
    pub(crate) fn new(start: Instant) -> Recorder {
        Recorder { last_at: start, ..Recorder::default() }
    }

    /// A sample of the round-trip time.
    pub(crate) fn note_rtt(&mut self, rtt: Duration) {
        self.rtts.record(rtt.0);
        self.longest = self.longest.max(Some(rtt));
    }

    /// Takes a sample.
    pub(crate) fn sample(&mut self, now: Instant, client: &Client) -> &Sample {
        let sender = client.sender();
        let (limits, probe) = (sender.limits(), sender.controller().probe());
        let (stats, delivered) = (sender.stats(), sender.delivered());
        let span = now.since(self.last_at).as_secs_f64();
        let bytes = delivered.0 - std::mem::replace(&mut self.last_delivered, delivered.0);
        self.last_at = now;
        self.samples.push(Sample {
            at: now,
            phase: probe.phase,
            cwnd: Some(sender.cwnd()).filter(|cwnd| cwnd.0 < 1 << 60),
            ssthresh: probe.ssthresh,
            srtt: sender.rtts().map(|(srtt, _)| srtt),
            rtt: self.longest.take(),
            min_rtt: sender.rtts().map(|(_, min)| min),
            pacing_bps: match limits.pacing {
                Pacing::Rate(rate) => Some(rate.as_f64()),
                Pacing::Gap(_) => probe.rate.map(|rate| rate.as_f64()),
                Pacing::Unpaced => None,
            },
            goodput_bps: if span > 0.0 { bytes as f64 * 8.0 / span } else { 0.0 },
            alpha: probe.alpha,
            bandwidth_bps: probe.bandwidth.map(|rate| rate.as_f64()),
            in_flight: sender.in_flight(),
            delivered,
            stats,
            rwnd_limited: sender.rwnd_limited(now),
            ecn_failure: sender.ecn_failure(),
            marked_packets: client.counts().ce,
        });
        &self.samples[self.samples.len() - 1]
    }
}

/// Lateness of paced packets.
#[derive(Clone, Debug, Default)]
pub struct Punctuality {
    /// Keeper of the departure times.
    pub departures: Departures,
    /// From the time of a paced packet until it was given to the kernel, in nanoseconds.
    pub lateness: Histogram,
}

/// The outcome of a transfer.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The summary.
    pub summary: FlowSummary,
    /// The samples, at the interval of the plan.
    pub samples: Vec<Sample>,
    /// The server's receipt, if it arrived.
    pub receipt: Option<Receipt>,
    /// Payload acknowledged until the end of the transfer.
    pub delivered: Bytes,
    /// From the start, including the handshake, until the end.
    pub length: Duration,
    /// Data packets sent, by ECN field.
    pub sent: EcnCounts,
    /// Payload of a full packet: the plan's, or less if the path carries no more.
    pub mss: Bytes,
    /// Lateness of paced packets.
    pub punctuality: Punctuality,
    /// Datagrams that the kernel dropped because the socket's receive buffer was full.
    pub overflows: u32,
    /// Observations that the reader of the figures should know, one line each.
    pub notes: Vec<String>,
}

impl Outcome {
    /// The samples as a table with the columns of a simulated flow.
    pub fn table(&self, seed: u64) -> Table {
        let entry = (self.summary.control.as_str(), seed, self.summary.name.as_str());
        let rows = self.samples.iter().map(Sample::row);
        FlowSample::table(std::iter::repeat_n(entry, self.samples.len()), rows)
    }
}

impl Sample {
    fn row(&self) -> FlowSample {
        let seconds = |span: Option<Duration>| span.map(Duration::as_secs_f64).into();
        FlowSample {
            phase: self.phase,
            t_s: self.at.as_secs_f64(),
            cwnd_bytes: self.cwnd.map(Bytes::as_f64).into(),
            ssthresh_bytes: self.ssthresh.map(Bytes::as_f64).into(),
            srtt_s: seconds(self.srtt),
            rtt_s: seconds(self.rtt),
            min_rtt_s: seconds(self.min_rtt),
            pacing_bps: self.pacing_bps.into(),
            goodput_bps: self.goodput_bps.into(),
            alpha: self.alpha.into(),
            bandwidth_bps: self.bandwidth_bps.into(),
            in_flight_bytes: self.in_flight.0,
            delivered_bytes: self.delivered.0,
            lost_packets: self.stats.lost,
            retransmitted_packets: self.stats.retransmitted,
            marked_packets: self.marked_packets,
            ..FlowSample::default()
        }
    }
}

/// The span of a transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    /// Whether all of the load was delivered.
    pub(crate) is_complete: bool,
    /// Payload acknowledged until its end. The receipt also counts packets in flight at that time.
    pub(crate) delivered: Bytes,
    pub(crate) transfers: u64,
}

/// The summary of a connection that has ended.
pub(crate) fn summary(
    name: &str,
    control: &str,
    client: &Client,
    span: Span,
    receipt: Option<&Receipt>,
    Recorder { rtts, samples, .. }: &Recorder,
) -> FlowSummary {
    let (stats, sender) = (client.sender().stats(), client.sender());
    let limited = sender.rwnd_limited(span.end);
    let length = span.end.since(span.start).as_secs_f64();
    let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    let arrived = receipt.map(|receipt| receipt.packets - receipt.duplicates.min(receipt.packets));
    FlowSummary {
        name: name.to_owned(),
        control: control.to_owned(),
        start_s: span.start.as_secs_f64(),
        goodput_bps: if length > 0.0 { span.delivered.as_f64() * 8.0 / length } else { 0.0 },
        base_rtt_s: sender.rtts().map_or(0.0, |(_, min)| min.as_secs_f64()),
        rtt_min_s: seconds(rtts.min()),
        rtt_p50_s: seconds(rtts.quantile(0.5)),
        rtt_p99_s: seconds(rtts.quantile(0.99)),
        rtt_max_s: seconds(rtts.max()),
        rtt_mean_s: rtts.mean().map(|ns| ns / 1e9),
        rtt_missing_share: rtt_missing_share(samples.iter().map(Sample::row)),
        sent_packets: stats.sent,
        retransmitted_packets: stats.retransmitted,
        spurious_retransmissions: Some(stats.spurious_retransmissions),
        undone_reductions: Some(stats.undone_reductions),
        marked_packets: receipt.map_or(client.counts().ce, |receipt| receipt.counts.ce),
        dropped_packets: arrived.map_or(stats.lost, |arrived| stats.sent.saturating_sub(arrived)),
        timeouts: Some(stats.timeouts),
        rwnd_limited_s: (limited > Duration::ZERO).then(|| limited.as_secs_f64()),
        completion_s: span.is_complete.then_some(length),
        completed_transfers: span.transfers,
        ..FlowSummary::default()
    }
}
