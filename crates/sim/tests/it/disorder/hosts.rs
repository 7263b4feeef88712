//! TCP, QUIC and pings over links that delay and duplicate packets.

use sojourn_sim::FlowSummary;

use super::observer::observe;
use crate::common::{assert_near, flow, link, run};

/// An endless transfer at 48 Mbit/s and 40 ms, with a packet every 250 us. The path and the buffer
/// hold its whole window, so that the link drops no packet.
fn transfer(profile: &str, more: &str, out: &str, back: &str) -> String {
    format!(
        r#"
duration = "20s"
record = {{ interval = "0s" }}
start_jitter = "0s"
noise = "none"
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
host = {{ like = "{profile}", receive_window = "360kB"{more} }}
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

/// RFC 8985 section 6.2 steps 3 and 4: once an original transmission has arrived out of order,
/// RACK's reordering window is a quarter of the minimum round-trip time, 10 ms here. Before that,
/// the sender may retransmit packets that are late by less, but it undoes the reductions, so that
/// goodput hardly suffers.
#[test]
fn what_is_late_by_less_than_rack_s_window_costs_hardly_anything() {
    let text = transfer("rfc", "", &late(0.01, 5_000), "");
    let (below, plain) = (of(&text), of(&transfer("rfc", "", "", "")));
    let reordered = link_reorders(&text);
    assert!(reordered > 500, "{reordered}");
    assert!(below.goodput_bps > 0.98 * plain.goodput_bps, "{below:?}");
    // The sender retransmits a late packet at most once; in a recovery it also retransmits a few of
    // its neighbours.
    assert!(below.retransmitted_packets < reordered * 11 / 10, "{below:?}");
    assert_eq!(below.timeouts, Some(0));
}

/// RACK's window never exceeds SRTT (step 4).
#[test]
fn rack_deems_lost_what_is_late_by_more_than_a_round_trip() {
    let text = transfer("rfc", "", &late(0.01, 150_000), "");
    let (beyond, seen) = (of(&text), observe(&text));
    // One packet of a hundred is late. The sender retransmits most of these, though the link lost
    // no packet.
    assert!(beyond.retransmitted_packets > beyond.sent_packets / 200, "{beyond:?}");
    // Each of these arrives twice, and the receiver reports it (RFC 2883); the last reports are in
    // flight.
    let twice = beyond.retransmitted_packets as f64;
    assert_near(seen.duplicates_reported as f64, twice, 0.05 * twice + 5.0, "DSACKs");
}

fn link_reorders(text: &str) -> u64 {
    link(&run(text), "a").reordered_packets
}

/// RFC 9002 section 6.1.1: a packet is lost once a packet three later is acknowledged. Two packets
/// overtake a packet that is late by 2.6 packets; three overtake one that is late by 3.6.
#[test]
fn quic_declares_what_three_packets_have_overtaken_lost() {
    // With fewer acknowledgements, the third packet's could be skipped.
    let text = |us| transfer("quic", ", ack_every = 1", &late(0.01, us), "");
    let (two, three) = (of(&text(650)), of(&text(900)));
    assert_eq!(two.retransmitted_packets, 0, "{two:?}");
    assert!(link_reorders(&text(650)) > 500);
    assert_eq!(observe(&text(650)).lost.len(), 0);
    let lost = &observe(&text(900)).lost;
    // Below the full rate, fewer than three packets overtake, so that not every late packet is
    // declared lost.
    assert!(lost["reordering"] > 20 && lost.len() == 1, "{lost:?}");
    // Some packets arrive before the sender retransmits them.
    let again = three.retransmitted_packets;
    assert!((20..=lost["reordering"]).contains(&again), "{three:?}");
}

/// Copies of data cost no goodput: the sender does not count them as losses, and TCP reports
/// each as a DSACK.
#[test]
fn copies_of_data_are_reported_and_cost_nothing() {
    for profile in ["rfc", "quic"] {
        let text = transfer(profile, "", "duplicate = 0.05", "");
        let (plain, copied) = (of(&transfer(profile, "", "", "")), of(&text));
        let copies = link(&run(&text), "a").duplicated_packets;
        assert!(copies > 2_500, "{copies}");
        assert_eq!(copied.retransmitted_packets, 0, "{profile}");
        assert_eq!(copied.timeouts, Some(0), "{profile}");
        assert_near(copied.goodput_bps, plain.goodput_bps, 0.001 * plain.goodput_bps, profile);
        if profile == "rfc" {
            // The last reports may still be in flight.
            let reported = observe(&text).duplicates_reported;
            assert!((copies - 10..=copies).contains(&reported), "{reported} of {copies}");
        }
    }
}

/// Every acknowledgement is duplicated, and the copies are reordered: each arrives as itself, and
/// the transfer's results do not change.
#[test]
fn copies_of_acknowledgements_cost_nothing() {
    let back = "duplicate = 1\njitter = { span = \"3ms\", reorder = true }";
    for profile in ["rfc", "quic"] {
        let text = transfer(profile, "", "", back);
        let seen = observe(&text);
        let under_way = 2 * seen.acks_sent - seen.acks_received;
        assert!(seen.acks_sent > 30_000 && under_way < 500, "{profile}: {under_way}");
        let (plain, copied) = (of(&transfer(profile, "", "", "")), of(&text));
        assert_eq!(copied.retransmitted_packets, 0, "{profile}");
        assert!(copied.goodput_bps > 0.98 * plain.goodput_bps, "{profile}: {copied:?}");
    }
}

/// A duplicated request has two replies, of which one counts. Replies that overtake others do not
/// end the wait for these.
#[test]
fn pings_survive_disorder() {
    let text = r#"
duration = "21s"
record = { interval = "0s" }
start_jitter = "0s"
noise = "none"
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
