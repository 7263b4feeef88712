//! Cost of reordering and outages over TCP and over QUIC: goodput, retransmissions of packets that
//! arrived, and reductions of the window that were undone.

use crate::common::{scenario, simulate};
use sojourn_sim::FlowSummary;

const PROFILES: [&str; 2] = ["rfc", "quic"];

/// Capacity in Mbit/s, and base round-trip time in milliseconds.
const MBIT: u64 = 50;
const RTT_MS: u64 = 40;
/// Duration of a run with reordering, start of an outage, and duration of the measurement after it,
/// in seconds.
const SECONDS: u64 = 15;
const BEFORE: u64 = 5;
const AFTER: u64 = 10;

/// Results of a run.
struct Cost {
    /// Share of the capacity that reached the application during the measurement.
    goodput: f64,
    /// Retransmissions of packets that no queue had dropped, for each thousand packets sent.
    needless: f64,
    /// Reductions of the window that the transport undid.
    undone: u64,
    sent: u64,
}

impl Cost {
    fn new(goodput: f64, flow: &FlowSummary) -> Cost {
        // The simulator knows which packets were dropped, independently of the transport.
        let needless = flow.retransmitted_packets.saturating_sub(flow.dropped_packets);
        let needless = 1e3 * needless as f64 / flow.sent_packets.max(1) as f64;
        Cost { goodput, needless, undone: flow.undone_reductions.unwrap(), sent: flow.sent_packets }
    }
}

/// Runs a flow over a drop-tail queue of one and a quarter bandwidth-delay products. Returns the data
/// that reached the application, in seconds of the capacity, and the flow.
fn run(control: &str, profile: &str, seconds: u64, rate: &str, wire: &str) -> (f64, FlowSummary) {
    let scenario = scenario(&format!(
        r#"
duration = "{seconds}s"
record = {{ interval = "0s" }}
[link.a]
rate = {rate}
delay = "{half}us"
buffer = "{buffer}B"
{wire}
[link.back]
delay = "{half}us"
[flow.f]
control = "{control}"
path = ["a"]
back = ["back"]
host = {{ like = "{profile}" }}
"#,
        half = RTT_MS * 500,
        buffer = MBIT * RTT_MS * 125 * 5 / 4,
    ));
    let transport = &scenario.flows[0].transport;
    let payload = transport.mss.as_f64() / (transport.mss + transport.header).as_f64();
    let flow = simulate(&scenario, scenario.seed).summary.flows.remove(0);
    (flow.goodput_bps * seconds as f64 / (MBIT as f64 * 1e6 * payload), flow)
}

fn constant() -> String {
    format!("\"{MBIT}Mbit\"")
}

/// Cost if so many per cent of the packets are late by this part of the round trip.
fn reordered(control: &str, profile: &str, percent: u64, part: f64) -> Cost {
    let late = RTT_MS as f64 * 1e3 * part;
    let wire = format!("reorder = {{ probability = 0.0{percent}, late = \"{late}us\" }}");
    let (carried, flow) = run(control, profile, SECONDS, &constant(), &wire);
    Cost::new(carried / SECONDS as f64, &flow)
}

/// Cost of an outage of so many milliseconds, measured in the ten seconds after it. A run that ends
/// at the start of the outage has the same history before it.
fn interrupted(control: &str, profile: &str, outage_ms: u64) -> Cost {
    let (before, _) = run(control, profile, BEFORE, &constant(), "");
    let end = 1000 * BEFORE + outage_ms;
    let rate = format!(
        "{{ start = \"{MBIT}Mbit\", steps = [{{ at = \"{BEFORE}s\", rate = \"0bit\" }}, \
         {{ at = \"{end}ms\", rate = \"{MBIT}Mbit\" }}] }}"
    );
    // Whole seconds: the remainder is also measured, and counts as available.
    let after = outage_ms.div_ceil(1000) + AFTER;
    let (all, flow) = run(control, profile, BEFORE + after, &rate, "");
    Cost::new((all - before) / (after as f64 - outage_ms as f64 / 1e3), &flow)
}

/// Once RACK has seen reordering, it waits for late packets for up to a smoothed round trip (RFC 8985
/// section 6.2): late packets cost TCP no goodput, and next to none is sent again. Until then, the
/// transport undoes the reductions when the originals arrive.
#[test]
fn tcp_waits_for_packets_that_are_late_by_a_round_trip() {
    for (percent, part) in [(1, 0.5), (5, 0.25), (5, 1.0)] {
        let cost = reordered("cubic", "rfc", percent, part);
        let what = format!("{percent} % by {part} round trips");
        assert!(cost.goodput > 0.95, "{what}: {}", cost.goodput);
        assert!(cost.needless < 1.0, "{what}: {}", cost.needless);
        assert!(cost.undone >= 1, "{what}");
    }
}

/// However late packets are, only they are sent again: a share p of the packets, of their
/// retransmissions, and so on, which is p / (1 - p), and three standard errors for chance.
#[test]
fn only_late_packets_are_sent_again() {
    for control in ["cubic", "bbr3"] {
        for profile in PROFILES {
            for percent in [1, 5] {
                let Cost { needless, sent, .. } = reordered(control, profile, percent, 2.0);
                let p = percent as f64 / 100.0;
                let most = 1e3 * (p / (1.0 - p) + 3.0 * (p / sent as f64).sqrt());
                assert!(needless < most, "{control}, {profile}: {needless} of {most}");
            }
        }
    }
}

/// QUIC counts a packet as lost once three later ones have arrived, however short the delay. BBR does
/// not respond to single losses, and version 3 to none below 2 % of a round trip, so that 1 % of late
/// packets costs them at most what a probe cut short costs.
#[test]
fn bbr_keeps_its_rate_although_a_hundredth_is_late() {
    for control in ["bbr", "bbr3"] {
        for profile in PROFILES {
            let goodput = reordered(control, profile, 1, 0.5).goodput;
            assert!(goodput > 0.85, "{control}, {profile}: {goodput}");
        }
    }
}

/// An outage that ends before the next timeouts reveal losses was no congestion. Over TCP the timeout
/// was spurious, and its reduction is undone (RFC 5682, 4015). A QUIC timeout reduces nothing (RFC
/// 9002 section 6.2), so that nothing is undone. Either sender goes on with its window, and packets
/// that arrived are not sent again.
#[test]
fn a_window_survives_an_outage() {
    for control in ["cubic", "bbr3"] {
        for profile in PROFILES {
            for outage_ms in [600, 10_000] {
                let cost = interrupted(control, profile, outage_ms);
                let what = format!("{control}, {profile}, {outage_ms} ms");
                // CUBIC over TCP has lost nothing that counts; the others repair what the queue
                // dropped, or start their probing anew.
                let least = if (control, profile) == ("cubic", "rfc") { 0.98 } else { 0.9 };
                assert!(cost.goodput > least, "{what}: {}", cost.goodput);
                assert_eq!(cost.undone, u64::from(profile == "rfc"), "{what}");
                assert!(cost.needless < 1.0, "{what}: {}", cost.needless);
            }
        }
    }
}

/// Without reordering, the only needless retransmissions are tail loss probes with a late
/// acknowledgement.
#[test]
fn without_disorder_next_to_nothing_is_sent_again_for_nothing() {
    for control in ["cubic", "bbr3"] {
        for profile in PROFILES {
            let (_, flow) = run(control, profile, 10, &constant(), "");
            let needless = Cost::new(0.0, &flow).needless;
            assert!(needless < 1.0, "{control}, {profile}: {needless}");
        }
    }
}
