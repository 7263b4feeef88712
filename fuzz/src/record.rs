//! Summaries of runs, as a run directory has them, and their meaning.

use serde_json::Value;
use sojourn_record::{Summary, medians, sentences, unavoidable, verdicts};
use sojourn_scenario::Document;

use crate::{document, heap};

/// A change of capacity, and a trace.
const SCENARIO: &str = r#"
duration = "2s"
link.bottleneck = { rate = { start = "60Mbit", steps = [{ at = "1s", rate = "6Mbit" }] } }
link.a = { rate = { trace = "cell.trace" }, delay = "5ms", buffer = "30ms" }
link.b = { delay = "5ms" }
flow.f = { path = ["bottleneck", "a"], back = ["b"], control = "cubic", source = "bulk" }
"#;

/// Judges the summary in `data`, and computes the medians of its runs.
pub(crate) fn check(data: &[u8]) {
    let room = document::room(data.len());
    if let Ok(summary) = serde_json::from_slice::<Summary>(data) {
        let document = Document::from_toml("fuzz.toml", SCENARIO).expect("it is valid TOML");
        let scenario = document.resolve(&document::read).expect("it is valid");
        heap::within(room, || {
            let judged = (verdicts(&summary), unavoidable(&scenario, &summary, 100));
            serde_json::to_value(judged).expect("verdicts are JSON");
            assert!(sentences(&summary).iter().all(|one| !one.is_empty()));
        });
    }
    if let Ok(value) = serde_json::from_slice::<Value>(data)
        && let Some(runs) = value["runs"].as_array()
    {
        heap::within(room, || medians(runs));
    }
}
