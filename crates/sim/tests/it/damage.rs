//! Damaged ECN and damaged acknowledgements on a link: the counts of packets, and the reaction of
//! senders.

use sojourn_sim::{FlowSummary, RunSummary};

use crate::common::{as_written, flow, link, shipped, simulate};

/// One flow over 20 Mbit/s and a round trip of 20 ms. `out` and `back` are keys of the links.
fn upload(control: &str, transport: &str, out: &str, back: &str) -> RunSummary {
    let text = format!(
        r#"
duration = "6s"
record = {{ interval = "0s" }}
[link.out]
rate = "20Mbit"
delay = "10ms"
buffer = "60ms"
queue = {{ kind = "codel", ecn = true }}
[link.far]
{out}
[link.back]
delay = "10ms"
{back}
[flow.a]
control = "{control}"
path = ["out", "far"]
back = ["back"]
transport = {{ {transport} }}
"#
    );
    simulate(&as_written(&text), 1).summary
}

fn damaged(control: &str, transport: &str, out: &str) -> FlowSummary {
    flow(&upload(control, transport, out, ""), "a").clone()
}

const VALIDATING: [&str; 2] =
    ["profile = \"tcp\", ecn_validation = true", "profile = \"quic\", ecn_validation = true"];

/// Validation names the damage, and the flow then fills the link without ECN. An honest path with
/// marks and losses never fails.
#[test]
fn validation_finds_each_damage() {
    for transport in VALIDATING {
        for control in ["dctcp", "prague"] {
            for (out, failure) in [
                ("", None),
                ("loss = 0.01", None),
                ("ecn = \"bleach\"", Some("bleached")),
                ("ecn = { kind = \"bleach\", probability = 0.2 }", Some("bleached")),
                ("ecn = \"mark\"", Some("all_marked")),
                ("ecn = \"ect1-to-ect0\"", (control == "prague").then_some("rewritten")),
            ] {
                let flow = damaged(control, transport, out);
                assert_eq!(flow.ecn_failure, failure, "{control}, {transport}, {out}");
                let least = if out.starts_with("loss") { 2e6 } else { 14e6 };
                assert!(flow.goodput_bps > least, "{control}, {transport}, {out}: {flow:?}");
            }
        }
    }
}

/// QUIC leaves a path that drops ECN-capable packets after its test. TCP has no such rule.
#[test]
fn a_black_hole_stops_only_senders_without_a_test() {
    let drop = "ecn = \"drop\"";
    let quic = damaged("reno", VALIDATING[1], drop);
    assert_eq!(quic.ecn_failure, Some("lost"));
    assert!(quic.goodput_bps > 12e6, "{quic:?}");
    let tcp = damaged("dctcp", VALIDATING[0], drop);
    assert_eq!((tcp.goodput_bps, tcp.ecn_failure), (0.0, None));
}

/// Without validation, a sender on a path that marks everything keeps its smallest window.
#[test]
fn marks_on_everything_starve_a_sender_without_validation() {
    let starved = damaged("dctcp", "profile = \"tcp\"", "ecn = \"mark\"");
    assert!(starved.goodput_bps < 3e6, "{starved:?}");
    assert_eq!(starved.ecn_failure, None);
}

/// RFC 9768 section 3.1.4.1: two SYNs ask for ECN and the third does not. The timeouts before it
/// are 1 s and 2 s. A sender that never gives up sends no data.
#[test]
fn a_client_gives_up_ecn_after_its_syns() {
    let drop = "ecn = \"drop-syn\"";
    for (transport, waits_s) in [("", 3.0), ("ecn_syns = 1", 1.0)] {
        let fallen = damaged("reno", transport, drop);
        assert_eq!(fallen.ecn_failure, Some("setup"));
        let honest = damaged("reno", transport, "");
        let late_s = fallen.rtt_min_s.is_some() && fallen.goodput_bps > 0.0;
        assert!(late_s, "{fallen:?}");
        let lost = (honest.goodput_bps - fallen.goodput_bps) / 19.3e6 * 6.0;
        assert!((lost - waits_s).abs() < 0.6, "{transport}: {lost} s of data");
    }
    assert_eq!(damaged("reno", "ecn_syns = 0", drop).goodput_bps, 0.0);
    // Neither a SYN without ECN nor QUIC's Initial asks for it.
    for (control, transport) in
        [("bbr", ""), ("reno", "profile = \"quic\""), ("reno", "ecn = false")]
    {
        assert_eq!(damaged(control, transport, drop).ecn_failure, None, "{control} {transport}");
    }
}

/// A middlebox passes the first of every few acknowledgements of TCP, and all of QUIC, which are
/// encrypted.
#[test]
fn a_middlebox_thins_acknowledgements() {
    for every in [2, 5, 16] {
        let keys = format!("ack_thinning = {every}");
        let summary = upload("cubic", "", "", &keys);
        let back = link(&summary, "back");
        // Another acknowledgement passes at the start of each burst of a round trip. The link also
        // carried a packet of the handshake.
        let arrived = back.arrived_packets - 1;
        let passed = arrived - back.dropped_packets;
        let least = arrived.div_ceil(every);
        assert!(
            (least..least + least / 4 + 20).contains(&passed),
            "{every}: {passed} of {arrived}"
        );
        assert!(flow(&summary, "a").goodput_bps > 14e6, "{every}");
        let quic = upload("cubic", "profile = \"quic\"", "", &keys);
        assert_eq!(link(&quic, "back").dropped_packets, 0);
    }
}

/// Slots deliver in batches at their times, and the filter keeps one acknowledgement in each.
#[test]
fn slots_deliver_in_batches() {
    let slots = |more: &str| format!("slots = {{ least = \"5ms\"{more} }}");
    let plain = upload("cubic", "", "", &slots(""));
    let filtered = upload("cubic", "", "", &slots(", filter_acks = true"));
    let back = |summary: &RunSummary| link(summary, "back").clone();
    assert_eq!(back(&plain).dropped_packets, 0);
    let (passed, gone) = (back(&filtered).delivered_packets, back(&filtered).dropped_packets);
    // 6 s have 1200 slots. Acknowledgements with selective ranges pass beside the newest.
    assert!((1000..2000).contains(&passed) && gone > 1000, "{passed} pass, {gone} are filtered");
    for summary in [&plain, &filtered] {
        assert!(flow(summary, "a").goodput_bps > 17e6);
        // The slot adds up to 5 ms to the round trip.
        assert!(flow(summary, "a").rtt_p50_s.unwrap() > 0.0225);
    }
    // One packet of 1500 bytes in 5 ms is 2.4 Mbit/s.
    for limit in [", packets = 1", ", bytes = \"1500B\""] {
        let slow = upload("reno", "receive_window = \"30kB\"", &slots(limit), "");
        let goodput = flow(&slow, "a").goodput_bps;
        assert!((2.0e6..2.4e6).contains(&goodput), "{limit}: {goodput}");
    }
}

/// A copy of an acknowledgement also replaces an older one. The simulator asserts the count of
/// packets on each link.
#[test]
fn the_filter_counts_what_copies_replace() {
    let keys =
        "rate = \"100Mbit\"\nduplicate = 0.2\nslots = { least = \"5ms\", filter_acks = true }";
    let summary = upload("cubic", "", "", keys);
    let back = link(&summary, "back");
    let entered = back.arrived_packets + back.duplicated_packets;
    let inside = entered - back.delivered_packets - back.dropped_packets;
    assert!(back.duplicated_packets > 100 && inside < 100, "{back:?}");
    assert!(flow(&summary, "a").goodput_bps > 14e6, "{summary:?}");
}

/// scenarios/damaged-ecn.toml: validation names both damages, keeps the queue of the bleached path
/// short, and lets the flow on the marked path send.
#[test]
fn the_shipped_scenario_shows_the_value_of_validation() {
    let summary = simulate(&shipped("damaged-ecn.toml"), 1).summary;
    let failure = |name| flow(&summary, name).ecn_failure;
    assert_eq!((failure("blind"), failure("starved")), (None, None));
    assert_eq!(failure("validated_bleached"), Some("bleached"));
    assert_eq!(failure("validated_marked"), Some("all_marked"));
    let goodput = |name| flow(&summary, name).goodput_bps;
    assert!(goodput("validated_marked") > 5.0 * goodput("starved"), "{summary:?}");
    let delay = |name| link(&summary, name).queue_delay_p50_s.unwrap();
    assert!(delay("bleached_too") < delay("bleached"), "{summary:?}");
}

/// RFC 8888 section 5 keeps lost reports apart from lost media. If half of the reports are lost, a video
/// keeps more than half of its goodput.
#[test]
fn lost_reports_do_not_starve_a_video() {
    let goodput = |control: &str, back: &str| {
        let text = format!(
            r#"
duration = "20s"
record = {{ interval = "0s" }}
measure = {{ from = "5s" }}
[link.out]
rate = "20Mbit"
delay = "10ms"
buffer = "200ms"
queue = {{ kind = "dualpi2" }}
[link.back]
delay = "10ms"
{back}
[flow.a]
control = {{ {control} }}
path = ["out"]
back = ["back"]
source = {{ kind = "media", start_rate = "8Mbit", max_rate = "16Mbit" }}
"#
        );
        flow(&simulate(&as_written(&text), 1).summary, "a").goodput_bps
    };
    for control in
        ["kind = \"scream\"", "kind = \"nada\"", "kind = \"gcc\", start_rate = \"8Mbit\""]
    {
        let (sound, lossy) = (goodput(control, ""), goodput(control, "loss = 0.5"));
        assert!(lossy > 0.5 * sound, "{control}: {lossy} {sound}");
    }
}
