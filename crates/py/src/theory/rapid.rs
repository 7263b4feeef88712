use pyo3::prelude::*;
use serde_json::json;
use sojourn_theory::rapid::{self, Bursts, Steady};

use crate::errors::value_error;

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
