//! Files of capacity over time.

use sojourn_scenario::capacity_file;
use sojourn_theory::unavoidable::unavoidable;
use sojourn_units::Duration;

use crate::heap;

const STRETCH: Duration = Duration(100_000_000);
const DELAY: Duration = Duration(20_000_000);
/// Maximum number of a trace's steps for the theory: each step takes time.
const MOST_STEPS: usize = 20_000;

/// Reads the file in `data`, and computes its unavoidable delay.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let file = match heap::within(room(text), || capacity_file("fuzz", text, STRETCH)) {
        Ok(file) => file,
        Err(error) => return assert!(error.to_string().contains("`fuzz`"), "{error}"),
    };
    assert!(file.steps.is_sorted_by(|a, b| a.0 < b.0), "steps in order of time");
    if file.steps.len() > MOST_STEPS {
        return;
    }
    let found = unavoidable(&file.steps, DELAY, file.until, 100);
    assert!(found.mean_rate_bps.is_finite() && found.mean_rate_bps >= 0.0);
    for at in &found.by_delay {
        for of in [&at.matching, &at.draining] {
            let rising = [Some(of.p50_s), Some(of.p95_s), Some(of.p99_s), Some(of.max_s)];
            assert!(rising.is_sorted(), "{of:?}");
        }
    }
}

/// A trace of two lines may last long: the theory takes at most 5 million steps, of 16 bytes each,
/// twice, in a list that grows by doubling.
fn room(text: &str) -> u64 {
    (640 << 20) + 256 * text.len() as u64
}
