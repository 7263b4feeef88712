//! Series: for each sample, one row for every flow and every link.

use sojourn_cc::{Controller, Pacing};
use sojourn_record::columns::Row;
use sojourn_record::{FlowSample, LinkSample, Maybe};
use sojourn_trace::Table;
use sojourn_units::{Bytes, Duration, Instant, Rate};

#[cfg(not(target_family = "wasm"))]
use super::outcome::{Outcome, RunSummary};
use crate::endpoint::Endpoint;
use crate::endpoint::outside::{Outside, RemoteState};
use crate::endpoint::transport::Connection;
use crate::link::Link;
use crate::meter::Metering;
use crate::peak::Reader;

/// An unlimited window counts as no value.
fn window(cwnd: Bytes) -> Maybe {
    if cwnd.0 < 1 << 60 { cwnd.as_f64().into() } else { Maybe::NONE }
}

/// Samples of all flows, or of all links. They are stored by row, because one stream of memory is
/// faster to write than one for each column. The columns are made at the end.
#[derive(Clone, Debug)]
pub(crate) struct Series<R> {
    names: Vec<String>,
    /// For each sample, one row per name, in order.
    rows: Vec<R>,
}

impl<R: Row> Series<R> {
    fn new(names: Vec<String>) -> Series<R> {
        Series { names, rows: Vec::new() }
    }

    /// The name of each row.
    fn row_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.names.iter().map(String::as_str).cycle().take(self.rows.len())
    }

    /// The names and the columns, without the first `from` samples.
    fn samples(&self, from: usize) -> Table {
        let first = from.saturating_mul(self.names.len()).min(self.rows.len());
        let mut table = Table::new();
        R::add_named(&mut table, self.row_names().skip(first), self.rows[first..].iter().copied());
        table
    }
}

/// The state of several transfers, summed up for one row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    /// Congestion windows of the transfers that are not complete, in bytes.
    pub(super) cwnd: u64,
    /// Greatest round-trip time since the last sample.
    pub(super) rtt: Option<Duration>,
    /// Least round-trip time.
    pub(super) min_rtt: Option<Duration>,
    /// Greatest completion time of those that were completed since the last sample.
    pub(super) completion: Option<Duration>,
    pub(super) in_flight: u64,
    pub(super) received: u64,
    pub(super) lost: u64,
    pub(super) retransmitted: u64,
    pub(super) marked: u64,
}

impl Sum {
    /// Adds a transfer.
    pub(super) fn add(&mut self, one: &Sum) {
        let least = [self.min_rtt, one.min_rtt].into_iter().flatten().min();
        self.cwnd = self.cwnd.saturating_add(one.cwnd);
        self.rtt = self.rtt.max(one.rtt);
        self.min_rtt = least;
        self.completion = self.completion.max(one.completion);
        self.in_flight += one.in_flight;
        self.add_counts(one);
    }

    /// Adds the counts of a transfer that is over.
    pub(super) fn add_counts(&mut self, one: &Sum) {
        self.received += one.received;
        self.lost += one.lost;
        self.retransmitted += one.retransmitted;
        self.marked += one.marked;
    }
}

fn seconds(span: Option<Duration>) -> Maybe {
    span.map(Duration::as_secs_f64).into()
}

/// The series of a run.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) interval: Duration,
    pub(crate) flows: Series<FlowSample>,
    pub(crate) links: Series<LinkSample>,
    last_at: Instant,
    last_received: Vec<u64>,
    last_sent_bits: Vec<f64>,
    last_could_send: Vec<f64>,
    /// Sum in nanoseconds and number of the waits of each link at the last sample.
    last_waited: Vec<(u64, u64)>,
}

impl Recorder {
    /// A recorder for flows and links of these names.
    pub(crate) fn new(interval: Duration, flows: Vec<String>, links: Vec<String>) -> Recorder {
        Recorder {
            interval,
            last_at: Instant::ZERO,
            last_received: vec![0; flows.len()],
            last_sent_bits: vec![0.0; links.len()],
            last_could_send: vec![0.0; links.len()],
            last_waited: vec![(0, 0); links.len()],
            flows: Series::new(flows),
            links: Series::new(links),
        }
    }

    /// The samples of the flows, without the first `from` ones.
    pub(crate) fn flow_samples(&self, from: usize) -> Table {
        self.flows.samples(from)
    }

    /// [`FlowSummary::rtt_missing_share`](sojourn_record::FlowSummary) of a flow, since `from`.
    pub(super) fn rtt_missing_share(&self, flow: usize, from: Instant) -> Option<f64> {
        let own = self.flows.rows.iter().skip(flow).step_by(self.flows.names.len());
        let measured = own.copied().filter(|row| row.t_s > from.as_secs_f64());
        sojourn_record::rtt_missing_share(measured)
    }

    /// The samples of the links, without the first `from` ones.
    pub(crate) fn link_samples(&self, from: usize) -> Table {
        self.links.samples(from)
    }

    /// Begins a sample and returns the seconds since the last one. The caller then adds one row for
    /// each flow and each link, in order.
    pub(crate) fn begin(&mut self, now: Instant) -> f64 {
        let span = now.since(self.last_at).as_secs_f64();
        self.last_at = now;
        span
    }

    fn goodput(&mut self, flow: usize, received: u64, span: f64) -> Maybe {
        let bytes = received - std::mem::replace(&mut self.last_received[flow], received);
        (bytes as f64 * 8.0 / span).into()
    }

    pub(crate) fn flow<M: Metering>(
        &mut self,
        span: f64,
        place: usize,
        connection: &mut Connection<M>,
        response: Option<Duration>,
    ) {
        let sender = &connection.sender;
        let probe = sender.controller().probe();
        let delivered_bytes = connection.receiver.received_bytes();
        let stats = sender.stats();
        let pacing = match sender.limits().pacing {
            Pacing::Rate(rate) => Some(rate),
            // The gap of one packet does not give the others; the controller knows their mean.
            Pacing::Gap(_) => probe.rate,
            Pacing::Unpaced => None,
        };
        let row = FlowSample {
            phase: probe.phase,
            t_s: self.last_at.as_secs_f64(),
            cwnd_bytes: window(sender.cwnd()),
            ssthresh_bytes: probe.ssthresh.map(Bytes::as_f64).into(),
            srtt_s: seconds(sender.rtts().map(|(srtt, _)| srtt)),
            // The maximum of the interval, so that no peak falls between two samples.
            rtt_s: seconds(connection.longest_rtt.take()),
            min_rtt_s: seconds(sender.rtts().map(|(_, min)| min)),
            pacing_bps: pacing.map(Rate::as_f64).into(),
            goodput_bps: self.goodput(place, delivered_bytes, span),
            alpha: probe.alpha.into(),
            bandwidth_bps: probe.bandwidth.map(Rate::as_f64).into(),
            response_s: seconds(response),
            in_flight_bytes: sender.in_flight().0,
            delivered_bytes,
            lost_packets: stats.lost,
            retransmitted_packets: stats.retransmitted,
            marked_packets: connection.receiver.ce_packets(),
        };
        self.flows.rows.push(row);
    }

    /// A flow with random arrivals has the sum of its transfers. Its `response_s` is the greatest
    /// completion time of the interval.
    pub(super) fn transfers(&mut self, span: f64, place: usize, sum: &Sum) {
        let row = FlowSample {
            t_s: self.last_at.as_secs_f64(),
            cwnd_bytes: if sum.cwnd > 0 { window(Bytes(sum.cwnd)) } else { Maybe::NONE },
            rtt_s: seconds(sum.rtt),
            min_rtt_s: seconds(sum.min_rtt),
            goodput_bps: self.goodput(place, sum.received, span),
            response_s: seconds(sum.completion),
            in_flight_bytes: sum.in_flight,
            delivered_bytes: sum.received,
            lost_packets: sum.lost,
            retransmitted_packets: sum.retransmitted,
            marked_packets: sum.marked,
            ..FlowSample::default()
        };
        self.flows.rows.push(row);
    }

    /// A flow without a connection has no window, unless its host has a sender with a controller;
    /// it may measure round-trip times, and delays of frames.
    pub(crate) fn datagrams(&mut self, span: f64, place: usize, endpoint: &mut dyn Endpoint) {
        let response = endpoint.take_longest_response();
        let rtt = endpoint.take_longest_rtt();
        if let Some(state) = endpoint.state() {
            return self.state(span, place, &state, rtt, response);
        }
        let delivered_bytes = endpoint.report().received_bytes;
        let row = FlowSample {
            t_s: self.last_at.as_secs_f64(),
            rtt_s: seconds(rtt),
            goodput_bps: self.goodput(place, delivered_bytes, span),
            response_s: seconds(response),
            delivered_bytes,
            ..FlowSample::default()
        };
        self.flows.rows.push(row);
    }

    /// A flow whose hosts are outside the simulation reports its own state.
    pub(crate) fn outside(&mut self, span: f64, place: usize, endpoint: &mut Outside) {
        endpoint.collect_times();
        let (state, rtt) = (endpoint.state(), endpoint.longest_rtt.take());
        let response = endpoint.longest_response.take();
        self.state(span, place, &state, rtt, response);
    }

    /// The row of a sender that reports its state.
    fn state(
        &mut self,
        span: f64,
        place: usize,
        state: &RemoteState,
        rtt: Option<Duration>,
        response: Option<Duration>,
    ) {
        let row = FlowSample {
            phase: state.phase,
            t_s: self.last_at.as_secs_f64(),
            cwnd_bytes: state.cwnd.map_or(Maybe::NONE, window),
            ssthresh_bytes: state.ssthresh.map_or(Maybe::NONE, window),
            srtt_s: seconds(state.srtt),
            rtt_s: seconds(rtt),
            min_rtt_s: seconds(state.min_rtt),
            pacing_bps: state.pacing.map(Rate::as_f64).into(),
            goodput_bps: self.goodput(place, state.received_bytes, span),
            alpha: state.alpha.into(),
            bandwidth_bps: state.bandwidth.map(Rate::as_f64).into(),
            response_s: seconds(response),
            in_flight_bytes: state.in_flight.0,
            delivered_bytes: state.received_bytes,
            lost_packets: state.lost,
            retransmitted_packets: state.retransmitted,
            marked_packets: state.marked,
        };
        self.flows.rows.push(row);
    }

    pub(crate) fn link<M: Metering>(
        &mut self,
        now: Instant,
        span: f64,
        place: usize,
        link: &mut Link<M>,
    ) {
        let sent = link.sent_bits(now);
        let bits = sent - std::mem::replace(&mut self.last_sent_bits[place], sent);
        let capacity = link.could_send_bits(now).map(|could| {
            (could - std::mem::replace(&mut self.last_could_send[place], could)) / span
        });
        let backlog = link.backlog();
        // If no packet left the queue, its delay is unknown, not zero.
        let (sum, count) = link.waited();
        let (last_sum, last_count) = std::mem::replace(&mut self.last_waited[place], (sum, count));
        let packets = (count - last_count) as f64;
        let mean = (packets > 0.0).then(|| (sum - last_sum) as f64 / packets / 1e9);
        self.links.rows.push(LinkSample {
            t_s: now.as_secs_f64(),
            capacity_bps: capacity.into(),
            carried_bps: (bits / span).into(),
            queue_delay_s: seconds(link.counts.longest_wait.take(Reader::Series)),
            queue_delay_mean_s: mean.into(),
            queue_bytes: backlog.bytes.0,
            queue_packets: backlog.packets,
            dropped_packets: link.counts.dropped + link.counts.lost,
            marked_packets: link.counts.marked,
        });
    }
}

/// The samples of the flows of several runs as one table.
#[cfg(not(target_family = "wasm"))]
pub(super) fn flows(outcomes: &[&Outcome]) -> Table {
    table(outcomes.iter().map(|outcome| (&outcome.summary, &outcome.recorder.flows)))
}

/// The samples of the links of several runs as one table.
#[cfg(not(target_family = "wasm"))]
pub(super) fn links(outcomes: &[&Outcome]) -> Table {
    table(outcomes.iter().map(|outcome| (&outcome.summary, &outcome.recorder.links)))
}

#[cfg(not(target_family = "wasm"))]
fn table<'a, R: Row + 'a>(
    all: impl Iterator<Item = (&'a RunSummary, &'a Series<R>)> + Clone,
) -> Table {
    let entries = all.clone().flat_map(|(run, series)| {
        series.row_names().map(|name| (run.control.as_str(), run.seed, name))
    });
    R::table(entries, all.flat_map(|(_, series)| series.rows.iter().copied()))
}
