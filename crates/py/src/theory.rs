//! The theory: closed forms for what is given as text with units.

use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use sojourn_scenario::CapacityFile;
use sojourn_theory::capacity::{Sender, means, waits};
use sojourn_theory::rapid::{self, Bursts, Steady};
use sojourn_theory::waits::{Wait, longest, quantile, worst};
use sojourn_units::{Duration, Rate};

use crate::errors::value_error;

/// The bound on a latency spike, as JSON.
#[pyfunction]
#[pyo3(signature = (from_, to, delay, max_queue = None))]
pub(crate) fn theory_spike(
    from_: &str,
    to: &str,
    delay: &str,
    max_queue: Option<&str>,
) -> PyResult<String> {
    let from: Rate = from_.parse().map_err(value_error)?;
    let to: Rate = to.parse().map_err(value_error)?;
    let delay: Duration = delay.parse().map_err(value_error)?;
    let max_queue = max_queue.map(str::parse).transpose().map_err(value_error)?;
    let bound = sojourn_theory::spike::spike(from, to, delay, max_queue).map_err(value_error)?;
    let answer = json!({
        "r": bound.r,
        "delay_s": bound.delay.as_secs_f64(),
        "spike_s": bound.spike.as_secs_f64(),
        "lost_fraction": bound.lost_fraction,
        "time_to_peak_s": bound.time_to_peak.as_secs_f64(),
    });
    Ok(answer.to_string())
}

/// The fluid model of Rapid under bursts, as JSON.
#[pyfunction]
pub(crate) fn theory_rapid(
    capacity: &str,
    load: &str,
    on: &str,
    off: &str,
    tau: &str,
    eta: &str,
) -> PyResult<String> {
    let bursts = Bursts {
        capacity: capacity.parse().map_err(value_error)?,
        load: load.parse().map_err(value_error)?,
        on: on.parse().map_err(value_error)?,
        off: off.parse().map_err(value_error)?,
        tau: tau.parse().map_err(value_error)?,
        eta: eta.parse().map_err(value_error)?,
    };
    let found = rapid::steady(&bursts).map_err(value_error)?;
    Ok(json!({
        "case": format!("{:?}", found.case),
        "D_s": found.delay_s,
        "queue_max_bytes": found.queue_max.0,
        "throughput_bps": found.throughput.0,
        "utilisation": found.utilisation,
        "rate_high_bps": found.rate_high.0,
        "rate_low_bps": found.rate_low.0,
        "rate_middle_bps": found.rate_middle.map(|rate| rate.0),
        "rtt_remainder_s": found.rtt_remainder_s.0,
        "rtt_remainder_max_s": found.rtt_remainder_s.1,
        "course": course(&found),
        "capacity_bps": bursts.capacity.0,
        "burst_bps": found.burst.0,
        "on_s": bursts.on.as_secs_f64(),
        "off_s": bursts.off.as_secs_f64(),
    })
    .to_string())
}

fn course(found: &Steady) -> Vec<[f64; 2]> {
    found.course.iter().map(|(t, rate)| [*t, *rate]).collect()
}

/// How many of the worst instants are told.
const WORST: usize = 5;

/// Multiples of the loop delay at which it is shown how the delay falls with it.
const LOOPS: [f64; 5] = [0.125, 0.25, 0.5, 1.0, 2.0];

/// The unavoidable delay of a capacity over time, as JSON. `text` is the content
/// of the file `name`; the times and delays of stretches for a figure are there
/// where `series` asks for them.
#[pyfunction]
pub(crate) fn theory_trace(
    py: Python<'_>,
    name: &str,
    text: &str,
    delay: &str,
    stretch: &str,
    series: bool,
) -> PyResult<String> {
    let delay: Duration = delay.parse().map_err(value_error)?;
    let stretch: Duration = stretch.parse().map_err(value_error)?;
    if stretch == Duration::ZERO {
        return Err(value_error("the stretch is 0s; a trace's mean needs some time, such as 10ms"));
    }
    let file = sojourn_scenario::capacity_file(name, text, stretch).map_err(value_error)?;
    Ok(py.detach(|| trace(&file, delay, series)).to_string())
}

fn trace(file: &CapacityFile, delay: Duration, series: bool) -> Value {
    let [matching, draining] = both(file, delay);
    let mut answer = percentiles(&matching);
    answer.insert("drained".into(), percentiles(&draining).into());
    answer.insert("delay_s".into(), delay.as_secs_f64().into());
    answer.insert("duration_s".into(), (file.until.0 as f64 / 1e9).into());
    answer.insert("mean_rate_bps".into(), means(&file.steps, file.until, 1)[0].into());
    let apart = delay + delay;
    let peaks = worst(&matching, apart, WORST).into_iter();
    let peaks = peaks.map(|(at, wait)| json!({ "at_s": at.0 as f64 / 1e9, "delay_s": wait }));
    answer.insert("worst".into(), peaks.collect());
    answer.insert("by_delay".into(), LOOPS.iter().map(|k| at_loop(file, delay, *k)).collect());
    if series {
        answer.insert("series".into(), curve(file, &matching, &draining));
    }
    answer.into()
}

fn both(file: &CapacityFile, delay: Duration) -> [Vec<Wait>; 2] {
    [Sender::Matching, Sender::Draining].map(|sender| waits(&file.steps, delay, sender, file.until))
}

fn percentiles(waits: &[Wait]) -> Map<String, Value> {
    let shares = [("p50_s", 0.50), ("p95_s", 0.95), ("p99_s", 0.99), ("max_s", 1.0)];
    shares.into_iter().map(|(key, q)| (key.to_owned(), quantile(waits, q).into())).collect()
}

fn at_loop(file: &CapacityFile, delay: Duration, times: f64) -> Value {
    let delay = Duration((delay.0 as f64 * times) as u64);
    let [matching, draining] = both(file, delay);
    let mut answer = percentiles(&matching);
    answer.insert("delay_s".into(), delay.as_secs_f64().into());
    answer.insert("drained".into(), percentiles(&draining).into());
    answer.into()
}

/// Points of a figure.
const POINTS: usize = 1_000;

/// For each of [`POINTS`] stretches of time: its end, the mean capacity, and the
/// longest wait of what arrives in it, for either sender.
fn curve(file: &CapacityFile, matching: &[Wait], draining: &[Wait]) -> Value {
    let span = file.until.0 as f64 / 1e9 / POINTS as f64;
    let capacity = means(&file.steps, file.until, POINTS);
    let [first, second] = [matching, draining].map(|waits| longest(waits, file.until, POINTS));
    let point = |k: usize| json!([(k + 1) as f64 * span, capacity[k], first[k], second[k]]);
    (0..POINTS).map(point).collect()
}
