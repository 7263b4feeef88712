//! Captures: the round-trip times in a file, as JSON.

use std::cmp::Reverse;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_trace::capture::{Capture, Compression, Endpoint, Format, ReadError};
use sojourn_trace::rtt::{Flow, Method, Options, Pairs, Point, Rtt, Skipped};

use crate::errors::{os_error, value_error};
use crate::interrupt::interruptible;

/// Packets between two checks for an interrupt by the user: about 0.1 s.
const AT_A_TIME: u64 = 1 << 18;

/// Number of flows to report, number of them over time, and number of points.
#[derive(FromPyObject)]
pub(crate) struct Wanted {
    #[pyo3(item)]
    listed: usize,
    #[pyo3(item)]
    drawn: usize,
    #[pyo3(item)]
    points: usize,
}

/// The round-trip times of all TCP flows in the capture `path`, as two JSON texts: the totals, and
/// the list of flows. The list has the `listed` flows with most samples, and for the first `drawn`
/// of these up to `points` samples over time for each direction. For a malformed file, the result
/// describes the fault and has the content before it.
#[pyfunction]
pub(crate) fn capture_rtt(
    py: Python<'_>,
    path: &str,
    method: &str,
    max_flows: usize,
    wanted: Wanted,
) -> PyResult<(String, String)> {
    let method = named(method)?;
    let file = path.to_owned();
    // Opening a pipe may block for ever.
    let found = interruptible(py, move |stopped| {
        let capture = Capture::new(File::open(file)?);
        read(capture, method, max_flows, &wanted, stopped)
    })?;
    found.map_err(|error| os_error(error, path))
}

fn read(
    mut capture: Capture<File>,
    method: Method,
    max_flows: usize,
    wanted: &Wanted,
    stopped: &AtomicBool,
) -> io::Result<(String, String)> {
    let mut rtt = Rtt::new(Options { max_flows, points: wanted.points });
    let malformed = loop {
        match rtt.read(&mut capture, AT_A_TIME) {
            Ok(AT_A_TIME) if !stopped.load(Ordering::Relaxed) => {}
            Ok(_) => break None,
            Err(ReadError::Malformed(malformed)) => break Some(malformed),
            Err(ReadError::Io(error)) => return Err(error),
        }
    };
    let span = rtt.span_ns();
    let whole = json!({
        "capture": capture.format().map(|format| match format {
            Format::Pcap => "pcap",
            Format::Pcapng => "pcapng",
        }),
        "compression": capture.compression().map(Compression::name),
        "read_bytes": capture.offset(),
        "packets": rtt.packets(),
        "begin_s": span.map(|(begin, _)| begin as f64 / 1e9),
        "duration_s": span.map_or(0.0, |(begin, end)| seconds(begin, end)),
        "flow_count": rtt.flows().len(),
        "skipped": reasons(rtt.skipped()),
        "error": malformed.map(|malformed| json!({
            "offset": malformed.offset,
            "message": malformed.fault.to_string(),
        })),
    });
    let begin = span.map_or(0, |(begin, _)| begin);
    Ok((whole.to_string(), flows(rtt.flows(), begin, method, wanted)))
}

/// A list of flows, converted one by one: as values, all flows together take ten times the memory
/// of their text.
fn flows(flows: &[Flow], begin: i64, method: Method, wanted: &Wanted) -> String {
    let samples = |flow: &Flow| flow.halves.each_ref().map(|half| half.count(method));
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by_cached_key(|at| Reverse(samples(&flows[*at]).iter().sum::<u64>()));
    let mut points = vec![None; flows.len()];
    for (rank, at) in order.into_iter().enumerate().take(wanted.listed) {
        points[at] = Some(if rank < wanted.drawn { wanted.points } else { 0 });
    }
    let listed = flows.iter().zip(points).filter_map(|(flow, points)| Some((flow, points?)));
    let mut text = String::from("[");
    for (flow, points) in listed {
        text.push_str(if text.len() > 1 { ", " } else { "" });
        text.push_str(&described(flow, begin, method, points).to_string());
    }
    text + "]"
}

fn named(method: &str) -> PyResult<Method> {
    match method {
        "auto" => Ok(Method::Auto),
        "timestamps" => Ok(Method::Timestamps),
        "acks" => Ok(Method::Acks),
        "sack" => Ok(Method::Sack),
        _ => Err(value_error(format!("{method:?} is not auto, timestamps, acks or sack"))),
    }
}

/// Seconds between two times in ns.
fn seconds(from: i64, to: i64) -> f64 {
    (i128::from(to) - i128::from(from)) as f64 / 1e9
}

fn described(flow: &Flow, begin: i64, method: Method, points: usize) -> Value {
    let directions = [0, 1].map(|from| direction(flow, from, begin, method, points));
    let end = |end: &Endpoint| json!({ "address": end.ip().to_string(), "port": end.port });
    json!({
        "a": end(&flow.ends[0]),
        "b": end(&flow.ends[1]),
        "opened": flow.opened,
        "begin_s": seconds(begin, flow.span_ns.0),
        "duration_s": seconds(flow.span_ns.0, flow.span_ns.1),
        "directions": directions,
    })
}

fn direction(flow: &Flow, from: usize, begin: i64, method: Method, points: usize) -> Value {
    let half = &flow.halves[from];
    let (pairs, samples) = half.samples(method);
    let histogram = samples.histogram();
    let at = |q: f64| histogram.quantile(q).map(|rtt| rtt as f64 / 1e9);
    let pairs = match pairs {
        Pairs::Timestamps => "timestamps",
        Pairs::Acks => "acks",
        Pairs::Sack => "sack",
    };
    let by_sack = matches!(method, Method::Auto | Method::Sack).then(|| half.count(Method::Sack));
    let mut found = json!({
        "from": flow.ends[from].to_string(),
        "to": flow.ends[1 - from].to_string(),
        "method": (histogram.count() > 0).then_some(pairs),
        "samples": histogram.count(),
        "sack_samples": by_sack.unwrap_or(0),
        "unsampled_share": flow.unsampled_share(from, method),
        "min_s": at(0.0),
        "mean_s": histogram.mean().map(|rtt| rtt / 1e9),
        "p50_s": at(0.50),
        "p95_s": at(0.95),
        "p99_s": at(0.99),
        "max_s": at(1.0),
        "packets": half.packets,
        "payload_bytes": half.payload_bytes,
        "acked_bytes": half.acked_bytes(),
        "goodput_bps": flow.goodput_bps(from),
        "resent_packets": half.again,
        "backward_pairs": samples.backwards(),
    });
    if points > 0 {
        found["series"] = samples.points().iter().map(|point| at_time(point, begin)).collect();
    }
    found
}

/// Time since the capture's first packet, RTT, number of the acknowledging packet.
fn at_time(point: &Point, begin: i64) -> Value {
    json!([seconds(begin, point.at_ns), point.rtt_ns as f64 / 1e9, point.packet])
}

fn reasons(skipped: &Skipped) -> Value {
    json!({
        "link_type": skipped.link_type,
        "not_ip": skipped.not_ip,
        "not_tcp": skipped.not_tcp,
        "fragments": skipped.fragments,
        "cut": skipped.cut,
        "malformed": skipped.malformed,
        "without_time": skipped.without_time,
        "beyond_max_flows": skipped.beyond_max_flows,
        "copies": skipped.copies,
    })
}
