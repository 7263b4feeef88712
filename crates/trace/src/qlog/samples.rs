//! Samples over time, as a table.

use super::course::Row;
use crate::column::Text;
use crate::table::Table;

/// The state of a flow at the end of an interval.
struct Sample<'a> {
    flow: &'a str,
    t: f64,
    rtt: Option<f64>,
    goodput: f64,
    /// Unknown if a log claims more bytes than a counter holds.
    delivered: Option<f64>,
    row: &'a Row,
}

/// The rows of a flow, whose time starts at `start` seconds.
pub(super) struct Rows<'a> {
    pub(super) flow: String,
    pub(super) rows: &'a [Row],
    pub(super) start: f64,
    /// The counter of the bytes delivered.
    pub(super) delivered: fn(&Row) -> u64,
}

impl Rows<'_> {
    /// The last row of each interval that has rows, with the greatest RTT of the interval.
    fn samples(&self, interval_s: f64) -> impl Iterator<Item = Sample<'_>> {
        let Rows { flow, rows, start, delivered } = self;
        let place = move |row: &Row| ((row.t - *start).max(0.0) / interval_s) as u64;
        let (mut then, mut before) = (None, 0);
        let intervals = rows.chunk_by(move |a, b| place(a) == place(b));
        intervals.filter_map(move |rows| {
            let row = rows.last()?;
            let t = (place(row) + 1) as f64 * interval_s;
            let span = t - then.replace(t).unwrap_or(t - interval_s);
            let now = delivered(row);
            let goodput = (now - before) as f64 * 8.0 / span;
            before = now;
            let rtt = rows.iter().filter_map(|row| row.rtt).reduce(f64::max);
            let delivered = (now < u64::MAX).then_some(now as f64);
            Some(Sample { flow, t, rtt, goodput, delivered, row })
        })
    }
}

/// The samples of all flows, by the names of Sojourn's `flows.parquet`.
pub(super) fn table(flows: &[Rows<'_>], interval_s: f64) -> Table {
    let all: Vec<Sample<'_>> = flows.iter().flat_map(|rows| rows.samples(interval_s)).collect();
    let mut table = Table::new();
    table.add("flow", all.iter().map(|sample| sample.flow).collect::<Text>());
    table.add("phase", all.iter().map(|sample| &*sample.row.phase).collect::<Text>());
    let mut number = |name: &str, of: fn(&Sample<'_>) -> Option<f64>| {
        table.add(name, all.iter().map(of).collect::<Vec<_>>());
    };
    number("t_s", |sample| Some(sample.t));
    number("cwnd_bytes", |sample| sample.row.cwnd);
    number("ssthresh_bytes", |sample| sample.row.ssthresh);
    number("srtt_s", |sample| sample.row.srtt);
    number("rtt_s", |sample| sample.rtt);
    number("min_rtt_s", |sample| sample.row.min_rtt);
    number("pacing_bps", |sample| sample.row.pacing);
    number("goodput_bps", |sample| Some(sample.goodput));
    number("in_flight_bytes", |sample| sample.row.in_flight);
    number("delivered_bytes", |sample| sample.delivered);
    let mut count = |name: &str, of: fn(&Sample<'_>) -> u64| {
        table.add(name, all.iter().map(of).collect::<Vec<_>>());
    };
    count("lost_packets", |sample| sample.row.lost);
    count("retransmitted_packets", |sample| sample.row.again);
    count("marked_packets", |sample| sample.row.marked);
    table
}
