//! BBR version 3 over the simulator's links, beside version 1: the second table of
//! docs/bbr3.md.

mod common;

use common::{assert_near, flow, link, run};
use sojourn_sim::{LinkSummary, RunSummary};

/// A minute over 50 Mbit/s and 40 ms with a buffer of so many products.
fn minute(control: &str, bdps: u64, on_link: &str, others: &str) -> RunSummary {
    run(&format!(
        r#"
duration = "60s"
record = {{ interval = "0s" }}
[link.a]
rate = "50Mbit"
delay = "20ms"
buffer = "{}ms"
{on_link}
[link.back]
delay = "20ms"
[flow.one]
control = "{control}"
path = ["a"]
back = ["back"]
{others}
"#,
        40 * bdps
    ))
}

fn alone(control: &str, bdps: u64) -> RunSummary {
    minute(control, bdps, "", "")
}

/// Goodput in Mbit/s beside one CUBIC, CUBIC's, and the packets dropped.
fn beside_cubic(control: &str, bdps: u64) -> (f64, f64, u64) {
    let cubic = "[flow.cubic]\ncontrol = \"cubic\"\npath = [\"a\"]\nback = [\"back\"]";
    let summary = minute(control, bdps, "", cubic);
    let dropped = link(&summary, "a").dropped_packets;
    (mbit(&summary, "one"), mbit(&summary, "cubic"), dropped)
}

fn mbit(summary: &RunSummary, name: &str) -> f64 {
    flow(summary, name).goodput_bps / 1e6
}

/// Figures of the table: a tenth of rounding, and 1 % for changes of the simulator
/// that move single packets.
#[track_caller]
fn assert_figure(found: f64, printed: f64) {
    assert_near(found, printed, 0.05 + 0.01 * printed, "of the table");
}

#[test]
fn cubic_has_more_beside_version_3() {
    for (control, bdps, one, cubic) in [
        ("bbr", 1, 42.5, 4.9),
        ("bbr3", 1, 33.5, 14.4),
        ("bbr", 4, 18.0, 30.2),
        ("bbr3", 4, 22.0, 26.1),
    ] {
        let found = beside_cubic(control, bdps);
        assert_figure(found.0, one);
        assert_figure(found.1, cubic);
    }
    let dropped = |control| beside_cubic(control, 1).2;
    assert!(dropped("bbr3") * 4 < dropped("bbr") * 3);
}

#[test]
fn the_deep_buffer_stays_nearly_empty() {
    let delays = |link: &LinkSummary| {
        let all = [link.queue_delay_p50_s, link.queue_delay_p99_s, link.queue_delay_max_s];
        all.map(|delay| delay.unwrap() * 1e3)
    };
    for (control, goodput, expected) in
        [("bbr", 47.2, [1.8, 13.1, 84.0]), ("bbr3", 46.6, [0.0, 34.7, 41.8])]
    {
        let summary = alone(control, 4);
        assert_figure(mbit(&summary, "one"), goodput);
        let found = delays(link(&summary, "a"));
        found.into_iter().zip(expected).for_each(|(found, printed)| assert_figure(found, printed));
        assert_eq!(link(&summary, "a").dropped_packets, 0);
    }
}

#[test]
fn the_shallow_buffer_loses_a_twelfth() {
    let lost = |control| {
        let summary = alone(control, 1);
        let one = flow(&summary, "one");
        one.dropped_packets as f64 / one.sent_packets as f64
    };
    assert!((0.0014..0.0016).contains(&lost("bbr")), "{}", lost("bbr"));
    assert!((0.00010..0.00014).contains(&lost("bbr3")), "{}", lost("bbr3"));
}

#[test]
fn random_loss_costs_version_3_more() {
    for (loss, one, three) in [(0.005, 46.9, 42.2), (0.01, 46.5, 32.5), (0.02, 45.7, 22.6)] {
        let with = |control| minute(control, 4, &format!("loss = {loss}"), "");
        assert_figure(mbit(&with("bbr"), "one"), one);
        // Chance decides which probes end early: 24 of them, each good for a
        // twentieth of the rate or so.
        assert_near(mbit(&with("bbr3"), "one"), three, 0.1 * three, "version 3");
    }
}
