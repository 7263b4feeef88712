//! Measurements of `sojourn bench`.

use pyo3::prelude::*;
use sojourn_bare_loop::Setup;
use sojourn_units::Duration;

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

/// Runs the bare loop for a simulated time; returns the number of data packets delivered.
#[pyfunction]
pub(crate) fn bare_loop(py: Python<'_>, duration_s: f64) -> u64 {
    let setup = Setup::case_a(Duration::from_secs_f64(duration_s).0);
    py.detach(|| sojourn_bare_loop::run(&setup).delivered)
}
