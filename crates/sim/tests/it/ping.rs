//! Echo requests: measured round trips, losses, and series.

use crate::common::{flow, link, run, run_exact, scenario, simulate};
use crate::series::flow_series;

/// 84 bytes (64 of ICMP, 20 of IP) take 672 us at 1 Mbit/s and 84 us at 8 Mbit/s, on an otherwise
/// idle path.
const ALONE: &str = r#"
duration = "10100ms"
start_jitter = "0s"
noise = "none"
[link.out]
rate = "1Mbit"
delay = "30ms"
[link.back]
rate = "8Mbit"
delay = "20ms"
[flow.ping]
control = "none"
path = ["out"]
back = ["back"]
source = "ping"
"#;
const ALONE_S: f64 = 0.050 + 0.000672 + 0.000084;

#[test]
fn a_ping_takes_both_ways() {
    let summary = run(ALONE);
    let ping = flow(&summary, "ping");
    // At 0 s, 1 s, ... 10 s, all of them answered.
    assert_eq!((ping.sent_packets, ping.completed_transfers, ping.dropped_packets), (11, 11, 0));
    let all = [ping.rtt_min_s, ping.rtt_p50_s, ping.rtt_p99_s, ping.rtt_max_s, ping.rtt_mean_s];
    assert_eq!(all, [Some(ALONE_S); 5]);
    assert_eq!((ping.base_rtt_s, ping.response_p50_s), (0.050, None));
    // The reply has the size of the request.
    assert_eq!(link(&summary, "back").arrived_packets, 11);
}

#[test]
fn size_and_interval_are_the_users() {
    let text = ALONE.replace(
        r#""ping""#,
        r#"{ kind = "ping", interval = "250ms", size = "1480B" }
start = "100ms"
stop = "1100ms""#,
    );
    let summary = run(&text);
    let ping = flow(&summary, "ping");
    // At 100, 350, 600 and 850 ms; the flow stops before the one at 1100 ms.
    assert_eq!((ping.sent_packets, ping.completed_transfers), (4, 4));
    // 1500 bytes at 1 and at 8 Mbit/s.
    assert_eq!(ping.rtt_max_s, Some(0.050 + 0.012 + 0.0015));
}

/// A queue whose input is twice its rate is always full. It delays a ping by the transmission time
/// of a full buffer.
#[test]
fn a_ping_waits_as_long_as_the_queue_is() {
    let summary = run_exact(
        "60s",
        r#"
[link.out]
rate = "10Mbit"
delay = "10ms"
buffer = "300kB"
[link.back]
delay = "10ms"
[flow.flood]
control = "none"
path = ["out"]
source = { kind = "on-off", rate = "20Mbit", on = "1s", off = "0s" }
[flow.ping]
control = "none"
path = ["out"]
back = ["back"]
source = "ping"
start = "10s"
stop = "59500ms"
"#,
    );
    let ping = flow(&summary, "ping");
    // 300 kB at 10 Mbit/s. Less up to a packet (1.2 ms) that did not fit; plus up to a packet, for
    // the packet in transmission and the ping's own 67 us.
    let full = 0.020 + 0.240;
    let (least, most) = (ping.rtt_min_s.unwrap(), ping.rtt_max_s.unwrap());
    assert!(full - 0.0013 < least && most < full + 0.0013, "{least} s to {most} s");
    // One every second from 10 s to 59 s.
    assert_eq!(ping.sent_packets, 50);
    assert_eq!(ping.completed_transfers + ping.dropped_packets, 50);
}

/// Every second packet is lost: requests on the first link, or replies on the second.
#[test]
fn a_lost_ping_has_no_round_trip() {
    for lossy in ["out", "back"] {
        let header = format!("[link.{lossy}]\n");
        let text = ALONE.replace(&header, &format!("{header}loss = {{ every = 2 }}\n"));
        let summary = run(&text);
        let ping = flow(&summary, "ping");
        let counts = (ping.sent_packets, ping.completed_transfers, ping.dropped_packets);
        assert_eq!(counts, (11, 6, 5), "on {lossy}");
        assert_eq!(ping.rtt_max_s, Some(ALONE_S), "on {lossy}");
    }
}

/// Flow queueing separates replies, requests and a flow that fills the link: a ping waits for at
/// most one full packet (1.2 ms) at each link.
#[test]
fn a_ping_is_a_flow_of_its_own() {
    let summary = run_exact(
        "30s",
        r#"
[link.out]
rate = "10Mbit"
delay = "10ms"
queue = "fq_codel"
[link.back]
rate = "10Mbit"
delay = "10ms"
queue = "fq_codel"
[flow.ping]
control = "none"
path = ["out"]
back = ["back"]
source = { kind = "ping", interval = "100ms" }
[flow.bulk]
control = "cubic"
path = ["out"]
back = ["back"]
"#,
    );
    let longest = flow(&summary, "ping").rtt_max_s.unwrap();
    assert!(longest < 0.020 + 2.0 * (0.0012 + 0.0001), "{longest} s");
}

/// A sample contains the round trips and the responses that ended since the previous sample.
#[test]
fn the_series_have_each_round_trip_and_each_response() {
    let text = ALONE.to_owned()
        + r#"
[flow.web]
control = "reno"
path = ["back"]
back = ["out"]
source = { kind = "request", request = "100B", response = "1000B", interval = "1s" }
start = "500ms"
"#;
    let outcome = simulate(&scenario(&text), 1);
    let at = |name: &str, column: &str| -> Vec<[f64; 2]> {
        let rows = flow_series(&outcome, name, ["t_s", column]);
        rows.into_iter().filter(|row| !row[1].is_nan()).collect()
    };
    // Replies arrive 51 ms after each second, and samples are taken every 10 ms.
    let expected: Vec<_> = (0..=10).map(|n| [f64::from(n * 100 + 6) / 100.0, ALONE_S]).collect();
    assert_eq!(at("ping", "rtt_s"), expected);
    // 152 bytes at 1 Mbit/s and 1052 at 8 Mbit/s.
    let response_s = 0.050 + 0.001216 + 0.001052;
    let expected: Vec<_> = (0..10).map(|n| [f64::from(n * 100 + 56) / 100.0, response_s]).collect();
    assert_eq!(at("web", "response_s"), expected);
    assert_eq!(outcome.summary.flows[1].response_mean_s, Some(response_s));
    assert!(at("ping", "response_s").is_empty());
}
