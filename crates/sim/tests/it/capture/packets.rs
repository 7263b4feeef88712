//! The packets of a capture, compared with the run.

use std::collections::{BTreeMap, BTreeSet};

use sojourn_sim::FlowSummary;

use super::captured;
use super::reading::{Seen, packets, sum, u16_be, u32_be};
use crate::common::{as_written, flow};

/// One flow over lossy links, with the keys of `more` added.
fn lossy(control: &str, more: &str) -> (FlowSummary, Vec<Seen>) {
    seen("loss = 0.003", "loss = 0.01", control, more)
}

/// One flow over links with these keys.
fn seen(out: &str, back: &str, control: &str, more: &str) -> (FlowSummary, Vec<Seen>) {
    let text = format!(
        r#"
duration = "4s"
[link.a]
rate = "20Mbit"
delay = "10ms"
queue = {{ kind = "codel", ecn = true }}
{out}
[link.b]
delay = "10ms"
{back}
[flow.f]
control = "{control}"
path = ["a"]
back = ["b"]
{more}
"#
    );
    let scenario = as_written(&text);
    let (outcome, files) = captured(&scenario);
    (flow(&outcome.summary, "f").clone(), all_packets(&files))
}

/// Packets of the senders, then packets of the receivers.
fn all_packets(files: &[Vec<u8>; 2]) -> Vec<Seen> {
    files.iter().flat_map(|file| packets(file)).collect()
}

fn at<'a>(all: &'a [Seen], host: &str, inbound: bool) -> Vec<&'a Seen> {
    all.iter().filter(|p| p.host == host && p.inbound == inbound).collect()
}

fn tcp_payload(packet: &Seen) -> u32 {
    let header = u32::from(packet.bytes[32] >> 4) * 4;
    u32::from(u16_be(&packet.bytes, 2)) - 20 - header
}

#[test]
fn every_packet_is_there_in_order_of_time() {
    for profile in ["rfc", "quic"] {
        let (flow, all) = lossy("cubic", &format!("host = {{ like = \"{profile}\" }}"));
        let in_order =
            |pair: &[Seen]| pair[0].at_ns <= pair[1].at_ns || pair[0].host != pair[1].host;
        assert!(all.windows(2).all(in_order));
        let sent = at(&all, "f sender", false).len() as u64;
        let arrived = at(&all, "f receiver", true).len() as u64;
        assert_eq!(sent, flow.sent_packets, "{profile}");
        assert!(flow.dropped_packets > 10, "{profile}: losses are what this is about");
        // The remaining packets are in flight at the end: at most a round trip at 20 Mbit/s.
        let under_way = sent - flow.dropped_packets - arrived;
        assert!(under_way < 200, "{profile}: {under_way}");
        assert!(!at(&all, "f sender", true).is_empty());
    }
}

#[test]
fn checksums_are_right() {
    for (profile, place) in [("rfc", 36), ("quic", 26)] {
        let (_, all) = lossy("prague", &format!("host = {{ like = \"{profile}\" }}"));
        for packet in &all {
            let bytes = &packet.bytes;
            assert_eq!(sum(&[&bytes[..20]]), 0xFFFF, "of IP");
            // In UDP, a checksum of zero means "no checksum" (RFC 768); in TCP, zero is valid.
            assert!(profile == "rfc" || u16_be(bytes, place) != 0);
            let length = (u16_be(bytes, 2) - 20).to_be_bytes();
            let pseudo = [&bytes[12..20], &[0, bytes[9]], &length[..]].concat();
            assert_eq!(sum(&[&pseudo, &bytes[20..]]), 0xFFFF, "of {profile}");
        }
    }
}

#[test]
fn what_is_sent_again_has_its_old_place_and_acknowledgements_meet_it() {
    let (flow, all) = lossy("reno", "");
    let sent = at(&all, "f sender", false);
    let mut ends = BTreeSet::new();
    let mut lengths = BTreeMap::new();
    let mut again = 0;
    for packet in &sent {
        let (sequence, payload) = (u32_be(&packet.bytes, 24), tcp_payload(packet));
        ends.insert(sequence.wrapping_add(payload));
        again += u64::from(lengths.insert(sequence, payload).is_some());
    }
    assert_eq!(again, flow.retransmitted_packets);
    assert!(again > 10);
    let first = u32_be(&sent[0].bytes, 24);
    for ack in at(&all, "f receiver", false) {
        let number = u32_be(&ack.bytes, 28);
        assert!(ends.contains(&number) || number == first, "an edge between two segments");
    }
}

#[test]
fn selective_acknowledgements_are_of_what_arrived() {
    let (_, all) = lossy("reno", "");
    let mut arrived = BTreeSet::new();
    let mut blocks = 0;
    for packet in all.iter().filter(|p| p.host == "f receiver") {
        if packet.inbound {
            arrived.insert(u32_be(&packet.bytes, 24));
        }
        // NOP NOP timestamps, NOP NOP SACK.
        let options = &packet.bytes[40..];
        if !packet.inbound && options.len() > 12 {
            assert_eq!((options[14], packet.wire_size), (5, packet.bytes.len() as u32));
            for block in options[16..].chunks_exact(8) {
                assert!(arrived.contains(&u32_be(block, 0)));
                blocks += 1;
            }
        }
    }
    assert!(blocks > 100, "{blocks}");
}

/// RFC 7323 section 4.3: with one acknowledgement for each packet and no loss, each acknowledgement
/// echoes the timestamp of its packet, to the tick. So do data packets.
#[test]
fn timestamps_are_echoed() {
    let text = r#"
duration = "2s"
[link.a]
rate = "20Mbit"
delay = "10ms"
[link.b]
delay = "17ms"
[flow.f]
control = "reno"
path = ["a"]
back = ["b"]
host = { ack_every = 1, receive_window = "40kB" }
"#;
    let (outcome, files) = captured(&as_written(text));
    let all = all_packets(&files);
    let clock = |packet: &Seen| u32_be(&packet.bytes, 44);
    let first = at(&all, "f sender", false)[0];
    let base = clock(first).wrapping_sub((first.at_ns / 1_000_000) as u32);
    let mut rtts = Vec::new();
    for ack in at(&all, "f sender", true) {
        let sent_ms = u64::from(u32_be(&ack.bytes, 48).wrapping_sub(base));
        rtts.push(ack.at_ns as f64 / 1e9 - sent_ms as f64 / 1e3);
    }
    rtts.sort_by(f64::total_cmp);
    let truth = outcome.summary.flows[0].rtt_p50_s.unwrap();
    let median = rtts[rtts.len() / 2];
    // The echo has a resolution of one tick, a millisecond.
    assert!(median - truth > -0.0002 && median - truth < 0.001, "{median} {truth}");
    let seen: BTreeSet<u32> = at(&all, "f sender", true).into_iter().map(clock).collect();
    let echoes = at(&all, "f sender", false).into_iter().map(|p| u32_be(&p.bytes, 48));
    assert!(echoes.filter(|echo| *echo != 0).all(|echo| seen.contains(&echo)));
}

#[test]
fn marks_are_seen_and_echoed() {
    for (control, counts) in [("prague", true), ("cubic", false)] {
        let (flow, all) = seen("", "", control, "");
        let marked = at(&all, "f receiver", true).into_iter().filter(|p| p.bytes[1] & 3 == 3);
        assert_eq!(marked.count() as u64, flow.marked_packets, "{control}");
        assert!(flow.marked_packets > 0, "{control}");
        // AE, CWR and ECE of RFC 9768 start at 5; RFC 3168 sets ECE alone.
        let acks = at(&all, "f receiver", false);
        let flags = |p: &Seen| u16_be(&p.bytes, 32) >> 6 & 7;
        let last = flags(acks[acks.len() - 1]);
        if counts {
            assert_eq!(u64::from(last), (5 + flow.marked_packets) % 8);
        } else {
            assert!(acks.iter().any(|p| flags(p) == 1) && acks.iter().all(|p| flags(p) <= 1));
            assert!(at(&all, "f sender", false).iter().any(|p| flags(p) == 2), "CWR");
        }
    }
}

#[test]
fn a_flow_that_asks_has_a_connection_each_way() {
    let text = r#"
duration = "3s"
[link.a]
rate = "20Mbit"
delay = "10ms"
[link.b]
delay = "10ms"
[flow.f]
control = "reno"
path = ["a"]
back = ["b"]
source = { kind = "request", request = "300B", response = "5000B", count = 3 }
[flow.cross]
control = "none"
path = ["a"]
source = { kind = "on-off", rate = "1Mbit", on = "1s", off = "0s" }
"#;
    let (outcome, files) = captured(&as_written(text));
    let all = all_packets(&files);
    let asked =
        at(&all, "f receiver", false).into_iter().filter(|p| u16_be(&p.bytes, 22) == 50_002);
    let bytes: u32 = asked.map(tcp_payload).sum();
    assert_eq!(bytes, 3 * 300);
    let answered =
        at(&all, "f sender", false).into_iter().filter(|p| u16_be(&p.bytes, 20) == 50_001);
    assert_eq!(answered.map(tcp_payload).sum::<u32>(), 3 * 5000);
    let datagrams = at(&all, "cross sender", false);
    assert_eq!(datagrams.len() as u64, flow(&outcome.summary, "cross").sent_packets);
    assert!(datagrams.iter().all(|p| p.bytes[9] == 17 && p.wire_size == 1500));
}
