//! The observation of a Flent data file: the rates of its TCP flows beside the ping.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::{ns, number};
use super::polled::{Poll, Polled};
use super::{Damage, Flow, Kind, Observation, Vantage};

/// Greatest number of flows, and samples of a series.
const MOST_FLOWS: usize = 64;
const MOST_SAMPLES: usize = 1 << 18;
/// Series that are sums of others.
const SUMS: [&str; 4] = ["sum", "avg", "totals", "fairness"];
/// Time between samples, in s, if the file does not name it.
const STEP_S: f64 = 0.2;

/// Times in s, with values.
type Points = Vec<(f64, f64)>;

/// Reads a whole text.
pub(super) fn read(text: &str) -> Observation {
    let mut found = Observation::new(Kind::Flent);
    let file: Value = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            let (offset, message) = (text.len() as u64, format!("not JSON: {error}"));
            found.damage = Some(Damage { offset, message });
            return found;
        }
    };
    let series = series(&file);
    found.packets = series.values().map(|points| points.len() as u64).sum();
    let first = series.values().filter_map(|points| points.first()).map(|point| point.0);
    let begin = first.fold(f64::INFINITY, f64::min);
    if ping(&series, "").is_none() {
        found.lacks.push("the test has no ping, so that its delay is unknown");
    }
    let step = number(&file["metadata"]["STEP_SIZE"]).filter(|step| *step > 0.0).unwrap_or(STEP_S);
    let host = |key: &str, other: &str| file["metadata"][key].as_str().unwrap_or(other).to_owned();
    let ends = [host("LOCAL_HOST", "local host"), host("HOST", "server")];
    for (name, rates) in &series {
        let Some(vantage) = vantage_of(name).filter(|_| found.flows.len() < MOST_FLOWS) else {
            continue;
        };
        let own = series.get(&format!("{name}::tcp_rtt"));
        let rtts = own.or_else(|| ping(&series, name));
        let mut polled = polled(rates, rtts.map_or(&[][..], Vec::as_slice), begin, step);
        if own.is_none() {
            polled.borrow_rtt();
        }
        found.duration = found.duration.max(polled.end());
        let [local, server] = ends.clone();
        let (from, to) = match vantage {
            Vantage::Sender => (local, server),
            _ => (server, local),
        };
        let flow = polled.finish([format!("{name} of {from}"), to], vantage);
        let controller = controller(&file, vantage);
        found.flows.extend(flow.map(|flow| Flow { controller, ..flow }));
    }
    if found.flows.iter().any(|flow| !flow.half.has_own_rtt && has_rtt(flow)) {
        found.lacks.push("the round trips are the ping's; a queue for each flow keeps it apart");
    }
    if found.flows.is_empty() {
        found.lacks.push("the test has no TCP upload or download");
    } else if found.flows.iter().any(|flow| flow.vantage == Some(Vantage::Sender))
        && found.flows.iter().any(|flow| flow.vantage == Some(Vantage::Receiver))
    {
        found.lacks.push("the ping waits in the queues of both directions, which it adds up");
    }
    found
}

fn has_rtt(flow: &Flow) -> bool {
    flow.half.ahead.pushed() + flow.half.behind.pushed() > 0
}

/// The direction of a flow, by the names that Flent's tests give.
fn vantage_of(name: &str) -> Option<Vantage> {
    let lower = name.to_ascii_lowercase();
    let is_sum = lower.split([' ', ':']).any(|word| SUMS.contains(&word));
    if !lower.starts_with("tcp") || lower.contains("::tcp_") || is_sum {
        return None;
    }
    match () {
        () if lower.contains("download") => Some(Vantage::Receiver),
        () if lower.contains("upload") => Some(Vantage::Sender),
        () => None,
    }
}

/// The series of a file: those with the times at which they were taken, else those on Flent's grid.
fn series(file: &Value) -> BTreeMap<String, Points> {
    let mut found = BTreeMap::new();
    let grid: Vec<Option<f64>> = list(&file["x_values"]).iter().map(number).collect();
    for (name, values) in file["results"].as_object().into_iter().flatten() {
        let points = grid.iter().zip(list(values)).take(MOST_SAMPLES);
        found.insert(
            name.clone(),
            points.filter_map(|(at, y)| Some(((*at)?, number(y)?))).collect(),
        );
    }
    let zero = number(&file["metadata"]["T0"]);
    for (name, values) in file["raw_values"].as_object().into_iter().flatten() {
        let point = |one: &Value| {
            let at = number(&one["t"])?;
            Some((at, number(&one["val"])?))
        };
        let mut points: Points = list(values).iter().take(MOST_SAMPLES).filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if points.len() > 1 {
            found.insert(name.clone(), points);
        }
    }
    // Raw times are of the calendar, and those of the grid begin at zero.
    let least = found.values().filter_map(|p| p.first()).map(|p| p.0).filter(|at| *at > CALENDAR_S);
    let zero = zero.or(least.reduce(f64::min)).unwrap_or(0.0);
    for points in found.values_mut() {
        if points.first().is_some_and(|point| point.0 > CALENDAR_S) {
            points.iter_mut().for_each(|point| point.0 -= zero);
        }
    }
    found
}

/// Greater times are of the calendar: the year 1973.
const CALENDAR_S: f64 = 1e8;

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The ping for a flow: to the flow's host, if both names end in it; of ICMP first, and with most
/// samples. Values are in ms.
fn ping<'a>(series: &'a BTreeMap<String, Points>, flow: &str) -> Option<&'a Points> {
    let host = |name: &str| name.rsplit(' ').next().map(str::to_owned);
    let pings = series.iter().filter(|(name, points)| {
        let lower = name.to_ascii_lowercase();
        lower.starts_with("ping") && !lower.contains("avg") && !points.is_empty()
    });
    let rank = |(name, points): &(&String, &Points)| {
        (host(name) == host(flow), name.contains("ICMP"), points.len())
    };
    let found = pings.max_by_key(rank);
    found.map(|(_, points)| points)
}

/// A flow of rates in Mbit/s, each of the time before it, with round-trip times in ms.
fn polled(rates: &[(f64, f64)], rtts: &[(f64, f64)], begin: f64, step: f64) -> Polled {
    let mut polled = Polled::new(None);
    let mut next = rtts.iter().peekable();
    let mut bytes = 0.0;
    let mut last = rates.first().map_or(0.0, |first| first.0 - step).max(begin);
    if let Some(at) = ns(last - begin) {
        polled.poll(&Poll { at, ..Poll::default() });
    }
    for (at, rate) in rates.iter().filter(|(at, rate)| at.is_finite() && *rate >= 0.0) {
        // Samples of the ping have their own times.
        while let Some((time, rtt)) = next.next_if(|(time, _)| time <= at) {
            if let (Some(time), Some(rtt)) = (ns(time - begin), ns(rtt / 1e3))
                && rtt > 0
                && time >= 0
            {
                polled.sample(time, rtt);
            }
        }
        bytes += rate * 1e6 / 8.0 * (at - last).clamp(0.0, 10.0 * step);
        last = *at;
        if let Some(at) = ns(at - begin) {
            polled.poll(&Poll { at, delivered: bytes as u64, ..Poll::default() });
        }
    }
    polled
}

/// The controller of a test, or of this host, which is the sender of uploads.
fn controller(file: &Value, vantage: Vantage) -> Option<String> {
    let about = &file["metadata"];
    let asked = about["TEST_PARAMETERS"]["tcp_cong_control"].as_str();
    let own = about["SYSCTLS"]["net.ipv4.tcp_congestion_control"].as_str();
    let name = asked.or(own.filter(|_| vantage == Vantage::Sender));
    // A list has one for each flow.
    name.filter(|name| !name.contains(',')).map(str::to_owned)
}
