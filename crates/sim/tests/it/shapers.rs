//! Shapers and policers in front of a link.

use crate::common::{assert_near, flow, link, run, run_exact};

/// A flow over a link with this queue and rate.
fn text(queue: &str, rate: &str) -> String {
    format!(
        r#"
duration = "20s"
[link.a]
rate = {rate}
delay = "10ms"
queue = {queue}
buffer = "100packets"
[link.back]
delay = "10ms"
[flow.f]
control = "cubic"
path = ["a"]
back = ["back"]
"#
    )
}

/// A shaper of 12 and then 6 Mbit/s in front of a link of 1 Gbit/s: the flow has the rate of each
/// half, and the change is one of capacity, with its spike.
#[test]
fn a_shaper_follows_its_schedule() {
    let schedule = r#"{ start = "12Mbit", steps = [{ at = "10s", rate = "6Mbit" }] }"#;
    let shaped = run(&text(&format!("{{ kind = \"htb\", rate = {schedule} }}"), "\"1Gbit\""));
    let plain = run(&text("\"droptail\"", schedule));
    assert_near(link(&shaped, "a").capacity_bps.unwrap_or(0.0), 9e6, 0.01e6, "capacity");
    assert_near(flow(&shaped, "f").goodput_bps, flow(&plain, "f").goodput_bps, 0.1e6, "goodput");
    let spike = &shaped.spikes[0];
    assert_eq!((spike.at_s, spike.from_bps, spike.to_bps), (10.0, 12e6, 6e6));
    // Half of the rate: the packets that wait take twice as long, and the window of 12 Mbit/s
    // arrives for one loop more.
    let (shaped, plain) = (spike.spike_s.unwrap_or(0.0), plain.spikes[0].spike_s.unwrap_or(0.0));
    assert_near(shaped, plain, 0.02, "spike");
}

/// A shaper that rises above one inside it: the capacity is that of the slower one at each time, 4 and
/// then 6 Mbit/s.
#[test]
fn an_inner_shaper_bounds_a_schedule() {
    let outer = r#"{ start = "4Mbit", steps = [{ at = "10s", rate = "12Mbit" }] }"#;
    let inner = r#"{ kind = "htb", rate = "6Mbit" }"#;
    let queue = format!("{{ kind = \"htb\", rate = {outer}, inner = {inner} }}");
    let summary = run(&text(&queue, "\"1Gbit\""));
    assert_near(link(&summary, "a").capacity_bps.unwrap_or(0.0), 5e6, 0.01e6, "capacity");
    assert_near(link(&summary, "a").utilisation.unwrap_or(0.0), 1.0, 0.01, "utilisation");
    assert_eq!((summary.spikes[0].from_bps, summary.spikes[0].to_bps), (4e6, 6e6));
}

/// tc-police(8): a constant 24 Mbit/s through a policer of 12 Mbit/s loses half, and what passes
/// waits for the link alone.
#[test]
fn a_policer_drops_and_does_not_delay() {
    let summary = run_exact(
        "10s",
        r#"
[link.a]
rate = "100Mbit"
queue = { kind = "policer", rate = "12Mbit", burst = "30kB" }
[flow.f]
control = "none"
path = ["a"]
source = { kind = "on-off", rate = "23168kbit", on = "1s", off = "0s" }
"#,
    );
    let policed = link(&summary, "a");
    assert_near(policed.delivered_packets as f64, 10_020.0, 2.0, "delivered packets");
    assert_near(policed.dropped_packets as f64, 9980.0, 2.0, "dropped packets");
    assert_eq!(policed.queue_delay_max_s, Some(0.0));
}
