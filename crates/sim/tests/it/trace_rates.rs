//! A constant trace is a constant rate, and a queue whose thresholds are within the grid of a trace
//! has a warning.

use crate::common::{assert_near, flow, link, scenario_with_trace, simulate};
use sojourn_sim::RunSummary;

/// A mahimahi trace of `mbit` Mbit/s over a second: an opportunity of 1504 bytes at each whole
/// multiple of its time, in whole milliseconds.
fn constant_trace(mbit: u64) -> String {
    let count = mbit * 1_000_000 / (1504 * 8);
    let at = |n: u64| (n * 1000).div_ceil(count);
    (1..=count).map(|n| format!("{}\n", at(n))).collect()
}

/// One flow over 20 ms and this queue, for 10 s.
fn runs(rate: &str, mbit: u64, control: &str, queue: &str) -> Vec<RunSummary> {
    let text = format!(
        r#"
duration = "10s"
measure = {{ from = "2s" }}
[link.a]
rate = {rate}
delay = "10ms"
queue = {queue}
[link.back]
delay = "10ms"
[flow.f]
control = "{control}"
path = ["a"]
back = ["back"]
"#
    );
    let scenario = scenario_with_trace(&text, &constant_trace(mbit));
    (1..=10).map(|seed| simulate(&scenario, seed).summary).collect()
}

/// Median of `of` over the runs, and half of the middle half of their spread.
fn median(runs: &[RunSummary], of: impl Fn(&RunSummary) -> f64) -> (f64, f64) {
    let mut all: Vec<f64> = runs.iter().map(of).collect();
    all.sort_unstable_by(f64::total_cmp);
    ((all[4] + all[5]) / 2.0, (all[9] - all[0]) / 2.0)
}

/// Prague over DualPI2 at 150 Mbit/s had 67.7 Mbit/s by a trace and 144.8 by the same rate: packets
/// that leave together at each whole millisecond wait longer than the marking ramp allows.
#[test]
fn a_constant_trace_is_a_constant_rate() {
    let traced = "{ trace = \"constant\" }";
    for (mbit, control, queue) in [
        (150, "prague", "\"dualpi2\""),
        (150, "cubic", "\"codel\""),
        (20, "prague", "\"dualpi2\""),
        (20, "cubic", "\"droptail\"\nbuffer = \"40ms\""),
        (20, "bbr", "\"fq_codel\""),
    ] {
        // The rate of the trace, whose opportunities are whole.
        let exact = mbit * 1_000_000 / (1504 * 8) * 1504 * 8;
        let by_rate = runs(&format!("\"{exact}bit\""), mbit, control, queue);
        let by_trace = runs(traced, mbit, control, queue);
        let what = format!("{control} over {queue} at {mbit} Mbit/s");
        let figures: [fn(&RunSummary) -> f64; 2] = [
            |run| flow(run, "f").goodput_bps,
            |run| link(run, "a").queue_delay_p50_s.unwrap_or(0.0),
        ];
        for of in figures {
            let ((rate, spread), (trace, _)) = (median(&by_rate, of), median(&by_trace, of));
            assert_near(trace, rate, spread.max(0.02 * rate), &what);
        }
        assert!(by_trace.iter().all(|run| link(run, "a").warning.is_none()), "{what}");
    }
}

/// mahimahi's own spacing, and a trace of less than 20 Mbit/s, bring a warning at a queue with a
/// threshold of a millisecond, and not at one with 5 ms.
#[test]
fn a_threshold_within_the_grid_brings_a_warning() {
    let warned = |mbit: u64, spacing: &str, queue: &str| {
        let text = format!(
            "duration = \"100ms\"\n[link.a]\nrate = {{ trace = \"t\", spacing = \"{spacing}\" }}\n\
             queue = \"{queue}\"\n[flow.f]\ncontrol = \"cubic\"\npath = [\"a\"]\n"
        );
        let run = simulate(&scenario_with_trace(&text, &constant_trace(mbit)), 1).summary;
        link(&run, "a").warning.clone()
    };
    assert_eq!(warned(150, "even", "dualpi2_linux"), None);
    let burst = warned(150, "burst", "dualpi2_linux").expect("steps of 1 ms");
    assert!(burst.contains("`step_thresh` of 1ms") && burst.contains("grid of the trace, 1ms"));
    assert!(warned(5, "even", "dualpi2").is_some());
    assert_eq!(warned(5, "burst", "codel"), None);
    // A packet at each 12 ms: CoDel's target of 5 ms is within that.
    assert!(warned(1, "even", "codel").is_some());
}
