//! Quantities with units, and faults in the text of arguments.

use pyo3::prelude::*;
use sojourn_scenario::Errors;
use sojourn_units::{Bytes, Duration, Rate};

use crate::errors::{scenario_error, value_error};

/// The kind of a quantity, and its value in bit/s, ns or bytes; `None` for other text.
#[pyfunction]
pub(crate) fn quantity(text: &str) -> Option<(&'static str, u64)> {
    let rate = || text.parse().ok().map(|rate: Rate| ("rate", rate.0));
    let time = || text.parse().ok().map(|span: Duration| ("time", span.0));
    let data = || text.parse().ok().map(|bytes: Bytes| ("data", bytes.0));
    rate().or_else(time).or_else(data)
}

/// A quantity in its largest unit: `20ms`.
#[pyfunction]
pub(crate) fn quantity_text(kind: &str, value: u64) -> PyResult<String> {
    match kind {
        "rate" => Ok(Rate(value).to_string()),
        "time" => Ok(Duration(value).to_string()),
        "data" => Ok(Bytes(value).to_string()),
        other => Err(value_error(format!("`{other}` is neither `rate`, `time` nor `data`"))),
    }
}

/// Raises a fault in the bytes `start` to `end` of a text.
#[pyfunction]
pub(crate) fn text_fault(
    py: Python<'_>,
    origin: &str,
    text: &str,
    start: usize,
    end: usize,
    message: &str,
    help: &str,
) -> PyResult<()> {
    Err(scenario_error(py, &Errors::in_text(origin, text, start..end, message, help)))
}
