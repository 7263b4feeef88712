use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use sojourn_theory::unavoidable::{AtLoop, Percentiles, Point, Unavoidable, unavoidable};
use sojourn_units::Duration;

use crate::errors::value_error;

/// Points of a figure.
const POINTS: usize = 1_000;

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
    let stretch = some_time("stretch", stretch)?;
    let file = sojourn_scenario::capacity_file(name, text, stretch).map_err(value_error)?;
    let points = if series { POINTS } else { 0 };
    let found = py.detach(|| unavoidable(&file.steps, delay, file.until, points));
    let mut answer = told(&found);
    answer.insert("duration_s".into(), file.until.as_secs_f64().into());
    Ok(Value::from(answer).to_string())
}

/// A span of time above zero.
fn some_time(what: &str, text: &str) -> PyResult<Duration> {
    match text.parse().map_err(value_error)? {
        Duration::ZERO => {
            Err(value_error(format!("the {what} is 0s; it takes some time, such as 10ms")))
        }
        span => Ok(span),
    }
}

fn told(found: &Unavoidable) -> Map<String, Value> {
    let mut answer = at_loop(&found.here);
    answer.insert("mean_rate_bps".into(), found.mean_rate_bps.into());
    let worst = found.worst.iter();
    let worst = worst.map(|(at, wait)| json!({ "at_s": at.as_secs_f64(), "delay_s": wait }));
    answer.insert("worst".into(), worst.collect());
    let loops = found.by_delay.iter().map(|one| Value::from(at_loop(one)));
    answer.insert("by_delay".into(), loops.collect());
    if !found.series.is_empty() {
        answer.insert("series".into(), found.series.iter().map(point).collect());
    }
    answer
}

fn at_loop(one: &AtLoop) -> Map<String, Value> {
    let mut answer = percentiles(&one.matching);
    answer.insert("delay_s".into(), one.delay.as_secs_f64().into());
    answer.insert("drained".into(), percentiles(&one.draining).into());
    answer
}

fn percentiles(of: &Percentiles) -> Map<String, Value> {
    let values = [of.p50_s, of.p95_s, of.p99_s, of.max_s].map(Value::from);
    ["p50_s", "p95_s", "p99_s", "max_s"].map(str::to_owned).into_iter().zip(values).collect()
}

fn point(point: &Point) -> Value {
    json!([point.end_s, point.capacity_bps, point.matching_s, point.draining_s])
}
