//! JSON of other programs, read leniently: a value of another kind is absent.

use serde_json::Value;

/// A finite number.
pub(crate) fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

/// A whole number of zero or more; a greater one than a counter holds is its greatest.
pub(crate) fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| number(value).filter(|number| *number >= 0.0).map(|n| n as u64))
}

/// Seconds as ns, within a century.
pub(crate) fn ns(seconds: f64) -> Option<i64> {
    (seconds.abs() < 3.2e9).then(|| (seconds * 1e9).round() as i64)
}
