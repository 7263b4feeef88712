//! Queueing delay of AQMs relative to their targets, with a few flows and with many.

use crate::common::{link, scenario, simulate};
use crate::series::link_series;
use crate::table::Table;

/// A link that CUBIC flows share.
struct Setting {
    label: &'static str,
    rate_bps: f64,
    rtt: &'static str,
    /// Time between samples: a few packet times at most.
    interval: &'static str,
}

/// Seconds excluded from the statistics.
const SETTLING_S: f64 = 10.0;

/// The link for PIE's target. A single flow empties the queue with each reduction of its window if
/// the round trip is much longer than the target.
const PIE_LINK: Setting =
    Setting { label: "10 Mbit/s, 50 ms", rate_bps: 10e6, rtt: "50ms", interval: "2ms" };
/// The link for CoDel's target, which is a third of PIE's.
const CODEL_LINK: Setting =
    Setting { label: "100 Mbit/s, 10 ms", rate_bps: 100e6, rtt: "10ms", interval: "500us" };
/// The setting of Pan et al., "PIE: A Lightweight Control Scheme to Address the
/// Bufferbloat Problem", HPSR 2013, for 5 and 50 flows.
const PAPER_LINK: Setting =
    Setting { label: "10 Mbit/s, 100 ms", rate_bps: 10e6, rtt: "100ms", interval: "2ms" };

const FEW: [u64; 5] = [1, 2, 3, 4, 5];
const MANY: u64 = 50;

/// Steady-state figures of a link.
struct Held {
    mean_s: f64,
    p99_s: f64,
    utilisation: f64,
    lost: f64,
}

fn held(queue: &str, setting: &Setting, flows: u64) -> Held {
    let outcome = {
        let scenario = scenario(&text(queue, setting, flows));
        simulate(&scenario, scenario.seed)
    };
    let samples = link_series(&outcome, "bottleneck", ["t_s", "queue_delay_s"]);
    // The delays are those of transmitted packets: the
    // length of the queue would include packets that the AQM drops later.
    let settled = samples.iter().filter(|sample| sample[0] > SETTLING_S);
    let waits = settled.map(|sample| sample[1]);
    let mut delays: Vec<_> = waits.filter(|wait| !wait.is_nan()).collect();
    delays.sort_by(f64::total_cmp);
    let bottleneck = link(&outcome.summary, "bottleneck");
    Held {
        mean_s: delays.iter().sum::<f64>() / delays.len() as f64,
        p99_s: delays[delays.len() * 99 / 100],
        utilisation: bottleneck.utilisation.expect("a link with a capacity"),
        lost: bottleneck.dropped_packets as f64 / bottleneck.arrived_packets as f64,
    }
}

/// Flows without ECN, so that every queue drops.
fn text(queue: &str, setting: &Setting, flows: u64) -> String {
    let Setting { rate_bps, rtt, interval, .. } = setting;
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

/// Adds four rows to `table`, with the cell for many flows last.
fn rows(table: &mut Table, queue: &str, setting: &Setting) -> Vec<Held> {
    let all: Vec<_> = FEW.iter().chain([&MANY]).map(|flows| held(queue, setting, *flows)).collect();
    let mut row = |what: &str, cell: &dyn Fn(&Held) -> String| {
        let mut cells = vec![queue.to_owned(), setting.label.to_owned(), what.to_owned()];
        cells.extend(all.iter().map(cell));
        table.row(&cells);
    };
    row("mean delay", &|held| format!("{:.1} ms", held.mean_s * 1e3));
    row("99th percentile", &|held| format!("{:.1} ms", held.p99_s * 1e3));
    row("utilisation", &|held| format!("{:.3}", held.utilisation));
    row("lost", &|held| format!("{:.2} %", held.lost * 100.0));
    all
}

/// Asserts that all means are between `least` and `most` times the target.
fn assert_near(all: &[Held], target_s: f64, least: f64, most: f64, what: &str) {
    for (place, held) in all.iter().enumerate() {
        let part = held.mean_s / target_s;
        assert!((least..=most).contains(&part), "{what}, column {place}: {part} of the target");
    }
}

#[test]
fn aqms_hold_the_queue_of_a_few_flows_near_their_targets() {
    let mut table =
        Table::new(&["queue", "link, round trip", "", "1 flow", "2", "3", "4", "5", "50 flows"]);
    for setting in [&PIE_LINK, &CODEL_LINK, &PAPER_LINK] {
        let [pie, dualpi2, codel] =
            ["pie", "dualpi2", "codel"].map(|queue| rows(&mut table, queue, setting));
        if setting.label != PAPER_LINK.label {
            assert_near(&pie, 0.015, 0.8, 1.2, "PIE");
            assert_near(&dualpi2, 0.015, 0.8, 1.2, "DualPI2");
        } else {
            // A reduction by 30 % keeps the link full only if the queueing delay is at least 3/7 of
            // a round trip: 43 ms, above any target.
            for (alone, target_s) in [(&pie[0], 0.015), (&dualpi2[0], 0.015), (&codel[0], 0.005)] {
                assert!(alone.mean_s < target_s, "one flow: {}", alone.mean_s);
                assert!(alone.utilisation < 0.95, "one flow: {}", alone.utilisation);
            }
        }
        let (many, few) = codel.split_last().expect("six of them");
        // Many flows: at least twice the target.
        assert!(many.mean_s > 2.0 * 0.005, "many flows need more drops: {}", many.mean_s);
        // CoDel controls the minimum delay of an interval, not the mean. A sawtooth from zero to
        // the target has a mean of half the target; growth above the target until the interval ends
        // adds up to the same amount again.
        if setting.label == CODEL_LINK.label {
            assert_near(few, 0.005, 0.5, 1.5, "CoDel");
        }
    }
    table.publish_in("queues.md");
}
