//! Measurements of `sojourn bench`.

use pyo3::prelude::*;

/// The measured scenarios: name and text.
const CASES: [(&str, &str); 6] = [
    ("a", include_str!("../../../benches/cases/a.toml")),
    ("b", include_str!("../../../benches/cases/b.toml")),
    ("c-fifo", include_str!("../../../benches/cases/c-fifo.toml")),
    ("c-codel", include_str!("../../../benches/cases/c-codel.toml")),
    ("scaling", include_str!("../../../benches/cases/scaling.toml")),
    ("in-flight", include_str!("../../../benches/cases/in-flight.toml")),
];

/// The names of the measured scenarios.
#[pyfunction]
pub(crate) fn bench_cases() -> Vec<(&'static str, &'static str)> {
    CASES.to_vec()
}
