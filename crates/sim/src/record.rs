//! Series: one row a sample of every flow and every link.

use sojourn_cc::{Controller, Pacing};
use sojourn_trace::{Column, Table, TableError, Text};
use sojourn_units::{Bytes, Duration, Instant};

use crate::connection::Connection;
use crate::link::Link;
use crate::meter::Metering;
use crate::outcome::Outcome;

/// A window that no run can fill is none at all.
fn window(cwnd: Bytes) -> f64 {
    if cwnd.0 < 1 << 60 { cwnd.as_f64() } else { NONE }
}

/// Columns of numbers with a name each, and one or two of text.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    texts: Vec<(&'static str, Text)>,
    floats: Vec<(&'static str, Vec<f64>)>,
    counts: Vec<(&'static str, Vec<u64>)>,
}

impl Series {
    fn new(texts: &[&'static str], floats: &[&'static str], counts: &[&'static str]) -> Series {
        Series {
            texts: texts.iter().map(|n| (*n, Text::default())).collect(),
            floats: floats.iter().map(|n| (*n, Vec::new())).collect(),
            counts: counts.iter().map(|n| (*n, Vec::new())).collect(),
        }
    }

    fn push(&mut self, texts: &[&str], floats: &[f64], counts: &[u64]) {
        self.texts.iter_mut().zip(texts).for_each(|((_, column), v)| column.push(v));
        self.floats.iter_mut().zip(floats).for_each(|((_, column), v)| column.push(*v));
        self.counts.iter_mut().zip(counts).for_each(|((_, column), v)| column.push(*v));
    }

    fn rows(&self) -> usize {
        self.floats.first().map_or(0, |(_, column)| column.len())
    }
}

/// Where no value is.
const NONE: f64 = f64::NAN;

/// What a run records.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) interval: Duration,
    pub(crate) flows: Series,
    pub(crate) links: Series,
    last_at: Instant,
    last_received: Vec<u64>,
    last_sent_bits: Vec<u64>,
    last_could_send: Vec<f64>,
}

impl Recorder {
    pub(crate) fn new(interval: Duration, flows: usize, links: usize) -> Recorder {
        Recorder {
            interval,
            flows: Series::new(
                &["flow", "phase"],
                &[
                    "t_s",
                    "cwnd_bytes",
                    "ssthresh_bytes",
                    "srtt_s",
                    "rtt_s",
                    "min_rtt_s",
                    "pacing_bps",
                    "goodput_bps",
                    "alpha",
                    "bandwidth_bps",
                ],
                &[
                    "in_flight_bytes",
                    "delivered_bytes",
                    "lost_packets",
                    "retransmitted_packets",
                    "marked_packets",
                ],
            ),
            links: Series::new(
                &["link"],
                &["t_s", "capacity_bps", "carried_bps", "queue_delay_s"],
                &["queue_bytes", "queue_packets", "dropped_packets", "marked_packets"],
            ),
            last_at: Instant::ZERO,
            last_received: vec![0; flows],
            last_sent_bits: vec![0; links],
            last_could_send: vec![0.0; links],
        }
    }

    /// Seconds since the last sample; to be called before the rows of a sample.
    pub(crate) fn begin(&mut self, now: Instant) -> f64 {
        let span = now.since(self.last_at).as_secs_f64();
        self.last_at = now;
        span
    }

    fn goodput(&mut self, flow: usize, received: u64, span: f64) -> f64 {
        let bytes = received - std::mem::replace(&mut self.last_received[flow], received);
        bytes as f64 * 8.0 / span
    }

    pub(crate) fn flow<M: Metering>(
        &mut self,
        now: Instant,
        span: f64,
        place: usize,
        name: &str,
        connection: &mut Connection<M>,
    ) {
        let sender = &connection.sender;
        let probe = sender.controller().probe();
        let received = connection.receiver.received_bytes();
        let (srtt, min) = sender
            .rtts()
            .map_or((NONE, NONE), |(srtt, min)| (srtt.as_secs_f64(), min.as_secs_f64()));
        // The greatest of the interval, lest a peak fall between two samples.
        let rtt = connection.longest_rtt.take().map_or(NONE, |rtt| rtt.as_secs_f64());
        let pacing = match sender.limits().pacing {
            Pacing::Rate(rate) => rate.as_f64(),
            Pacing::Unpaced | Pacing::Gap(_) => NONE,
        };
        let stats = sender.stats();
        let goodput = self.goodput(place, received, span);
        self.flows.push(
            &[name, probe.phase],
            &[
                now.as_secs_f64(),
                window(sender.cwnd()),
                probe.ssthresh.map_or(NONE, |b| b.as_f64()),
                srtt,
                rtt,
                min,
                pacing,
                goodput,
                probe.alpha.unwrap_or(NONE),
                probe.bandwidth.map_or(NONE, |b| b.as_f64()),
            ],
            &[
                sender.in_flight().0,
                received,
                stats.lost,
                stats.retransmitted,
                connection.receiver.ce_packets(),
            ],
        );
    }

    /// A flow without control has no window and no round trip.
    pub(crate) fn datagrams(
        &mut self,
        now: Instant,
        span: f64,
        place: usize,
        name: &str,
        received: u64,
    ) {
        let goodput = self.goodput(place, received, span);
        self.flows.push(
            &[name, ""],
            &[now.as_secs_f64(), NONE, NONE, NONE, NONE, NONE, NONE, goodput, NONE, NONE],
            &[0, received, 0, 0, 0],
        );
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
        // Nothing left the queue: its delay is not known, rather than zero.
        let longest = link.counts.longest.take().map_or(NONE, |d| d.as_secs_f64());
        self.links.push(
            &[&link.name],
            &[now.as_secs_f64(), capacity, bits as f64 / span, longest],
            &[
                backlog.bytes.0,
                backlog.packets,
                link.counts.dropped + link.counts.lost,
                link.counts.marked,
            ],
        );
    }
}

/// The series of several runs as one Parquet file: `flows` or `links`.
///
/// # Errors
/// Where Parquet cannot hold them.
pub fn series_parquet(outcomes: &[&Outcome], links: bool) -> Result<Vec<u8>, TableError> {
    let series =
        |o: &&Outcome| if links { o.recorder.links.clone() } else { o.recorder.flows.clone() };
    let all: Vec<Series> = outcomes.iter().map(series).collect();
    let empty = Recorder::new(Duration::ZERO, 0, 0);
    let layout = if links { empty.links } else { empty.flows };
    let mut table = Table::new();
    let (mut control, mut seed) = (Text::default(), Vec::new());
    for (outcome, series) in outcomes.iter().zip(&all) {
        for _ in 0..series.rows() {
            control.push(&outcome.summary.control);
            seed.push(outcome.summary.seed);
        }
    }
    table.add("control", Column::Text(control));
    table.add("seed", Column::U64(seed));
    for (place, (name, _)) in layout.texts.iter().enumerate() {
        let rows = all.iter().flat_map(|s| {
            let column = &s.texts[place].1;
            (0..column.len()).filter_map(|row| column.get(row))
        });
        table.add(*name, Column::Text(rows.collect()));
    }
    for (place, (name, _)) in layout.floats.iter().enumerate() {
        table.add(
            *name,
            Column::F64(all.iter().flat_map(|s| s.floats[place].1.iter().copied()).collect()),
        );
    }
    for (place, (name, _)) in layout.counts.iter().enumerate() {
        table.add(
            *name,
            Column::U64(all.iter().flat_map(|s| s.counts[place].1.iter().copied()).collect()),
        );
    }
    table.to_parquet(&[("sojourn_version", env!("CARGO_PKG_VERSION"))])
}
