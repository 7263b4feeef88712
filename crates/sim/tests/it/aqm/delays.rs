//! Queueing delay of AQMs relative to their targets, with a few flows and with many.

use crate::common::{scenario, simulate};
use crate::series::link_series;

/// A link that CUBIC flows share.
struct Setting {
    rate_bps: f64,
    rtt: &'static str,
    /// Time between samples: a few packet times at most.
    interval: &'static str,
}

/// Seconds excluded from the statistics.
const SETTLING_S: f64 = 10.0;

/// The link for PIE's target. A single flow empties the queue with each reduction of its window if
/// the round trip is much longer than the target.
const PIE_LINK: Setting = Setting { rate_bps: 10e6, rtt: "50ms", interval: "2ms" };
/// The link for CoDel's target, which is a third of PIE's.
const CODEL_LINK: Setting = Setting { rate_bps: 100e6, rtt: "10ms", interval: "500us" };
/// The setting of Pan et al., "PIE: A Lightweight Control Scheme to Address the
/// Bufferbloat Problem", HPSR 2013, for 5 and 50 flows.
const PAPER_LINK: Setting = Setting { rate_bps: 10e6, rtt: "100ms", interval: "2ms" };

const MANY: u64 = 50;

/// Mean queueing delay of a link in its steady state, in seconds.
fn held(queue: &str, setting: &Setting, flows: u64) -> f64 {
    let outcome = {
        let scenario = scenario(&text(queue, setting, flows));
        simulate(&scenario, scenario.seed)
    };
    let samples = link_series(&outcome, "bottleneck", ["t_s", "queue_delay_s"]);
    // The delays are those of transmitted packets: the length of the queue would include packets
    // that the AQM drops later.
    let settled = samples.iter().filter(|sample| sample[0] > SETTLING_S);
    let delays: Vec<_> = settled.map(|[_, wait]| *wait).filter(|wait| !wait.is_nan()).collect();
    delays.iter().sum::<f64>() / delays.len() as f64
}

/// Flows without ECN, so that every queue drops.
fn text(queue: &str, setting: &Setting, flows: u64) -> String {
    let Setting { rate_bps, rtt, interval } = setting;
    // One flow has few sawteeth in a minute; many flows have many.
    let duration_s = if flows == MANY { 25 } else { 50 };
    let mut text = format!(
        r#"
duration = "{duration_s}s"
record = {{ interval = "{interval}" }}
[link.bottleneck]
rate = "{rate}kbit"
buffer = "unlimited"
queue = "{queue}"
[link.back]
delay = "{rtt}"
"#,
        rate = rate_bps / 1e3,
    );
    for flow in 0..flows {
        text += &format!(
            r#"
[flow.f{flow}]
control = "cubic"
path = ["bottleneck"]
back = ["back"]
start = "{start}ms"
transport = {{ ecn = false }}
"#,
            start = flow * 37,
        );
    }
    text
}

/// Asserts that the mean delay with each number of flows is between `least` and `most` times the
/// target.
fn assert_near(queue: &str, setting: &Setting, flows: &[u64], target_s: f64, range: [f64; 2]) {
    for count in flows {
        let part = held(queue, setting, *count) / target_s;
        let [least, most] = range;
        assert!((least..=most).contains(&part), "{queue}, {count} flows: {part} of the target");
    }
}

/// The integral term of PI moves the probability until the delay is at the target, for any number of
/// flows. It misses the target by up to a fifth if a single flow's sawtooth empties the queue: then the
/// probability, which cannot fall below zero, does not make up for the time without a queue.
#[test]
fn pi_controllers_hold_the_queue_at_their_target() {
    for queue in ["pie", "dualpi2"] {
        assert_near(queue, &PIE_LINK, &[1, 2, 5, MANY], 0.015, [0.8, 1.2]);
        assert_near(queue, &CODEL_LINK, &[2], 0.015, [0.8, 1.2]);
    }
}

/// CoDel controls the minimum delay of an interval, not the mean. A sawtooth from zero to the target
/// has a mean of half the target; growth above the target until the interval ends adds up to the
/// same amount again.
#[test]
fn codel_holds_the_queue_of_a_few_flows_near_its_target() {
    assert_near("codel", &CODEL_LINK, &[1, 2, 5], 0.005, [0.5, 1.5]);
}

/// A reduction by 30 % keeps the link full only if the queueing delay is at least 3/7 of a round
/// trip: 43 ms, above any target. A single flow empties the queue, and its mean is below the target.
#[test]
fn a_single_flow_on_a_long_path_stays_below_every_target() {
    for (queue, target_s) in [("pie", 0.015), ("dualpi2", 0.015), ("codel", 0.005)] {
        let mean = held(queue, &PAPER_LINK, 1);
        assert!(mean < target_s, "{queue}: {mean}");
    }
}
