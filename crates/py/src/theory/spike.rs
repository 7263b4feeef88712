use pyo3::prelude::*;
use serde_json::json;
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
