use pyo3::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Map, Value, json};
use sojourn_theory::process::{Fit, FitError, Fitted, Moments, Process};
use sojourn_theory::unavoidable::{AtLoop, Percentiles, Point, Unavoidable, unavoidable};
use sojourn_units::{Duration, Instant};

use crate::errors::value_error;
use crate::interrupt::interruptible;

/// Points of a figure.
const POINTS: usize = 1_000;

/// The unavoidable delay of a capacity over time, as JSON. `text` is the content of the file
/// `name`. With `series`, the result includes times and delays of intervals for a figure.
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
    let until = file.until;
    let found = interruptible(py, move |_| unavoidable(&file.steps, delay, until, points))?;
    let mut answer = described(&found);
    answer.insert("duration_s".into(), until.as_secs_f64().into());
    Ok(Value::from(answer).to_string())
}

/// The unavoidable delay of a published process, with some of its parameters.
#[pyfunction]
pub(crate) fn theory_process(
    py: Python<'_>,
    name: &str,
    params: Vec<(String, String)>,
    seed: u64,
    duration: &str,
    delay: &str,
    series: bool,
) -> PyResult<String> {
    let process = Process::published(name, &params).map_err(value_error)?;
    let until = Instant::ZERO + some_time("duration", duration)?;
    process.check_length(until).map_err(value_error)?;
    let delay: Duration = delay.parse().map_err(value_error)?;
    let points = if series { POINTS } else { 0 };
    let found = interruptible(py, move |_| {
        let steps = process.steps(&mut Xoshiro256PlusPlus::seed_from_u64(seed), until);
        unavoidable(&steps, delay, until, points)
    })?;
    let mut answer = described(&found);
    answer.insert("duration_s".into(), until.as_secs_f64().into());
    Ok(Value::from(answer).to_string())
}

/// The unavoidable delay of a chain fitted to a file. `fitted` has the chain, and the delay of the
/// file itself.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each is one option of the command line")]
pub(crate) fn theory_fit(
    py: Python<'_>,
    name: &str,
    text: &str,
    delay: &str,
    stretch: &str,
    levels: usize,
    seed: u64,
    duration: &str,
    series: bool,
) -> PyResult<String> {
    let delay: Duration = delay.parse().map_err(value_error)?;
    let stretch = some_time("stretch", stretch)?;
    let until = Instant::ZERO + some_time("duration", duration)?;
    let file = sojourn_scenario::capacity_file(name, text, stretch).map_err(value_error)?;
    let points = if series { POINTS } else { 0 };
    let fit = Fit { stretch, levels, until, delay };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let found = interruptible(py, move |_| {
        let fitted = fit.of(&file.steps, file.until, &mut random)?;
        let found = unavoidable(&fitted.steps, delay, until, points);
        let measured = unavoidable(&file.steps, delay, file.until, 0);
        Ok::<_, FitError>((fitted, found, measured))
    })?;
    let (fitted, found, measured) = found.map_err(value_error)?;
    let mut answer = described(&found);
    answer.insert("duration_s".into(), until.as_secs_f64().into());
    answer.insert("fitted".into(), chain(&fitted, at_loop(&measured.here)));
    Ok(Value::from(answer).to_string())
}

fn chain(fitted: &Fitted, measured: Map<String, Value>) -> Value {
    let moments = |of: &Moments| {
        json!({
            "mean_rate_bps": of.mean_bps,
            "deviation_bps": of.deviation_bps,
            "autocorrelation": of.autocorrelation,
        })
    };
    let rates: Vec<u64> = fitted.chain.rates.iter().map(|rate| rate.0).collect();
    json!({
        "stretch_s": fitted.chain.stretch.as_secs_f64(),
        "rates_bps": rates,
        "shares": fitted.chain.shares,
        "moves": fitted.chain.moves,
        "measured": moments(&fitted.measured),
        "made": moments(&fitted.made),
        "measured_delay": measured,
    })
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

fn described(found: &Unavoidable) -> Map<String, Value> {
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
