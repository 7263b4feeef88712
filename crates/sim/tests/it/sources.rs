//! Sources: number and times of their packets, exact without randomness.

use crate::common::{assert_near, flow, run};
use sojourn_sim::FlowSummary;

/// The flow `f` with this body over two delay lines: 30 ms out, 20 ms back.
fn over_delays(duration: &str, body: &str) -> FlowSummary {
    run(&format!(
        r#"
duration = "{duration}"
start_jitter = "0s"
noise = "none"
[link.out]
delay = "30ms"
[link.back]
delay = "20ms"
[flow.f]
path = ["out"]
back = ["back"]
{body}
"#
    ))
    .flows
    .remove(0)
}

/// Eight packets fit into the initial window: 30 ms for each file, and two pauses.
#[test]
fn files_follow_each_other_after_the_pause() {
    let f = over_delays(
        "10s",
        r#"control = "cubic"
source = { kind = "files", size = "11584B", count = 3, think = "500ms" }"#,
    );
    assert_eq!((f.completed_transfers, f.completion_s), (3, Some(3.0 * 0.030 + 2.0 * 0.5)));
    assert_eq!((f.sent_packets, f.retransmitted_packets), (24, 0));
    // Goodput counts the time until completion.
    assert_near(f.goodput_bps, 3.0 * 11584.0 * 8.0 / 1.09, 1e-3, "goodput");
}

#[test]
fn files_that_do_not_end_in_time_have_no_completion() {
    let f = over_delays(
        "1s",
        r#"control = "cubic"
source = { kind = "files", size = "11584B", count = 3, think = "500ms" }"#,
    );
    assert_eq!((f.completed_transfers, f.completion_s), (2, None));
}

/// 1448 bytes at 11.584 Mbit/s leave every millisecond: 100 in each of 20 on-times, the last of
/// which ends with the run.
#[test]
fn periodic_on_off_sends_the_same_each_time() {
    let f = over_delays(
        "9900ms",
        r#"control = "none"
source = { kind = "on-off", rate = "11584kbit", on = "100ms", off = "400ms" }"#,
    );
    assert_eq!(f.sent_packets, 2000);
    assert_eq!((f.rtt_min_s, f.completion_s), (None, None));
}

/// Packets leave at 0, g, 2g, ... below the on-time X: ceil(X / g) packets, on average 1 / (1 -
/// exp(-g / on)). The on-time within T has a variance of about 2 T on^2 off^2 / (on + off)^3 (an
/// alternating renewal process).
#[test]
fn exponential_on_off_has_its_mean_rate() {
    for (on_s, off_s) in [(0.05, 0.05), (0.1, 0.35), (0.3, 0.02)] {
        let (gap_s, duration_s) = (0.001_f64, 400.0);
        let f = over_delays(
            "400s",
            &format!(
                r#"control = "none"
source = {{ kind = "on-off", rate = "11584kbit", on = "{}ms", off = "{}ms", distribution = "exponential" }}"#,
                on_s * 1e3,
                off_s * 1e3
            ),
        );
        let cycles = duration_s / (on_s + off_s);
        let expected = cycles / (1.0 - (-gap_s / on_s).exp());
        let cycle: f64 = on_s + off_s;
        let variance = 2.0 * duration_s * (on_s * off_s).powi(2) / cycle.powi(3);
        // Four standard deviations: by chance, one seed in 16000 is outside.
        let tolerance = 4.0 * variance.sqrt() / gap_s;
        assert_near(f.sent_packets as f64, expected, tolerance, &format!("{on_s} s on"));
        assert!(tolerance < 0.2 * expected, "a tolerance that tells something");
    }
}

/// At 1 Mbit/s a packet leaves every 11.584 ms, the first one at once.
#[test]
fn constant_rate_is_on_off_without_off() {
    let f = over_delays(
        "60s",
        r#"control = "none"
source = { kind = "on-off", rate = "1Mbit", on = "1s", off = "0s" }"#,
    );
    assert_eq!(f.sent_packets, (60.0_f64 / 0.011584) as u64 + 1);
    // 30 ms of packets are in flight, and the last packet is one too many.
    assert_near(f.goodput_bps, 1e6, 1e6 * 0.030 / 60.0 + 11584.0 / 60.0, "goodput");
}

/// The same rate through a connection whose window does not limit it.
#[test]
fn a_connection_carries_a_constant_rate() {
    let f = over_delays(
        "60s",
        r#"control = "cubic"
source = { kind = "on-off", rate = "1Mbit", on = "1s", off = "0s" }"#,
    );
    assert_eq!((f.sent_packets, f.retransmitted_packets), (5180, 0));
    assert_eq!(f.rtt_min_s, Some(0.050));
}

/// A request takes the return path, its response the forward path: 50 ms.
#[test]
fn a_response_takes_one_round_trip() {
    let request = |pause: &str| {
        over_delays(
            "9990ms",
            &format!(
                r#"control = "cubic"
source = {{ kind = "request", request = "100B", response = "1000B"{pause} }}"#
            ),
        )
    };
    let thinking = request(r#", think = "150ms""#);
    assert_eq!((thinking.response_p50_s, thinking.response_p99_s), (Some(0.050), Some(0.050)));
    // Every 200 ms, the first at 50 ms.
    assert_eq!((thinking.completed_transfers, thinking.completion_s), (50, None));
    // Every 100 ms; and every 50 ms with an interval shorter than the response time.
    assert_eq!(request(r#", interval = "100ms""#).completed_transfers, 100);
    assert_eq!(request(r#", interval = "10ms""#).completed_transfers, 199);
    assert_eq!(request("").completed_transfers, 199);
    let counted = request(r#", think = "150ms", count = 4"#);
    assert_eq!((counted.completed_transfers, counted.completion_s), (4, Some(0.650)));
}

/// With link rates, serialisation adds to this: 152 bytes at 1 Mbit/s and 1052 at 8 Mbit/s.
#[test]
fn requests_and_responses_take_their_time_on_the_wire() {
    let summary = run(r#"
duration = "5s"
start_jitter = "0s"
noise = "none"
[link.down]
rate = "8Mbit"
delay = "30ms"
[link.up]
rate = "1Mbit"
delay = "20ms"
[flow.web]
control = "reno"
path = ["down"]
back = ["up"]
source = { kind = "request", request = "100B", response = "1000B", interval = "1s" }
"#);
    let web = flow(&summary, "web");
    // The five transfers do not wait, so every quantile is the same.
    assert_eq!(web.response_p99_s, Some(0.050 + 0.001216 + 0.001052));
    assert_eq!(web.completed_transfers, 5);
}

/// A response of several windows takes several round trips: 10 packets, then 20, then the last 10
/// of a window of 40 (slow start, RFC 5681 section 3.1).
#[test]
fn a_long_response_takes_slow_start() {
    let f = over_delays(
        "1s",
        r#"control = "reno"
source = { kind = "request", request = "100B", response = "57920B", count = 1 }"#,
    );
    assert_eq!(f.completion_s, Some(0.150));
}

#[test]
fn a_flow_sends_between_its_start_and_its_stop() {
    let f = over_delays(
        "10s",
        r#"control = "none"
start = "1s"
stop = "3500500us"
source = { kind = "on-off", rate = "11584kbit", on = "1s", off = "0s" }"#,
    );
    assert_eq!(f.sent_packets, 2501);
    // 30 of these were in flight at the stop.
    let expected = 2471.0 * 11584.0 / 2.5005;
    assert_near(f.goodput_bps, expected, 1.0, "goodput from start to stop");
}

/// Goodput does not count data that a queue still holds at the flow's stop.
#[test]
fn goodput_is_not_above_the_link_where_a_flow_stops() {
    let summary = run(r#"
duration = "10s"
start_jitter = "0s"
noise = "none"
[link.a]
rate = "10Mbit"
delay = "10ms"
buffer = "unlimited"
[flow.f]
control = "reno"
path = ["a"]
stop = "2s"
"#);
    let f = flow(&summary, "f");
    assert!(f.goodput_bps <= 10e6 * 1448.0 / 1500.0, "{}", f.goodput_bps);
    // All packets sent were delivered in the end.
    assert_eq!(summary.links[0].delivered_packets, f.sent_packets);
}
