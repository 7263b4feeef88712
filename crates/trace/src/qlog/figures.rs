//! The figures of traces: one flow for each trace, or for each of its paths.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Log;
use super::course::{Course, Row};
use super::samples::{self, Rows};
use super::trace::Trace;
use crate::table::Table;

/// Intervals in seconds between the samples of a run; a figure is as wide as [`SAMPLES`].
const INTERVALS_S: [f64; 21] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0,
    200.0, 500.0, 1000.0, 2000.0, 5000.0,
];
const SAMPLES: f64 = 500.0;
/// Longer logs would give more rows than a figure or a table can use.
const MOST_SAMPLES: f64 = 1e6;

/// The figures of one flow, by the names of Sojourn's `summary.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name; that of another path ends in the path's identifier.
    pub name: String,
    /// Bytes of data that were delivered, each once, over the time of the trace, in bit/s: those
    /// acknowledged if the endpoint sends more than it receives, else those received.
    pub goodput_bps: Option<f64>,
    /// RTT samples in ascending order, in seconds: from packets and their acknowledgements (RFC 9002
    /// section 5.1), else the metrics of the log.
    pub rtts_s: Vec<f64>,
    /// Packets sent with data, or with unknown frames.
    pub sent_packets: u64,
    /// Packets sent with data of which some was sent before.
    pub retransmitted_packets: u64,
    /// Packets that arrived with CE.
    pub marked_packets: u64,
    /// Increases of the count of consecutive timeouts.
    pub timeouts: u64,
}

impl Flow {
    fn to_json(&self) -> Value {
        let rtts = &self.rtts_s;
        let rank = |share: f64| rtts.get(rtts.len().saturating_sub(1).min(position(rtts, share)));
        let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
        json!({
            "name": self.name,
            "goodput_bps": self.goodput_bps,
            "rtt_min_s": rtts.first(),
            "rtt_p50_s": rank(0.5),
            "rtt_p99_s": rank(0.99),
            "rtt_max_s": rtts.last(),
            "rtt_mean_s": (!rtts.is_empty()).then_some(mean),
            "sent_packets": self.sent_packets,
            "retransmitted_packets": self.retransmitted_packets,
            "marked_packets": self.marked_packets,
            "timeouts": self.timeouts,
        })
    }
}

fn position(rtts: &[f64], share: f64) -> usize {
    (share * rtts.len() as f64) as usize
}

/// The figures of some files as one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Title of the first trace that has one.
    pub title: Option<String>,
    /// Time from the first to the last event of the traces, in seconds.
    pub duration_s: f64,
    /// The flows, in the order of the traces and of their paths.
    pub flows: Vec<Flow>,
    /// Samples over time, by the names of Sojourn's `flows.parquet`.
    pub samples: Table,
}

impl Figures {
    /// Computes the figures. The calendar times of all traces start at the earliest one.
    ///
    /// `interval_s` is the time between samples in seconds, at least 1 ms; by default, 500 or
    /// fewer samples cover the time.
    pub fn new(logs: &[Log], interval_s: Option<f64>) -> Figures {
        let traces: Vec<&Trace> = logs.iter().flat_map(|log| &log.traces).collect();
        let dates = traces.iter().filter(|trace| trace.is_absolute).map(|trace| span(trace).0);
        let epoch = dates.reduce(f64::min).unwrap_or(0.0);
        let start = |trace: &Trace| if trace.is_absolute { epoch } else { 0.0 };
        let ends = traces.iter().map(|trace| span(trace).1 - start(trace));
        let duration_s = ends.fold(0.0, f64::max);
        let names = names(&traces);
        let (mut flows, mut rows) = (Vec::new(), Vec::new());
        for (trace, name) in traces.iter().zip(&names) {
            let (start, delivered) = (start(trace), delivered(trace));
            for (path, course) in &trace.paths {
                let name = match trace.paths.len() {
                    1 => name.clone(),
                    _ => format!("{name}, path {path}"),
                };
                rows.push(Rows { flow: name.clone(), rows: &course.rows, start, delivered });
                flows.push(flow(course, name, delivered));
            }
        }
        let samples = samples::table(&rows, interval(duration_s, interval_s));
        let title = traces.iter().find_map(|trace| trace.title.clone());
        Figures { title, duration_s, flows, samples }
    }

    /// Everything but the samples as JSON: `title`, `duration_s` and `flows`, with the keys of
    /// Sojourn's `summary.json`. Percentiles of RTTs are by nearest rank.
    pub fn to_json(&self) -> Value {
        let flows: Vec<Value> = self.flows.iter().map(Flow::to_json).collect();
        json!({ "title": self.title, "duration_s": self.duration_s, "flows": flows })
    }
}

/// A counter of bytes.
type Counter = fn(&Row) -> u64;

/// The first and last row's times; a trace with events has rows.
fn span(trace: &Trace) -> (f64, f64) {
    let rows = || trace.paths.values().flat_map(|course| &course.rows).map(|row| row.t);
    (rows().fold(f64::INFINITY, f64::min), rows().fold(f64::NEG_INFINITY, f64::max))
}

/// The bytes that count as delivered: of a sender, those acknowledged.
fn delivered(trace: &Trace) -> Counter {
    let sum = |bytes: Counter| {
        let all = trace.paths.values().map(|course| bytes(&course.row));
        all.fold(0, u64::saturating_add)
    };
    if sum(|row| row.sent) >= sum(|row| row.received) {
        |row| row.acked
    } else {
        |row| row.received
    }
}

fn flow(course: &Course, name: String, delivered: Counter) -> Flow {
    let last = &course.row;
    let span = last.t - course.rows.first().map_or(last.t, |row| row.t);
    let mut rtts_s = course.samples.clone();
    rtts_s.sort_unstable_by(f64::total_cmp);
    Flow {
        name,
        goodput_bps: (span > 0.0).then(|| delivered(last) as f64 * 8.0 / span),
        rtts_s,
        sent_packets: course.sent_packets,
        retransmitted_packets: last.again,
        marked_packets: last.marked,
        timeouts: course.timeouts,
    }
}

fn interval(duration_s: f64, asked: Option<f64>) -> f64 {
    if let Some(asked) = asked {
        return asked.max(1e-3).max(duration_s / MOST_SAMPLES);
    }
    let fits = INTERVALS_S.into_iter().find(|interval| interval * SAMPLES >= duration_s);
    fits.unwrap_or(duration_s / SAMPLES)
}

/// Names each trace; adds its endpoint, then a number, to names that are not unique.
fn names(traces: &[&Trace]) -> Vec<String> {
    let plain: Vec<String> = traces.iter().map(|trace| trace.name.clone()).collect();
    let end = |trace: &Trace| trace.vantage.clone().unwrap_or_else(|| "unknown".to_owned());
    let with_end = traces.iter().map(|trace| format!("{} ({})", trace.name, end(trace)));
    let named = distinguished(&plain, with_end);
    let numbered: Vec<String> =
        named.iter().enumerate().map(|(place, name)| format!("{name} {}", place + 1)).collect();
    distinguished(&named, numbered.into_iter())
}

/// Replaces names that occur more than once.
fn distinguished(names: &[String], longer: impl Iterator<Item = String>) -> Vec<String> {
    let mut often = BTreeMap::new();
    names.iter().for_each(|name| *often.entry(name).or_insert(0) += 1);
    let choose = |(name, longer): (&String, String)| match often[name] {
        1 => name.clone(),
        _ => longer,
    };
    names.iter().zip(longer).map(choose).collect()
}
