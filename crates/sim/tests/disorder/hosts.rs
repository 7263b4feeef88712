//! What TCP, QUIC and pings make of packets that are late or come twice.

use sojourn_sim::FlowSummary;

use crate::common::{assert_near, flow, link, run};
use crate::observer::observe;

/// A transfer without end at 48 Mbit/s and 40 ms, a packet every 250 us. Its window is no more
/// than the path and the buffer hold, so that nothing is dropped.
fn transfer(profile: &str, more: &str, out: &str, back: &str) -> String {
    format!(
        r#"
duration = "20s"
record = {{ interval = "0s" }}
start_jitter = "0s"
host_noise = "0s"
[link.a]
rate = "48Mbit"
delay = "20ms"
buffer = "100ms"
{out}
[link.back]
delay = "20ms"
{back}
[flow.f]
control = "cubic"
path = ["a"]
back = ["back"]
transport = {{ profile = "{profile}", receive_window = "360kB"{more} }}
"#
    )
}

fn of(text: &str) -> FlowSummary {
    let summary = run(text);
    assert_eq!(link(&summary, "a").dropped_packets, 0, "the test is about order alone");
    flow(&summary, "f").clone()
}

fn late(probability: f64, us: u64) -> String {
    format!("reorder = {{ probability = {probability}, late = \"{us}us\" }}")
}

/// RFC 8985 section 6.2 steps 3 and 4: once a packet that was not sent again has been seen out
/// of order, RACK's window is a quarter of the least round-trip time, 10 ms here. Until then
/// what is late by less may be sent again, but its reductions are taken back: it costs hardly
/// any goodput.
#[test]
fn what_is_late_by_less_than_rack_s_window_costs_hardly_anything() {
    let text = transfer("tcp", "", &late(0.01, 5_000), "");
    let (below, plain) = (of(&text), of(&transfer("tcp", "", "", "")));
    let reordered = link_reorders(&text);
    assert!(reordered > 500, "{reordered}");
    assert!(below.goodput_bps > 0.98 * plain.goodput_bps, "{below:?}");
    // A late one is sent again once at most; in a recovery a few of its neighbours too.
    assert!(below.retransmitted_packets < reordered * 11 / 10, "{below:?}");
    assert_eq!(below.timeouts, 0);
}

/// Beyond SRTT no window of RACK is long enough (step 4).
#[test]
fn rack_deems_lost_what_is_late_by_more_than_a_round_trip() {
    let text = transfer("tcp", "", &late(0.01, 150_000), "");
    let (beyond, seen) = (of(&text), observe(&text));
    // One of a hundred is late, and most of those are sent again: nothing was lost.
    assert!(beyond.retransmitted_packets > beyond.sent_packets / 200, "{beyond:?}");
    // Each arrives twice, and the receiver says so (RFC 2883); the last ones are on their way.
    let twice = beyond.retransmitted_packets as f64;
    assert_near(seen.duplicates_reported as f64, twice, 0.05 * twice + 5.0, "DSACKs");
}

fn link_reorders(text: &str) -> u64 {
    link(&run(text), "a").reordered_packets
}

/// RFC 9002 section 6.1.1: a packet is lost once one three behind it is acknowledged. A
/// packet that is late by 2.6 packets is overtaken by two, by 3.6 by three.
#[test]
fn quic_declares_what_three_packets_have_overtaken_lost() {
    // Each packet is acknowledged, or the third could be skipped.
    let text = |us| transfer("quic", ", ack_every = 1", &late(0.01, us), "");
    let (two, three) = (of(&text(650)), of(&text(900)));
    assert_eq!(two.retransmitted_packets, 0, "{two:?}");
    assert!(link_reorders(&text(650)) > 500);
    assert_eq!(observe(&text(650)).lost.len(), 0);
    let lost = &observe(&text(900)).lost;
    // At less than the full rate fewer than three overtake, so that it is not every late one.
    assert!(lost["reordering"] > 20 && lost.len() == 1, "{lost:?}");
    // Some arrive before their turn to be sent again.
    let again = three.retransmitted_packets;
    assert!((20..=lost["reordering"]).contains(&again), "{three:?}");
}

/// Copies of data cost nothing: none is taken for a loss, and TCP reports each as a DSACK.
#[test]
fn copies_of_data_are_reported_and_cost_nothing() {
    for profile in ["tcp", "quic"] {
        let text = transfer(profile, "", "duplicate = 0.05", "");
        let (plain, copied) = (of(&transfer(profile, "", "", "")), of(&text));
        let copies = link(&run(&text), "a").duplicated_packets;
        assert!(copies > 2_500, "{copies}");
        assert_eq!(copied.retransmitted_packets, 0, "{profile}");
        assert_eq!(copied.timeouts, 0, "{profile}");
        assert_near(copied.goodput_bps, plain.goodput_bps, 0.001 * plain.goodput_bps, profile);
        if profile == "tcp" {
            // The last ones may still be on their way.
            let reported = observe(&text).duplicates_reported;
            assert!((copies - 10..=copies).contains(&reported), "{reported} of {copies}");
        }
    }
}

/// Every acknowledgement twice, and both copies out of order: each arrives, none is taken for
/// another's, and the transfer does not notice.
#[test]
fn copies_of_acknowledgements_cost_nothing() {
    let back = "duplicate = 1\njitter = { span = \"3ms\", reorder = true }";
    for profile in ["tcp", "quic"] {
        let text = transfer(profile, "", "", back);
        let seen = observe(&text);
        let under_way = 2 * seen.acks_sent - seen.acks_received;
        assert!(seen.acks_sent > 30_000 && under_way < 500, "{profile}: {under_way}");
        let (plain, copied) = (of(&transfer(profile, "", "", "")), of(&text));
        assert_eq!(copied.retransmitted_packets, 0, "{profile}");
        assert!(copied.goodput_bps > 0.98 * plain.goodput_bps, "{profile}: {copied:?}");
    }
}

/// A request that is copied has two replies, of which one counts; replies that overtake others
/// do not end the wait for those.
#[test]
fn pings_survive_disorder() {
    let text = r#"
duration = "21s"
record = { interval = "0s" }
start_jitter = "0s"
host_noise = "0s"
[link.a]
delay = "10ms"
duplicate = 0.2
jitter = { span = "50ms", reorder = true }
[link.back]
delay = "10ms"
duplicate = 0.2
reorder = { probability = 0.3, late = "100ms" }
[flow.p]
control = "none"
path = ["a"]
back = ["back"]
source = { kind = "ping", interval = "10ms", size = "84B" }
stop = "20s"
"#;
    let summary = run(text);
    let ping = flow(&summary, "p");
    assert_eq!((ping.sent_packets, ping.completed_transfers), (2000, 2000));
    assert!(link(&summary, "a").reordered_packets > 500);
    let (least, most) = (ping.rtt_min_s.unwrap(), ping.rtt_max_s.unwrap());
    assert!(least < 0.03 && most > 0.12 && most <= 0.17, "{ping:?}");
}
