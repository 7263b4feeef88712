//! The bound of a change and the unavoidable delay of a run, beside the oracle's sender.

use proptest::prelude::*;
use sojourn_record::{Summary, unavoidable_of};
use sojourn_scenario::{Document, Scenario};
use sojourn_sim::{RunSummary, Simulation};

fn scenario(steps: &[(u64, u64)], delay_ms: u64) -> Scenario {
    let step = |(at, rate): &(u64, u64)| format!("{{ at = \"{at}ms\", rate = \"{rate}kbit\" }}");
    let steps: Vec<String> = steps.iter().map(step).collect();
    let rate = format!("{{ start = \"40Mbit\", steps = [{}] }}", steps.join(", "));
    with_rate(&rate, delay_ms, "")
}

/// A scenario whose link has `rate`; each file has the text `file`.
fn with_rate(rate: &str, delay_ms: u64, file: &str) -> Scenario {
    let text = format!(
        r#"
duration = "8s"
host = "rfc"
noise = "none"
start_jitter = "0s"
record = {{ interval = "0s" }}
[link.a]
rate = {rate}
buffer = "unlimited"
[link.back]
delay = "{delay_ms}ms"
[flow.f]
control = "ideal"
path = ["a"]
back = ["back"]
"#
    );
    let document = Document::from_toml("test.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    document.resolve(&|_| Ok(file.to_owned())).unwrap_or_else(|e| panic!("{e}"))
}

fn run(scenario: &Scenario) -> RunSummary {
    Simulation::new(scenario, scenario.controls.first(), 1).finish().summary
}

/// The greatest unavoidable delay of the link, in seconds.
fn unavoidable_s(scenario: &Scenario, summary: &RunSummary) -> f64 {
    let runs = serde_json::json!({ "runs": [summary] });
    let summary: Summary = serde_json::from_value(runs).expect("a summary");
    let found = unavoidable_of(scenario, "a", &summary, 0).expect("its capacity changes");
    serde_json::to_value(found).expect("plain")["queue_delay_max_s"].as_f64().unwrap_or(f64::MAX)
}

/// An outage of 1.25 s in a run of 30 s makes 1.25 s unavoidable, and not the rest of the run.
#[test]
fn an_outage_that_ends_has_a_bound_of_its_length() {
    let scenario = scenario(&[(3000, 0), (4250, 40_000)], 50);
    let summary = run(&scenario);
    let bound = summary.spikes[0].bound_s.expect("the capacity returns");
    assert!((bound - 1.25).abs() < 1e-3, "{bound}");
    assert!((unavoidable_s(&scenario, &summary) - 1.25).abs() < 1e-3);
}

/// A rise before the queue has left ends the spike sooner. After the loop of 32 ms, 1.152 Mbit wait. 4
/// Mbit/s carry 1.072 of them until the rise, 8 Mbit/s the rest in 10 ms: 278 ms in all, where a capacity
/// that stays needs 288.
#[test]
fn a_rise_before_the_queue_has_left_lowers_the_bound() {
    let scenario = scenario(&[(1300, 4_000), (1600, 8_000)], 32);
    let bound = run(&scenario).spikes[0].bound_s.expect("the capacity returns");
    // A packet's own time is part of the loop.
    assert!((bound - 0.278).abs() < 4e-3, "{bound}");
}

/// A trace that is silent at the end of the run goes on from its beginning: its delay has an end.
#[test]
fn a_trace_that_ends_in_silence_has_an_unavoidable_delay() {
    let lines: Vec<String> = (1..=70).map(|k| (10 * k).to_string()).collect();
    let trace = format!("{}\n1000\n", lines.join("\n"));
    let scenario = with_rate("{ trace = \"silent.trace\" }", 50, &trace);
    let summary = run(&scenario);
    let least = unavoidable_s(&scenario, &summary);
    assert!((0.25..0.35).contains(&least), "{least} s for a silence of 0.3 s");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// For any steps of capacity, no bound is above what is unavoidable in the whole run, and `ideal`,
    /// which only matches the capacity, has no lower greatest delay. Both hold within a packet of the least
    /// rate, as the models are fluid.
    #[test]
    fn no_bound_exceeds_the_unavoidable_delay(
        gaps in prop::collection::vec((300_u64..1500, 1_u64..20), 1..5),
        delay_ms in 5_u64..80,
    ) {
        let mut at = 1000;
        let steps: Vec<(u64, u64)> = gaps.iter().map(|(gap, mbit)| {
            at += gap;
            (at, mbit * 4_000)
        }).collect();
        let scenario = scenario(&steps, delay_ms);
        let summary = run(&scenario);
        let least = unavoidable_s(&scenario, &summary);
        let packets = 2.0 * 1538.0 * 8.0 / 4e6;
        for spike in &summary.spikes {
            let bound = spike.bound_s.expect("the capacity never ends");
            prop_assert!(bound <= least + packets, "{bound} of {least} s: {spike:?}");
        }
        let most = summary.links[0].queue_delay_max_s.expect("it has a queue");
        prop_assert!(most + packets >= least, "{most} of {least} s");
    }
}
