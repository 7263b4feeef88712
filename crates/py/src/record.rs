//! Statistics and verdicts of summaries, as JSON.

use pyo3::prelude::*;
use serde::Serialize;
use serde_json::Value;
use sojourn_record::{Judgement, LinkUnavoidable, Summary};
use sojourn_scenario::Trace;
use sojourn_units::Duration;

use crate::errors::value_error;

/// Points of a curve.
const POINTS: usize = 1000;

fn read<'a, T: serde::Deserialize<'a>>(text: &'a str) -> PyResult<T> {
    serde_json::from_str(text).map_err(value_error)
}

fn write<T: Serialize>(found: &T) -> PyResult<String> {
    serde_json::to_string(found).map_err(value_error)
}

/// The tables of a run directory with their columns.
#[pyfunction]
pub(crate) fn tables() -> PyResult<String> {
    write(&sojourn_record::TABLES)
}

/// The heading of the figures with this key.
#[pyfunction]
pub(crate) fn heading(key: &str) -> String {
    sojourn_record::heading(key)
}

/// The looks of controllers and of other lines.
#[pyfunction]
pub(crate) fn palette() -> String {
    let (light, dark) = sojourn_record::BOUND;
    serde_json::json!({
        "dashes": sojourn_record::DASHES,
        "weights": sojourn_record::WEIGHTS,
        "bound": { "light": light, "dark": dark },
        "inks": sojourn_record::INKS,
        "parts": sojourn_record::PARTS,
    })
    .to_string()
}

/// The runs of each controller as one entry, in which every figure is a spread.
#[pyfunction]
pub(crate) fn medians(py: Python<'_>, runs: &str) -> PyResult<String> {
    py.detach(|| write(&sojourn_record::medians(&read::<Vec<Value>>(runs)?)))
}

/// The meaning of a summary: the verdict on each change of capacity, the sentences and the picture.
#[pyfunction]
pub(crate) fn judge(py: Python<'_>, summary: &str) -> PyResult<String> {
    #[derive(serde::Deserialize)]
    struct Traces {
        unavoidable: Option<Vec<LinkUnavoidable>>,
    }
    py.detach(|| {
        let (found, traces): (Summary, Traces) = (read(summary)?, read(summary)?);
        write(&Judgement::of(&found, &traces.unavoidable.unwrap_or_default()))
    })
}

/// The controllers of a summary beside the unavoidable delay of each link with a trace.
#[pyfunction]
pub(crate) fn judge_traces(py: Python<'_>, found: &str, summary: &str) -> PyResult<String> {
    py.detach(|| {
        let (found, summary): (Vec<LinkUnavoidable>, Summary) = (read(found)?, read(summary)?);
        write(&found.into_iter().map(|one| one.judged(&summary)).collect::<Vec<_>>())
    })
}

/// The median and the mean of values with their intervals.
#[pyfunction]
pub(crate) fn spread(values: Vec<f64>) -> PyResult<String> {
    write(&sojourn_record::Spread::of(&values))
}

/// The ranks of the values that bound the median of `n` values with 95 % confidence.
#[pyfunction]
pub(crate) fn interval_ranks(n: usize) -> Option<(usize, usize)> {
    sojourn_record::interval_ranks(n)
}

/// Student's 95 % confidence interval of the mean.
#[pyfunction]
pub(crate) fn mean_interval(values: Vec<f64>) -> Option<(f64, f64)> {
    sojourn_record::mean_interval(&values)
}

/// The unavoidable delay of a trace, given as its text, over a run: times and delays in seconds.
#[pyfunction]
pub(crate) fn unavoidable_series(
    py: Python<'_>,
    text: &str,
    loop_s: f64,
    duration_s: f64,
) -> PyResult<Vec<[f64; 2]>> {
    let trace = Trace::parse("the trace", text).map_err(value_error)?;
    let duration = Duration::from_secs_f64(duration_s);
    Ok(py.detach(|| sojourn_record::unavoidable_series(&trace, loop_s, duration, POINTS)))
}
