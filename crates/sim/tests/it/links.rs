//! Links: serialisation, rate changes, traces, loss, jitter, overhead, marks. Without randomness,
//! times are exact to the nanosecond.

use crate::common::{
    assert_near, exact, flow, link, run, run_exact, scenario_with_trace, simulate,
};
use sojourn_sim::RunSummary;

/// A file of `packets` full packets, which the initial window sends at once, over `path`. The
/// caller provides the links.
fn train(packets: u64, path: &str, links: &str) -> String {
    let tables = format!(
        r#"
{links}
[flow.train]
control = "cubic"
path = {path}
source = {{ kind = "file", size = "{}B" }}
"#,
        packets * 1448
    );
    exact("10s", &tables)
}

/// Arrival time of a train's last byte.
fn arrived(summary: &RunSummary) -> f64 {
    flow(summary, "train").completion_s.expect("the train arrives")
}

#[test]
fn a_train_over_two_links_takes_the_slower_one_s_time() {
    let links = r#"
[link.fast]
rate = "12Mbit"
delay = "3ms"
[link.slow]
rate = "6Mbit"
delay = "4ms"
"#;
    // 1 ms a packet on the fast link and 2 ms on the slow one, in either order.
    for path in [r#"["fast", "slow"]"#, r#"["slow", "fast"]"#] {
        let summary = run(&train(8, path, links));
        assert_eq!(arrived(&summary), 0.001 + 8.0 * 0.002 + 0.007, "{path}");
    }
    let summary = run(&train(8, r#"["fast", "slow"]"#, links));
    // The last of 8 packets arrives after 8 ms; 7 have left after 1 + 14 ms.
    assert_eq!(link(&summary, "slow").queue_delay_max_s, Some(0.007));
}

/// 12 kbit at 7 Mbit/s take 1714285.7 ns; seven of them take exactly 12 ms.
#[test]
fn what_is_below_a_nanosecond_is_not_lost() {
    let summary = run(&train(7, r#"["a"]"#, "[link.a]\nrate = \"7Mbit\""));
    assert_eq!(arrived(&summary), 0.012);
}

/// Packets of a constant rate of 1,000 a second over 10 s, lost while the probability is one, or
/// with the mean of a ramp. A packet of 12 kbit leaves a link of 120 Mbit/s after 0.1 ms.
#[test]
fn losses_follow_their_schedule() {
    let lost = |loss: &str| {
        let tables = format!(
            r#"
[link.a]
rate = "120Mbit"
delay = "20ms"
loss = {loss}
[flow.f]
control = "none"
path = ["a"]
source = {{ kind = "on-off", rate = "11584kbit", on = "1s", off = "0s" }}
"#
        );
        link(&run_exact("10s", &tables), "a").dropped_packets
    };
    assert_eq!(lost(r#"{ start = 0 }"#), 0);
    assert_eq!(lost(r#"{ start = 1, steps = [{ at = "4s", loss = 0 }] }"#), 4000);
    let outage =
        r#"{ start = 0.0, steps = [{ at = "5s", loss = 1.0 }, { at = "8s", loss = 0.0 }] }"#;
    assert_eq!(lost(outage), 3000);
    // A mean of a half over 8 s, then all: 6000, with a deviation of at most 45.
    let ramp = r#"{ start = 0, ramps = [{ from = "0s", to = "8s", loss = 1 }] }"#;
    assert_near(lost(ramp) as f64, 6000.0, 180.0, "lost during a ramp");
}

#[test]
fn overhead_counts_on_its_own_link_only() {
    // 1500 bytes count as 1600 and 1550: 1.28 ms and 1.24 ms.
    let links = r#"
[link.a]
rate = "10Mbit"
overhead = "100B"
[link.b]
rate = "10Mbit"
overhead = "50B"
"#;
    let summary = run(&train(1, r#"["a", "b"]"#, links));
    assert_eq!(arrived(&summary), 0.00252);
}

/// A packet of 12 kbit starts at 100 ms at 12 Mbit/s; the rate changes during its transmission.
#[test]
fn a_packet_under_way_feels_the_change() {
    let cases = [
        // Half of the packet at 12 Mbit/s, half at 1.2 Mbit/s.
        (r#"steps = [{ at = "100500us", rate = "1200kbit" }]"#, 0.0055),
        // An outage of 10 ms.
        (
            r#"steps = [{ at = "100500us", rate = "0bit" }, { at = "110500us", rate = "12Mbit" }]"#,
            0.011,
        ),
        // Down by 1 Mbit/s each millisecond, in steps with the value of their end: 11 kbit in the
        // first step, the last one at 10 Mbit/s.
        (r#"ramps = [{ from = "100ms", to = "110ms", rate = "2Mbit" }]"#, 0.0011),
    ];
    for (changes, expected) in cases {
        let links = format!("[link.a]\nrate = {{ start = \"12Mbit\", {changes} }}");
        let text = train(1, r#"["a"]"#, &links) + "start = \"100ms\"\n";
        assert_eq!(arrived(&run(&text)), expected, "{changes}");
    }
}

/// Packets leave at 1, 2, ... 10 ms. Without ordering, those after the change would overtake.
#[test]
fn a_shorter_delay_keeps_order() {
    let links = r#"
[link.a]
rate = "12Mbit"
delay = { start = "50ms", steps = [{ at = "5500us", delay = "10ms" }] }
"#;
    let text = train(10, r#"["a"]"#, links) + "host = { ack_every = 1 }\n";
    let summary = run(&text);
    let train = flow(&summary, "train");
    assert_eq!((arrived(&summary), train.rtt_min_s), (0.055, Some(0.051)));
    assert_eq!(train.retransmitted_packets, 0);
}

#[test]
fn a_longer_delay_holds_for_what_leaves_after_it() {
    let links = r#"
[link.a]
rate = "12Mbit"
delay = { start = "10ms", steps = [{ at = "5500us", delay = "50ms" }] }
"#;
    assert_eq!(arrived(&run(&train(10, r#"["a"]"#, links))), 0.060);
}

/// Four opportunities of 1504 bytes in 10 ms.
const TRACE: &str = "3\n3\n5\n10\n";
const TRACED: &str = "[link.a]\nrate = { trace = \"hand.trace\", spacing = \"burst\" }";

fn run_traced(text: &str) -> RunSummary {
    simulate(&scenario_with_trace(text, TRACE), 1).summary
}

#[test]
fn a_trace_releases_packets_at_its_opportunities() {
    let times_ms = [3, 3, 5, 10, 13, 13, 15, 20, 23];
    for (index, ms) in times_ms.into_iter().enumerate() {
        let summary = run_traced(&train(index as u64 + 1, r#"["a"]"#, TRACED));
        assert_eq!(arrived(&summary), f64::from(ms) / 1e3, "packet {index}");
    }
}

#[test]
fn an_opportunity_that_nothing_waits_for_is_lost() {
    let from = |start: &str| {
        let text = train(1, r#"["a"]"#, TRACED) + &format!("start = \"{start}\"\n");
        arrived(&run_traced(&text))
    };
    assert_eq!(from("4ms"), 0.001);
    // A packet that arrives at the time of an opportunity uses it.
    assert_eq!(from("5ms"), 0.0);
    assert_eq!(from("5001us"), 0.004999);
    assert_eq!(from("11ms"), 0.002);
}

/// Mahimahi counts bytes: two small packets share an opportunity; a large packet takes two.
#[test]
fn an_opportunity_is_1504_bytes() {
    let of = |mss: u64, packets: u64| {
        let tables = format!(
            r#"
{TRACED}
[flow.train]
control = "cubic"
path = ["a"]
source = {{ kind = "file", size = "{}B" }}
host = {{ mss = "{mss}B" }}
"#,
            mss * packets
        );
        arrived(&run_traced(&exact("1s", &tables)))
    };
    // 752 bytes with headers: exactly two for each opportunity.
    assert_eq!((of(700, 2), of(700, 4), of(700, 5)), (0.003, 0.003, 0.005));
    // 3000 bytes: the two opportunities at 3 ms; then those at 5 and 10 ms.
    assert_eq!((of(2948, 1), of(2948, 2)), (0.003, 0.010));
}

#[test]
fn a_trace_s_throughput_is_its_opportunities() {
    let flow = "[flow.train]\ncontrol = \"cubic\"\npath = [\"a\"]\n";
    let summary = run_traced(&exact("20s", &format!("{TRACED}\n{flow}")));
    let traced = link(&summary, "a");
    // 400 opportunities a second of 1504 bytes.
    assert_eq!(traced.capacity_bps, Some(400.0 * 1504.0 * 8.0));
    // 1500-byte packets leave 4 bytes of each opportunity, which the next packet at the same time
    // may use. The queue is empty at the start.
    let used = traced.utilisation.unwrap();
    assert!((0.99 * 1500.0 / 1504.0..=1.0).contains(&used), "{used}");
}

/// Datagrams at a constant 1000 packets a second for `seconds`: packets lost, packets sent.
fn lossy(loss: &str, seconds: u64) -> (f64, f64) {
    let summary = run_exact(
        &format!("{seconds}s"),
        &format!(
            r#"
record = {{ interval = "0s" }}
[link.a]
loss = {loss}
[flow.cbr]
control = "none"
path = ["a"]
source = {{ kind = "on-off", rate = "11584kbit", on = "1s", off = "0s" }}
"#
        ),
    );
    let cbr = flow(&summary, "cbr");
    assert_eq!(cbr.dropped_packets, link(&summary, "a").dropped_packets);
    (cbr.dropped_packets as f64, cbr.sent_packets as f64)
}

/// The number of losses is binomial: within four standard deviations (by chance, one seed in 16000
/// is outside).
#[test]
fn random_loss_has_its_probability() {
    for p in [0.001, 0.02, 0.5] {
        let (lost, n) = lossy(&p.to_string(), 100);
        assert_near(lost, n * p, 4.0 * (n * p * (1.0 - p)).sqrt(), &format!("loss {p}"));
    }
    let (lost, n) = lossy("1", 10);
    assert_eq!(lost, n);
}

/// Of 1000 packets a second for ten seconds, the link loses the seventh, the fourteenth, ...
#[test]
fn periodic_loss_takes_the_last_of_each_period() {
    for every in [1, 7, 1000] {
        let (lost, n) = lossy(&format!("{{ every = {every} }}"), 10);
        assert_eq!(lost, (n / f64::from(every)).floor(), "every {every}");
    }
}

/// The bad state holds for p / (p + r) of all packets. States of successive packets correlate by
/// 1 - p - r, which multiplies the binomial's variance by (2 - p - r) / (p + r) (an AR(1) sum).
#[test]
fn gilbert_elliott_loss_has_its_mean() {
    let (p, r): (f64, f64) = (0.01, 0.1);
    let bad = p / (p + r);
    for (loss_bad, loss_good) in [(1.0, 0.0), (0.5, 0.01)] {
        let model =
            format!("{{ p = {p}, r = {r}, loss_bad = {loss_bad}, loss_good = {loss_good} }}");
        let (lost, n) = lossy(&model, 200);
        let mean = bad * loss_bad + (1.0 - bad) * loss_good;
        // An upper bound in the second case, in which the state matters less.
        let variance = n * mean * (1.0 - mean) * (2.0 - p - r) / (p + r);
        assert_near(lost, n * mean, 4.0 * variance.sqrt(), &model);
    }
}

/// Probabilities of 0 and 1 make the states deterministic: if each packet changes the state,
/// packets 1, 3, 5, ... are lost.
#[test]
fn gilbert_elliott_states_follow_each_packet() {
    for (p, r, share) in [(1, 1, 0.5), (1, 0, 1.0), (0, 1, 0.0)] {
        let (lost, n) = lossy(&format!("{{ p = {p}, r = {r} }}"), 10);
        assert_eq!(lost, (n * share).ceil(), "{p} {r}");
    }
}

/// Packets under jitter arrive in order, so the sender declares no loss. Their delays cover
/// the whole range.
#[test]
fn jitter_keeps_order() {
    let summary = run_exact(
        "30s",
        r#"
[link.a]
rate = "100Mbit"
delay = "10ms"
jitter = "20ms"
[flow.steady]
control = "cubic"
path = ["a"]
source = { kind = "on-off", rate = "1Mbit", on = "1s", off = "0s" }
host = { ack_every = 1 }
"#,
    );
    let steady = flow(&summary, "steady");
    assert_eq!((steady.retransmitted_packets, steady.timeouts), (0, Some(0)));
    // 2590 samples of a delay that is uniform in 10 to 30 ms (longer for a packet that waits for
    // earlier ones), plus 0.12 ms of serialisation.
    assert_near(steady.rtt_min_s.unwrap(), 0.01012, 0.0005, "least");
    assert_near(steady.rtt_p99_s.unwrap(), 0.03012, 0.0005, "greatest");
    // The median of so many samples has a standard deviation of 0.2 ms.
    assert_near(steady.rtt_p50_s.unwrap(), 0.02012, 0.0008, "median");
}

/// 60 Mbit/s that include Ethernet's header, as in HTB, carry 57.38 Mbit/s.
#[test]
fn the_testbed_s_goodput_is_57_38_mbit() {
    let summary = run_exact(
        "10s",
        r#"
[link.a]
rate = "60Mbit"
overhead = "14B"
[flow.upload]
control = "ideal"
path = ["a"]
"#,
    );
    let expected = 60e6 * 1448.0 / 1514.0;
    assert_near(expected, 57.38e6, 0.005e6, "the figure");
    // The last packet of 50 thousand may still be in flight.
    assert_near(flow(&summary, "upload").goodput_bps, expected, 1448.0 * 8.0 / 10.0, "goodput");
    assert_near(link(&summary, "a").utilisation.unwrap(), 1.0, 1e-4, "utilisation");
}

/// A mark counts at the link that sets it, not at later links, even if they would mark the packet
/// too.
#[test]
fn marks_count_where_they_are_set() {
    let summary = run_exact(
        "20s",
        r#"
[link.before]
rate = "100Mbit"
queue = { kind = "codel", ecn = true }
[link.bottleneck]
rate = "10Mbit"
delay = "20ms"
queue = { kind = "codel", ecn = true }
[link.after]
rate = "100Mbit"
queue = { kind = "codel", ecn = true }
[flow.upload]
control = "dctcp"
path = ["before", "bottleneck", "after"]
"#,
    );
    let marks = |name| link(&summary, name).marked_packets;
    assert_eq!((marks("before"), marks("after")), (0, 0));
    let arrived = flow(&summary, "upload").marked_packets;
    // At the end, 20 ms of packets are between the bottleneck and the receiver.
    let under_way = 0.020 * 10e6 / 12e3 + 1.0;
    assert!(arrived > 100, "{arrived}");
    assert_near(marks("bottleneck") as f64, arrived as f64, under_way, "marks");
}

/// A buffer in time scales with the rate: 10 ms are 100 packets at 120 Mbit/s and 10 at 12 Mbit/s.
#[test]
fn a_buffer_in_time_follows_the_rate() {
    for (rate, packets) in [("120Mbit", 100), ("12Mbit", 10)] {
        let summary = run_exact(
            "100ms",
            &format!(
                r#"
[link.a]
rate = "{rate}"
buffer = "10ms"
[flow.train]
control = "cubic"
path = ["a"]
source = {{ kind = "file", size = "1448000B" }}
host = {{ initial_window = 1000, min_rto = "10s" }}
"#
            ),
        );
        // One packet is in transmission, and the first packet to wait finds the buffer empty.
        let kept = 1000 - link(&summary, "a").dropped_packets as i64;
        assert!((packets..=packets + 2).contains(&kept), "{rate}: {kept}");
    }
}

/// A path may pass the same link repeatedly.
#[test]
fn a_way_may_be_long() {
    let path = format!("[{}]", vec!["\"a\""; 600].join(", "));
    let summary = run(&train(1, &path, "[link.a]\nrate = \"12Mbit\""));
    assert_eq!(arrived(&summary), 0.600);
}

/// A buffer in time behaves like the same buffer in bytes: fair queueing drops from the largest
/// flow, and a thin flow beside a flood loses no packet (RFC 8290 section 4.1).
#[test]
fn a_buffer_in_time_leaves_the_choice_to_the_queue() {
    for buffer in ["150kB", "20ms"] {
        let summary = run_exact(
            "5s",
            &format!(
                r#"
[link.a]
rate = "60Mbit"
queue = "fq_codel"
buffer = "{buffer}"
[flow.flood]
control = "none"
path = ["a"]
source = {{ kind = "on-off", rate = "120Mbit", on = "1s", off = "0s" }}
[flow.voice]
control = "none"
path = ["a"]
source = {{ kind = "on-off", rate = "1Mbit", on = "1s", off = "0s" }}
"#
            ),
        );
        assert_eq!(flow(&summary, "voice").dropped_packets, 0, "{buffer}");
        assert!(flow(&summary, "flood").dropped_packets > 10_000, "{buffer}");
    }
}

/// At a few bits a second a packet takes minutes, and a whole bit is a large part of a link's
/// capacity in a second.
#[test]
fn a_link_never_uses_more_than_its_capacity() {
    for rate in 1..=9 {
        // The run ends during a packet and during a bit.
        let links = format!(
            "[link.a]\nrate = {{ start = \"{rate}bit\", steps = [{{ at = \"300ms\", rate = \"{}bit\" }}] }}",
            rate + 1
        );
        let text = train(3, r#"["a"]"#, &links).replace("10s", "1300ms");
        let summary = run(&text);
        let mut shares = vec![link(&summary, "a").utilisation];
        shares.extend(
            summary.spikes.iter().flat_map(|s| [s.utilisation_before, s.utilisation_after]),
        );
        for share in shares {
            assert_near(share.expect("it has a capacity"), 1.0, 1e-9, &format!("{rate} bit/s"));
        }
    }
}
