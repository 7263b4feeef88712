//! A constant trace is a constant rate, and a queue whose thresholds are within the grid of a trace
//! has a warning.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::common::{flow, link, scenario_with_trace, simulate};
use crate::series::link_series;
use sojourn_cc::Algorithm;

/// Bits of an opportunity of a mahimahi trace.
const OPPORTUNITY: u64 = 1504 * 8;
/// Seeds behind a median.
const SEEDS: u64 = 10;
/// Times are whole nanoseconds, so the oracle's queue of some nanoseconds depends on rounding.
const ROUNDING: f64 = 10e-9;

/// A mahimahi trace of `mbit` Mbit/s over a second: an opportunity of 1504 bytes at each whole
/// multiple of its time, in whole milliseconds.
fn constant_trace(mbit: u64) -> String {
    let count = mbit * 1_000_000 / OPPORTUNITY;
    let at = |n: u64| (n * 1000).div_ceil(count);
    (1..=count).map(|n| format!("{}\n", at(n))).collect()
}

/// Goodput in bit/s and mean queueing delay in seconds of each seed, without those runs whose link
/// has a warning; one flow over 20 ms and this queue for 10 s.
fn figures(rate: &str, mbit: u64, control: &Algorithm, queue: &str) -> [Vec<f64>; 2] {
    // An encoder that would send twice the rate.
    let source = match control.info.needs.media {
        true => format!("source = {{ kind = \"media\", max_rate = \"{}Mbit\" }}", 2 * mbit),
        false => "host = { receive_times = true }".to_owned(),
    };
    let text = format!(
        r#"
duration = "10s"
measure = {{ from = "2s" }}
record = {{ interval = "500us" }}
[link.a]
rate = {rate}
delay = "10ms"
queue = "{queue}"
buffer = "40ms"
[link.back]
delay = "10ms"
[flow.f]
control = "{}"
path = ["a"]
back = ["back"]
{source}
"#,
        control.info.name
    );
    let scenario = scenario_with_trace(&text, &constant_trace(mbit));
    let mut found = [Vec::new(), Vec::new()];
    for seed in 1..=SEEDS {
        let run = simulate(&scenario, seed);
        if link(&run.summary, "a").warning.is_none() {
            found[0].push(flow(&run.summary, "f").goodput_bps);
            found[1].push(mean_delay(&link_series(
                &run,
                "a",
                ["t_s", "carried_bps", "queue_delay_s"],
            )));
        }
    }
    found
}

/// Mean delay over the carried bits, of rows of some packets each.
fn mean_delay(rows: &[[f64; 3]]) -> f64 {
    let known = || rows.iter().filter(|[time, _, delay]| *time > 2.0 && delay.is_finite());
    let bits: f64 = known().map(|[_, carried, _]| carried).sum();
    known().map(|[_, carried, delay]| carried * delay).sum::<f64>() / bits
}

/// Median and interquartile range.
fn quartiles(values: &[f64]) -> (f64, f64) {
    let mut all = values.to_vec();
    all.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * (all.len() - 1) as f64;
        let (low, part) = (all[place as usize], place.fract());
        low + part * (all[place.ceil() as usize] - low)
    };
    (at(0.5), at(0.75) - at(0.25))
}

/// The difference of two medians as a share of the allowed one, and as text. Allowed are 2 %, the
/// seeds' spread, which is the greater interquartile range.
fn difference(by_rate: &[f64], by_trace: &[f64]) -> (f64, String) {
    let ((rate, spread), (trace, other)) = (quartiles(by_rate), quartiles(by_trace));
    let off = (trace - rate).abs();
    let text = format!(
        "{rate:.9} by rate, {trace:.9} by trace: {:+.1} %, quartiles {:.1} % apart",
        100.0 * (trace / rate - 1.0),
        100.0 * spread.max(other) / rate
    );
    (if off > 0.0 { off / spread.max(other).max(0.02 * rate).max(ROUNDING) } else { 0.0 }, text)
}

/// The differences of goodput and mean queueing delay of a trace and its rate, without those of a
/// trace with a warning.
fn differences(mbit: u64, control: &Algorithm, queue: &str) -> Vec<(f64, String)> {
    // The rate of the trace, whose opportunities are whole.
    let exact = format!("\"{}bit\"", mbit * 1_000_000 / OPPORTUNITY * OPPORTUNITY);
    let by_rate = figures(&exact, mbit, control, queue);
    let by_trace = figures("{ trace = \"constant\" }", mbit, control, queue);
    let pairs = ["goodput", "mean queueing delay"].into_iter().zip(by_rate.iter().zip(&by_trace));
    let known = pairs.filter(|(_, (_, by_trace))| !by_trace.is_empty());
    let found = known.map(|(what, (by_rate, by_trace))| {
        let (share, text) = difference(by_rate, by_trace);
        let name = control.info.name;
        (share, format!("{share:.2} {name} over {queue} at {mbit} Mbit/s, {what}: {text}"))
    });
    found.collect()
}

fn controller(name: &str) -> &'static Algorithm {
    sojourn_cc::all().iter().find(|one| one.info.name == name).expect("a controller")
}

/// Measures all cases on all cores and asserts that no figure differs by more than is allowed.
fn traces_are_rates(cases: &[(u64, &Algorithm, &str)]) {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((mbit, control, queue)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = differences(*mbit, control, queue);
            if found.is_empty() {
                println!("{} over {queue} at {mbit} Mbit/s has a warning", control.info.name);
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    let mut all = all.into_inner().unwrap();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.iter().take(30).for_each(|(_, text)| println!("{text}"));
    let apart: Vec<_> = all.iter().filter(|(share, _)| *share > 1.0 || share.is_nan()).collect();
    assert!(apart.is_empty(), "{} of {} figures differ", apart.len(), all.len());
}

/// Prague over DualPI2 at 150 Mbit/s had 67.7 Mbit/s by a trace and 144.8 by the same rate: packets
/// that leave together at each whole millisecond wait longer than the marking ramp allows.
#[test]
fn a_constant_trace_is_a_constant_rate() {
    let cases = [
        (150, controller("prague"), "dualpi2"),
        (150, controller("cubic"), "codel"),
        (20, controller("prague"), "dualpi2"),
        (20, controller("cubic"), "droptail"),
        (20, controller("bbr"), "fq_codel"),
    ];
    traces_are_rates(&cases);
}

/// Every controller over every queue that leaves the rate to the link.
///
/// `cargo test -p sojourn-sim --test it constant_trace -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes: in `make test-all`"]
fn a_constant_trace_is_a_constant_rate_everywhere() {
    let queues = || sojourn_queue::infos().iter().map(|info| info.name);
    let queues = || queues().filter(|name| !["htb", "policer"].contains(name));
    let over = |mbit| {
        let all = sojourn_cc::all().iter();
        all.flat_map(move |control| queues().map(move |queue| (mbit, control, queue)))
    };
    traces_are_rates(&[20, 100].into_iter().flat_map(over).collect::<Vec<_>>());
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
