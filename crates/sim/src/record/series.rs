//! Series: for each sample, one row for every flow and every link.

use sojourn_cc::{Controller, Pacing};
use sojourn_trace::{Table, Text};
use sojourn_units::{Bytes, Duration, Instant};

#[cfg(not(target_family = "wasm"))]
use super::outcome::Outcome;
use crate::endpoint::Endpoint;
use crate::endpoint::outside::{Outside, RemoteState};
use crate::endpoint::transport::Connection;
use crate::link::Link;
use crate::meter::Metering;
use crate::peak::Reader;

/// An unlimited window counts as no value.
fn window(cwnd: Bytes) -> f64 {
    if cwnd.0 < 1 << 60 { cwnd.as_f64() } else { NONE }
}

/// One sample of a flow or a link.
#[derive(Clone, Copy, Debug)]
struct Row<const F: usize, const C: usize> {
    /// The phase of a flow's controller.
    phase: &'static str,
    floats: [f64; F],
    counts: [u64; C],
}

/// Samples of all flows, or of all links. They are stored by row, because one stream of memory is
/// faster to write than one for each column. The columns are made at the end.
#[derive(Clone, Debug)]
pub(crate) struct Series<const F: usize, const C: usize> {
    names: Vec<String>,
    /// Times of the samples, in seconds.
    times: Vec<f64>,
    /// For each sample, one row per name, in order.
    rows: Vec<Row<F, C>>,
}

impl<const F: usize, const C: usize> Series<F, C> {
    fn new(names: Vec<String>) -> Series<F, C> {
        Series { names, times: Vec::new(), rows: Vec::new() }
    }

    /// The time and the name of each row, without the first `from` samples.
    fn heads(&self, from: usize) -> impl Iterator<Item = (f64, &str)> {
        let names = self.names.iter().map(String::as_str);
        let times = self.times.iter().skip(from);
        times.flat_map(move |time| names.clone().map(|name| (*time, name)))
    }

    /// The rows, without the first `from` samples.
    fn rows_from(&self, from: usize) -> &[Row<F, C>] {
        self.rows.get(from.saturating_mul(self.names.len())..).unwrap_or_default()
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

/// Names of the columns.
struct Layout<const F: usize, const C: usize> {
    name: &'static str,
    has_phases: bool,
    floats: [&'static str; F],
    counts: [&'static str; C],
}

const FLOWS: Layout<10, 5> = Layout {
    name: "flow",
    has_phases: true,
    floats: [
        "cwnd_bytes",
        "ssthresh_bytes",
        "srtt_s",
        "rtt_s",
        "min_rtt_s",
        "pacing_bps",
        "goodput_bps",
        "alpha",
        "bandwidth_bps",
        "response_s",
    ],
    counts: [
        "in_flight_bytes",
        "delivered_bytes",
        "lost_packets",
        "retransmitted_packets",
        "marked_packets",
    ],
};

const LINKS: Layout<4, 4> = Layout {
    name: "link",
    has_phases: false,
    floats: ["capacity_bps", "carried_bps", "queue_delay_s", "queue_delay_mean_s"],
    counts: ["queue_bytes", "queue_packets", "dropped_packets", "marked_packets"],
};

/// A missing value.
const NONE: f64 = f64::NAN;

fn seconds(span: Option<Duration>) -> f64 {
    span.map_or(NONE, Duration::as_secs_f64)
}

/// The series of a run.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) interval: Duration,
    pub(crate) flows: Series<10, 5>,
    pub(crate) links: Series<4, 4>,
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
        let mut table = Table::new();
        add_columns(&mut table, &FLOWS, &[&self.flows], from);
        table
    }

    /// The samples of the links, without the first `from` ones.
    pub(crate) fn link_samples(&self, from: usize) -> Table {
        let mut table = Table::new();
        add_columns(&mut table, &LINKS, &[&self.links], from);
        table
    }

    /// Begins a sample and returns the seconds since the last one. The caller then adds one row for
    /// each flow and each link, in order.
    pub(crate) fn begin(&mut self, now: Instant) -> f64 {
        let span = now.since(self.last_at).as_secs_f64();
        self.last_at = now;
        self.flows.times.push(now.as_secs_f64());
        self.links.times.push(now.as_secs_f64());
        span
    }

    fn goodput(&mut self, flow: usize, received: u64, span: f64) -> f64 {
        let bytes = received - std::mem::replace(&mut self.last_received[flow], received);
        bytes as f64 * 8.0 / span
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
        let received = connection.receiver.received_bytes();
        let (srtt, min) = sender
            .rtts()
            .map_or((NONE, NONE), |(srtt, min)| (srtt.as_secs_f64(), min.as_secs_f64()));
        // The maximum of the interval, so that no peak falls between two samples.
        let rtt = seconds(connection.longest_rtt.take());
        let pacing = match sender.limits().pacing {
            Pacing::Rate(rate) => rate.as_f64(),
            // The gap of one packet does not give the others; the controller knows their mean.
            Pacing::Gap(_) => probe.rate.map_or(NONE, |rate| rate.as_f64()),
            Pacing::Unpaced => NONE,
        };
        let stats = sender.stats();
        let goodput = self.goodput(place, received, span);
        self.flows.rows.push(Row {
            phase: probe.phase,
            floats: [
                window(sender.cwnd()),
                probe.ssthresh.map_or(NONE, |b| b.as_f64()),
                srtt,
                rtt,
                min,
                pacing,
                goodput,
                probe.alpha.unwrap_or(NONE),
                probe.bandwidth.map_or(NONE, |b| b.as_f64()),
                seconds(response),
            ],
            counts: [
                sender.in_flight().0,
                received,
                stats.lost,
                stats.retransmitted,
                connection.receiver.ce_packets(),
            ],
        });
    }

    /// A flow with random arrivals has the sum of its transfers. Its `response_s` is the greatest
    /// completion time of the interval.
    pub(super) fn transfers(&mut self, span: f64, place: usize, sum: &Sum) {
        let goodput = self.goodput(place, sum.received, span);
        let cwnd = if sum.cwnd > 0 { window(Bytes(sum.cwnd)) } else { NONE };
        let (rtt, min_rtt) = (seconds(sum.rtt), seconds(sum.min_rtt));
        let completion = seconds(sum.completion);
        self.flows.rows.push(Row {
            phase: "",
            floats: [cwnd, NONE, NONE, rtt, min_rtt, NONE, goodput, NONE, NONE, completion],
            counts: [sum.in_flight, sum.received, sum.lost, sum.retransmitted, sum.marked],
        });
    }

    /// A flow without a connection has no window, unless its host has a sender with a controller;
    /// it may measure round-trip times, and delays of frames.
    pub(crate) fn datagrams(&mut self, span: f64, place: usize, endpoint: &mut dyn Endpoint) {
        let response = seconds(endpoint.take_longest_response());
        if let Some(state) = endpoint.state() {
            let rtt = seconds(endpoint.take_longest_rtt());
            return self.state(span, place, &state, rtt, response);
        }
        let received = endpoint.report().received_bytes;
        let rtt = seconds(endpoint.take_longest_rtt());
        let goodput = self.goodput(place, received, span);
        self.flows.rows.push(Row {
            phase: "",
            floats: [NONE, NONE, NONE, rtt, NONE, NONE, goodput, NONE, NONE, response],
            counts: [0, received, 0, 0, 0],
        });
    }

    /// A flow whose hosts are outside the simulation reports its own state.
    pub(crate) fn outside(&mut self, span: f64, place: usize, endpoint: &mut Outside) {
        endpoint.collect_times();
        let (state, rtt) = (endpoint.state(), seconds(endpoint.longest_rtt.take()));
        let response = seconds(endpoint.longest_response.take());
        self.state(span, place, &state, rtt, response);
    }

    /// The row of a sender that reports its state.
    fn state(&mut self, span: f64, place: usize, state: &RemoteState, rtt: f64, response: f64) {
        let goodput = self.goodput(place, state.received_bytes, span);
        self.flows.rows.push(Row {
            phase: state.phase,
            floats: [
                state.cwnd.map_or(NONE, window),
                state.ssthresh.map_or(NONE, window),
                seconds(state.srtt),
                rtt,
                seconds(state.min_rtt),
                state.pacing.map_or(NONE, |rate| rate.as_f64()),
                goodput,
                state.alpha.unwrap_or(NONE),
                state.bandwidth.map_or(NONE, |rate| rate.as_f64()),
                response,
            ],
            counts: [
                state.in_flight.0,
                state.received_bytes,
                state.lost,
                state.retransmitted,
                state.marked,
            ],
        });
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
        let capacity = link.could_send_bits(now).map_or(NONE, |could| {
            (could - std::mem::replace(&mut self.last_could_send[place], could)) / span
        });
        let backlog = link.backlog();
        // If no packet left the queue, its delay is unknown, not zero.
        let (sum, count) = link.waited();
        let (last_sum, last_count) = std::mem::replace(&mut self.last_waited[place], (sum, count));
        let packets = (count - last_count) as f64;
        let mean = if packets > 0.0 { (sum - last_sum) as f64 / packets / 1e9 } else { NONE };
        let longest = seconds(link.counts.longest_wait.take(Reader::Series));
        self.links.rows.push(Row {
            phase: "",
            floats: [capacity, bits / span, longest, mean],
            counts: [
                backlog.bytes.0,
                backlog.packets,
                link.counts.dropped + link.counts.lost,
                link.counts.marked,
            ],
        });
    }
}

/// The series of several runs as one table.
#[cfg(not(target_family = "wasm"))]
pub(super) fn table(outcomes: &[&Outcome], links: bool) -> Table {
    let mut table = Table::new();
    let recorders = || outcomes.iter().map(|outcome| &outcome.recorder);
    let rows = |recorder: &Recorder| match links {
        true => recorder.links.rows.len(),
        false => recorder.flows.rows.len(),
    };
    let each = || outcomes.iter().map(|o| (&o.summary, rows(&o.recorder)));
    let summaries = || each().flat_map(|(summary, rows)| std::iter::repeat_n(summary, rows));
    table.add("control", summaries().map(|s| s.control.as_str()).collect::<Text>());
    table.add("seed", summaries().map(|s| s.seed).collect::<Vec<_>>());
    if links {
        let all: Vec<_> = recorders().map(|recorder| &recorder.links).collect();
        add_columns(&mut table, &LINKS, &all, 0);
    } else {
        let all: Vec<_> = recorders().map(|recorder| &recorder.flows).collect();
        add_columns(&mut table, &FLOWS, &all, 0);
    }
    table
}

/// Adds the columns of these series, without the first `from` samples of each.
fn add_columns<const F: usize, const C: usize>(
    table: &mut Table,
    layout: &Layout<F, C>,
    all: &[&Series<F, C>],
    from: usize,
) {
    let heads = || all.iter().flat_map(|series| series.heads(from));
    let rows = || all.iter().flat_map(|series| series.rows_from(from));
    table.add(layout.name, heads().map(|head| head.1).collect::<Text>());
    if layout.has_phases {
        table.add("phase", rows().map(|row| row.phase).collect::<Text>());
    }
    table.add("t_s", heads().map(|head| head.0).collect::<Vec<_>>());
    for (place, name) in layout.floats.iter().enumerate() {
        table.add(*name, rows().map(|row| row.floats[place]).collect::<Vec<_>>());
    }
    for (place, name) in layout.counts.iter().enumerate() {
        table.add(*name, rows().map(|row| row.counts[place]).collect::<Vec<_>>());
    }
}
