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
    let mut is_sized = true;
    for (name, rates) in &series {
        let Some(vantage) = vantage_of(name).filter(|_| found.flows.len() < MOST_FLOWS) else {
            continue;
        };
        let own = series.get(&format!("{name}::tcp_rtt"));
        let rtts = own.or_else(|| ping(&series, name));
        let mss = mss(&file, name);
        is_sized &= mss.is_some();
        let rtts = rtts.map_or(&[][..], Vec::as_slice);
        let mut polled = polled(Polled::new(mss), rates, rtts, [begin, step]);
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
        let controller = controller(&file, name, vantage);
        found.flows.extend(flow.map(|flow| Flow { controller, ..flow }));
    }
    if !is_sized {
        found.lacks.push("the file has no sizes of packets; 1500 bytes are assumed");
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

/// Adds rates in Mbit/s, each of the time before it, and round-trip times in ms to a flow. `begin`, the
/// time of the first sample of all, and `step` are in s.
fn polled(
    mut polled: Polled,
    rates: &[(f64, f64)],
    rtts: &[(f64, f64)],
    [begin, step]: [f64; 2],
) -> Polled {
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

/// The figures that the test's tool gave for a series, such as netperf's controller.
fn about<'a>(file: &'a Value, name: &str) -> &'a Value {
    &file["metadata"]["SERIES_META"][name]
}

/// Payload of a full packet of a series, in bytes.
fn mss(file: &Value, name: &str) -> Option<u32> {
    let mss = number(&about(file, name)["TCP_MSS"])?;
    (1.0..65_536.0).contains(&mss).then_some(mss as u32)
}

/// The controller that the sender of a series had, or that the test asked for, or that of this host,
/// which is the sender of uploads.
fn controller(file: &Value, name: &str, vantage: Vantage) -> Option<String> {
    let all = &file["metadata"];
    let actual = about(file, name)["CONG_CONTROL"].as_str();
    // With a comma, the first is that of uploads, and the second that of downloads.
    let asked = all["TEST_PARAMETERS"]["tcp_cong_control"].as_str().map(|both| {
        let (up, down) = both.split_once(',').unwrap_or((both, both));
        if vantage == Vantage::Sender { up } else { down }
    });
    let own = all["SYSCTLS"]["net.ipv4.tcp_congestion_control"].as_str();
    let names = [actual, asked, own.filter(|_| vantage == Vantage::Sender)];
    let mut names = names.into_iter().flatten().map(str::trim);
    names.find(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Vantage, controller};

    #[test]
    fn a_comma_splits_the_controllers_of_uploads_and_downloads_and_the_actual_one_comes_first() {
        let mut file = json!({ "metadata": {
            "TEST_PARAMETERS": { "tcp_cong_control": "bbr,cubic" },
            "SYSCTLS": { "net.ipv4.tcp_congestion_control": "reno" },
        } });
        let of = |file: &Value, vantage| controller(file, "TCP", vantage);
        assert_eq!(of(&file, Vantage::Sender).as_deref(), Some("bbr"));
        assert_eq!(of(&file, Vantage::Receiver).as_deref(), Some("cubic"));
        file["metadata"]["SERIES_META"] = json!({ "TCP": { "CONG_CONTROL": "dctcp" } });
        assert_eq!(of(&file, Vantage::Receiver).as_deref(), Some("dctcp"));
        file["metadata"] = json!({ "SYSCTLS": { "net.ipv4.tcp_congestion_control": "reno" } });
        assert_eq!(of(&file, Vantage::Sender).as_deref(), Some("reno"));
        assert_eq!(of(&file, Vantage::Receiver), None);
    }
}
