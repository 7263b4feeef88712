//! The true available bandwidth, as signalled to the ideal estimator.

use super::dumbbell::{Dumbbell, estimates, loads};
use crate::common::{flow, run};

const IDEAL: &str = ", estimator = \"ideal\"";

/// C less the cross traffic's rate while it is on. The signal of its start travels from the
/// bottleneck via the receiver; the signal of its end also waits for the queue (TR11-007 section
/// IV: RTT + D, with the path to the bottleneck, which has no delay here).
#[test]
fn it_is_what_cross_traffic_leaves_when_a_packet_would_tell() {
    let (on, off) = (100, 350);
    let cross = Some((4e8, on, off, 1));
    let params = ", estimator = \"ideal\", tau = \"0s\", eta = \"0s\"";
    let run =
        Dumbbell { capacity: 1e9, rtt_ms: 50.0, seconds: 3, sample_ms: 1, params, cross }.run();
    let (estimates, waits) = (estimates(&run), loads(&run));
    let turns: Vec<_> = estimates.windows(2).filter(|pair| pair[0].1 != pair[1].1).collect();
    assert_eq!(turns.len(), 10, "five bursts begin and end: {turns:?}");
    for (place, pair) in turns.into_iter().enumerate() {
        let ((_, before), (at, after)) = (pair[0], pair[1]);
        let (begins, cycle) = (place % 2 == 0, (place / 2) as f64 * 0.450);
        let step = if begins { -4e8 } else { 4e8 };
        assert!((after - before - step).abs() < 1e3, "{before} -> {after}");
        let wait = if begins { 0.0 } else { greatest(&waits, 1.0 + cycle, 1.2 + cycle) };
        let due = 1.0 + cycle + if begins { 0.0 } else { 0.100 } + wait + 0.050;
        // Samples are taken every millisecond; the maximum delay is that of a whole packet.
        assert!((at - due - 0.0005).abs() < 0.0012, "{at}, not {due}");
    }
}

/// Maximum delay between two times.
fn greatest(waits: &[(f64, f64, f64)], from: f64, to: f64) -> f64 {
    let within = waits.iter().filter(|(t, ..)| (from..to).contains(t));
    within.map(|(.., wait)| *wait).fold(0.0, f64::max)
}

/// A source that stops leaves its rate to the others; the signal passes the links before the
/// bottleneck first. The controller `ideal` receives it as well.
#[test]
fn news_is_of_whatever_has_no_control() {
    let text = r#"
duration = "4s"
start_jitter = "0s"
noise = "none"
[link.access]
delay = "30ms"
[link.bottleneck]
rate = "100Mbit"
delay = "10ms"
buffer = "unlimited"
[link.back]
delay = "10ms"
[flow.f]
control = CONTROL
path = ["bottleneck"]
back = ["back"]
host = { receive_times = true }
[flow.cross]
control = "none"
path = ["access", "bottleneck"]
start = "1s"
stop = "3s"
source = { kind = "on-off", rate = "50Mbit", on = "7ms", off = "13ms", distribution = "exponential" }
"#;
    for control in ["{ kind = \"rapid\", estimator = \"ideal\" }", "\"ideal\""] {
        let summary = run(&text.replace("CONTROL", control));
        let (f, cross) = (flow(&summary, "f"), flow(&summary, "cross"));
        // The share of time in which the source sends is random, but the two flows' goodputs add up
        // to the capacity.
        let carried = f.goodput_bps * 4.0 + cross.goodput_bps * 2.0;
        assert!((carried / 4.0 / (100e6 / super::dumbbell::WIRE) - 1.0).abs() < 0.05, "{control}");
        assert!(cross.goodput_bps > 10e6, "{control}: {cross:?}");
        // The excess of a few bursts, less than that of two seconds.
        let queue = summary.links[1].queue_delay_max_s.unwrap();
        assert!((0.001..0.3).contains(&queue), "{control}: {queue}");
    }
}

/// The ideal estimator starts at the signalled rate, without a search and without streams.
#[test]
fn it_begins_at_what_it_is_told() {
    let run = Dumbbell {
        capacity: 1e9,
        rtt_ms: 100.0,
        seconds: 1,
        sample_ms: 10,
        params: IDEAL,
        cross: None,
    }
    .run();
    let loads = loads(&run);
    assert!(loads.iter().skip(1).all(|(_, bps, _)| *bps > 0.995e9), "{loads:?}");
}
