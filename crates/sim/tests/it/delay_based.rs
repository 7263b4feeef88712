//! Vegas, LEDBAT, LEDBAT++ and Swift over a bottleneck: queue and fairness as their papers describe.

use crate::common::{PACKET_BITS, flow, jain, link, run};
use sojourn_sim::RunSummary;

/// Flows over 20 Mbit/s and 40 ms: controller, start in seconds.
fn over(buffer: &str, seconds: u64, flows: &[(&str, f64)]) -> RunSummary {
    let mut text = format!(
        r#"
duration = "{seconds}s"
[link.bottleneck]
rate = "20Mbit"
delay = "20ms"
buffer = "{buffer}"
[link.back]
delay = "20ms"
"#
    );
    for (place, (control, start)) in flows.iter().enumerate() {
        text += &format!(
            r#"
[flow.f{place}]
control = "{control}"
path = ["bottleneck"]
back = ["back"]
start = "{start}s"
host = {{ ack_every = 1, receive_times = true }}
"#
        );
    }
    run(&text)
}

fn goodput(summary: &RunSummary, place: usize) -> f64 {
    flow(summary, &format!("f{place}")).goodput_bps
}

fn used(summary: &RunSummary) -> f64 {
    link(summary, "bottleneck").utilisation.expect("it has a rate")
}

/// Vegas, section III-C: each flow keeps between alpha = 2 and beta = 4 packets in the queue. The
/// flows' initial windows, 6 ms each, follow one another within the first round trip, so that every
/// flow measures the path's own round-trip time.
#[test]
fn vegas_flows_keep_two_to_four_packets_each_in_the_queue() {
    for n in [1, 2, 4] {
        let flows: Vec<_> = (0..n).map(|i| ("vegas", f64::from(i) * 0.008)).collect();
        let summary = over("10MB", 60, &flows);
        let packet = PACKET_BITS / 20e6;
        let queue = link(&summary, "bottleneck").queue_delay_p50_s.unwrap() / packet;
        let n = f64::from(n);
        // One packet more for the packet in transmission, which also adds delay.
        assert!(queue >= 2.0 * n && queue <= 4.0 * n + 1.0, "{n} flows: {queue} packets");
        assert!(used(&summary) > 0.98, "{n} flows: {}", used(&summary));
    }
}

/// Maximum queueing delay in seconds of one Vegas flow over 50 Mbit/s and 40 ms with 4 BDP of
/// buffer, and its utilisation in the first two seconds.
fn vegas_starts(slow_start: &str) -> (f64, f64) {
    let summary = run(&format!(
        r#"
duration = "2s"
[link.bottleneck]
rate = "50Mbit"
delay = "20ms"
buffer = "160ms"
[link.back]
delay = "20ms"
[flow.one]
control = {{ kind = "vegas", slow_start = "{slow_start}" }}
path = ["bottleneck"]
back = ["back"]
"#
    ));
    (link(&summary, "bottleneck").queue_delay_max_s.unwrap(), used(&summary))
}

/// Section III-D: the window doubles in every other round trip, with a comparison in between. When
/// slow start ends, the window is at most twice the path's capacity, so that the queue is at most
/// one BDP, 40 ms, and gamma. With a doubling in every round trip (Linux), the window doubles once
/// more before the first comparison that shows the queue.
#[test]
fn vegas_starts_with_no_more_than_a_path_in_the_queue() {
    let (paper, used) = vegas_starts("every-other");
    assert!(paper > 0.0 && paper <= 0.040 + PACKET_BITS / 50e6, "{paper} s");
    let (linux, _) = vegas_starts("every");
    assert!(linux > 2.0 * paper && linux <= 3.0 * 0.040, "{linux} s, {paper} s");
    println!("every other: {paper} s, {used}; every: {linux} s");
    // The window grows from 10 packets to 160 in eight round trips, a third of a second, in which
    // most of the link is unused.
    assert!(used > 0.8, "{used}");
}

/// Section 4.5: 60 ms of queueing delay, plus the window's growth until the delay shows: a third of
/// a packet, 0.2 ms, each round trip. Section 4.4: slowdowns cost a tenth at most.
#[test]
fn ledbat_alone_keeps_its_target() {
    let summary = over("10MB", 120, &[("ledbat++", 0.0)]);
    let queue = link(&summary, "bottleneck");
    let p99 = queue.queue_delay_p99_s.unwrap();
    assert!(p99 > 0.055 && p99 < 0.063, "{p99}");
    assert!(used(&summary) > 0.9, "{}", used(&summary));
}

/// The draft's purpose: a flow that fills the queue beyond the target (400 ms here) gets the link,
/// except for two packets in a round trip.
#[test]
fn ledbat_yields_to_reno_and_cubic() {
    for other in ["reno", "cubic"] {
        let summary = over("1MB", 120, &[("ledbat++", 0.0), (other, 20.0)]);
        let alone = over("1MB", 120, &[(other, 20.0)]);
        let part = goodput(&summary, 1) / goodput(&alone, 0);
        assert!(part > 0.95, "{other} has {part} of what it has alone");
    }
}

/// Section 4.4: slowdowns show a latecomer the path without a queue; section 4.3 equalises the
/// shares.
#[test]
fn ledbat_shares_with_a_latecomer() {
    let summary = over("10MB", 300, &[("ledbat++", 0.0), ("ledbat++", 30.0)]);
    let (first, second) = (goodput(&summary, 0), goodput(&summary, 1));
    assert!(jain(&[first, second]) > 0.95, "{first} {second}");
    let p99 = link(&summary, "bottleneck").queue_delay_p99_s.unwrap();
    // A base delay that includes the first flow's queue would add that queue's delay.
    assert!(p99 < 0.070, "{p99}");
}

/// RFC 6817: a flow alone fills the link, with a queueing delay of TARGET, 100 ms, and a packet that
/// the window's growth adds before the delay shows it.
#[test]
fn rfc_6817_keeps_its_target() {
    let summary = over("10MB", 120, &[("ledbat", 0.0)]);
    let queue = link(&summary, "bottleneck");
    let (p50, p99) = (queue.queue_delay_p50_s.unwrap(), queue.queue_delay_p99_s.unwrap());
    assert!((0.095..0.102).contains(&p50) && p99 < 0.104, "{p50} {p99}");
    assert!(used(&summary) > 0.95, "{}", used(&summary));
}

/// RFC 6817 section 4.4, the latecomer's advantage: a flow that starts into the standing queue of
/// another takes it for the base delay, so that the queue grows by another target, and the first flow
/// starves.
#[test]
fn rfc_6817_starves_an_earlier_flow() {
    let summary = over("10MB", 300, &[("ledbat", 0.0), ("ledbat", 60.0)]);
    let (first, second) = (goodput(&summary, 0), goodput(&summary, 1));
    let max = link(&summary, "bottleneck").queue_delay_max_s.unwrap();
    assert!((0.19..0.21).contains(&max), "{max}");
    // The first flow had the link for the first minute.
    let contended = (first * 300.0 - 19e6 * 60.0) / 240.0;
    let expected = fluid(240.0, f64::INFINITY, |queue| 1.0 - (queue - TARGET) / TARGET);
    let ratio = contended / second / expected;
    assert!((ratio - 1.0).abs() < 0.1, "{contended} of {second}, {expected} expected");
}

/// LEDBAT's target in seconds (RFC 6817 section 2.5).
const TARGET: f64 = 0.1;

/// The share of LEDBAT's bytes, over those of another flow, in the rule of section 2.4.2 as a fluid:
/// the windows change in each round trip by `1 - queue / TARGET` and by `other`, packets each. The
/// other window halves when the queue is longer than `buffer`.
fn fluid(seconds: f64, buffer: f64, other: impl Fn(f64) -> f64) -> f64 {
    let (rate, base, step) = (20e6 / PACKET_BITS, 0.04, 0.001);
    let (mut own, mut others) = (rate * (base + TARGET), 2.0_f64);
    let mut bytes = [0.0; 2];
    for _ in 0..(seconds / step) as u64 {
        let queue = ((own + others) / rate - base).max(0.0);
        let rtt = base + queue;
        bytes[0] += own * step / rtt;
        bytes[1] += others * step / rtt;
        own = (own + (1.0 - queue / TARGET).min(1.0) * step / rtt).max(2.0);
        others = (others + other(queue).min(1.0) * step / rtt).max(2.0);
        if queue > buffer {
            others /= 2.0;
        }
    }
    bytes[0] / bytes[1]
}

/// RFC 6817 section 1: LEDBAT yields to flows that queue more, here 400 ms. Its window shrinks by a packet
/// a round trip, so that this takes longer than with LEDBAT++. The fluid is the worst case: losses never
/// hit LEDBAT, and the other flow has no slow start.
#[test]
fn rfc_6817_yields_to_reno_and_cubic() {
    let worst = 1.0 / (1.0 + fluid(100.0, 0.4, |_| 1.0));
    for other in ["reno", "cubic"] {
        let summary = over("1MB", 120, &[("ledbat", 0.0), (other, 20.0)]);
        let alone = over("1MB", 120, &[(other, 20.0)]);
        let part = goodput(&summary, 1) / goodput(&alone, 0);
        println!("{other}: {part}, at least {worst}");
        assert!(part > worst, "{other} has {part} of what it has alone");
    }
}

/// Flows of Swift over `rate` and 20 us, as in a data centre: median and 99th percentile of the round-trip
/// time in microseconds, utilisation, and Jain's index of goodputs.
fn swift(flows: u64, rate: &str, initial_window: u64) -> (f64, f64, f64, f64) {
    let summary = run(&format!(
        r#"
duration = "250ms"
start_jitter = "10ms"
noise = "none"
measure = {{ from = "100ms" }}
[link.bottleneck]
rate = "{rate}"
delay = "10us"
buffer = "10MB"
[link.back]
delay = "10us"
[flow.f]
control = {{ kind = "swift", base_target = "25us", hops = 0 }}
path = ["bottleneck"]
back = ["back"]
count = {flows}
host = {{ ack_every = 1, handshake = "none", initial_window = {initial_window} }}
"#
    ));
    let us = |seconds: Option<f64>| seconds.unwrap() * 1e6;
    let goodputs: Vec<f64> = summary.flows.iter().map(|flow| flow.goodput_bps).collect();
    let first = &summary.flows[0];
    (us(first.rtt_p50_s), us(first.rtt_p99_s), used(&summary), jain(&goodputs))
}

/// Kumar et al. 2020, sections 3.5 and 5.1: a few flows keep the round-trip time near the base target,
/// 25 us, on a link that stays busy; the target of 100 flows, with windows below one packet, is higher by
/// up to `fs_range`, five times the base.
#[test]
fn swift_keeps_its_target_and_scales_with_flows() {
    let (p50, p99, used, fair) = swift(2, "10Gbit", 10);
    println!("2 flows: {p50} {p99} us, {used}, {fair}");
    assert!((20.0..40.0).contains(&p50) && p99 < 60.0, "{p50} {p99}");
    assert!(used > 0.95 && fair > 0.9, "{used} {fair}");
    let (p50, p99, used, fair) = swift(100, "10Gbit", 10);
    println!("100 flows: {p50} {p99} us, {used}, {fair}");
    assert!(p50 > 40.0 && p99 < 25.0 * 6.0 + 121.0, "{p50} {p99}");
    // Flows with equal round trips act together. At the top, each has a packet in flight, so that a round
    // trip takes 100 packets of 1.2 us. The target for a window of one packet is 61.8 us. Algorithm 1
    // then takes 0.8 (120 - 61.8) / 120 of the window, and the next round trip has 0.61 of the
    // capacity. The packet that a window below one packet gains (`ai`) restores the top: the mean is 0.8.
    assert!(used > (1.0 + 0.61) / 2.0 && fair > 0.9, "{used} {fair}");
}

/// Kumar et al. 2020, sections 5.3 and 5.5: 5000 flows over 50 Gbit/s have 99 % of the link, and a Jain's
/// index of 0.91. Windows are a thirtieth of a packet, so that a decrease of one flow is a small part of
/// the load.
#[test]
fn thousands_of_swift_flows_fill_the_link() {
    let (p50, p99, used, fair) = swift(5000, "50Gbit", 1);
    println!("5000 flows: {p50} {p99} us, {used}, {fair}");
    assert!(used > 0.99, "{used}");
    // Half of the paper's distance to equal shares is the tolerance: a flow has only some hundred packets.
    assert!(fair > 0.91 - 0.045, "{fair}");
}
