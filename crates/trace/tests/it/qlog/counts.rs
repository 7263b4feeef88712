//! Counts of packets and bytes: the handshake, datagrams, and data in any order.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::made::{ack, figures, flow, last, lines, packet, shipped, stream};

/// RFC 9000 sections 7.5 and 19.6: the CRYPTO stream of each encryption level begins at 0.
#[test]
fn a_handshake_without_a_loss_has_no_retransmission() {
    let flow = &figures(&shipped("crypto-levels.sqlog")).flows[0];
    assert_eq!((flow.sent_packets, flow.retransmitted_packets), (3, 0));
    // The client receives more than it sends: 1,740 bytes of CRYPTO data, until 61 ms.
    assert_eq!(flow.goodput_bps.map(|rate| (rate / 1e3).round()), Some(228.0));
}

/// RFC 9221: DATAGRAM frames have no offset and are not retransmitted. 3,000 bytes in 40 ms.
#[test]
fn datagrams_are_no_retransmissions() {
    let flow = &figures(&shipped("datagrams.sqlog")).flows[0];
    assert_eq!((flow.sent_packets, flow.retransmitted_packets), (3, 0));
    assert_eq!(flow.goodput_bps.unwrap().round(), 600_000.0);
}

/// A packet whose frames the log omits is one with data; without data it is none.
#[test]
fn packets_without_data_are_not_counted() {
    let mut unknown = packet(0.0, "sent", 0, json!([]));
    unknown["data"].as_object_mut().unwrap().remove("frames");
    let empty = stream(0, 0, 0);
    let flow =
        flow(&[unknown, packet(1.0, "sent", 1, json!([empty])), packet(2.0, "sent", 2, json!([]))]);
    assert_eq!(flow.sent_packets, 1);
}

/// RFC 9000 sections 10.3, 17.2.1 and 17.2.5: these packets have no frames, so a log omits none.
#[test]
fn packets_without_frames_carry_no_data() {
    let of = |kind: &str| {
        json!({ "time": 0.0, "name": "quic:packet_sent", "data": {
            "header": { "packet_type": kind }
        } })
    };
    let kinds = ["retry", "version_negotiation", "stateless_reset", "initial"];
    assert_eq!(kinds.map(|kind| flow(&[of(kind)]).sent_packets), [0, 0, 0, 1]);
}

/// A DATAGRAM frame that ends with its packet has no length field (RFC 9221 section 4), nor does
/// picoquic log one.
#[test]
fn data_of_unknown_length_count_as_a_packet() {
    for kind in ["datagram", "stream", "crypto"] {
        let frame = json!({ "frame_type": kind, "stream_id": 0, "offset": 0 });
        let file = lines(&[
            packet(0.0, "sent", 0, json!([frame])),
            packet(1.0, "sent", 1, json!([frame])),
            packet(20.0, "received", 0, json!([ack(json!([[0, 1]]))])),
        ]);
        let found = figures(&file);
        let flow = &found.flows[0];
        assert_eq!((flow.sent_packets, flow.retransmitted_packets), (2, 0), "{kind}");
        assert_eq!((flow.rtts_s.as_slice(), last(&found, "delivered_bytes")), (&[0.019][..], 0.0));
    }
}

fn data() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    prop::collection::vec((0_u64..3, 0_u64..60, 1_u64..20), 1..60)
}

proptest! {
    /// The same counts as with a set of all bytes.
    #[test]
    fn data_in_any_order_is_counted_once(pieces in data()) {
        let mut seen = BTreeSet::new();
        let mut again = 0;
        let mut events = Vec::new();
        for (number, &(id, offset, len)) in pieces.iter().enumerate() {
            let before = seen.len() as u64;
            seen.extend((offset..offset + len).map(|byte| (id, byte)));
            again += u64::from((seen.len() as u64) < before + len);
            let frames = json!([stream(id, offset, len)]);
            events.push(packet(number as f64, "sent", number as u64, frames));
        }
        let everything = json!([ack(json!([[0, u64::MAX / 32]]))]);
        events.push(packet(1e3, "received", 0, everything));
        let found = figures(&lines(&events));
        prop_assert_eq!(found.flows[0].sent_packets, pieces.len() as u64);
        prop_assert_eq!(found.flows[0].retransmitted_packets, again);
        prop_assert_eq!(last(&found, "delivered_bytes"), seen.len() as f64);
    }

    /// Each packet is acknowledged once, and gives a sample if it is the greatest of its frame.
    #[test]
    fn acknowledgements_in_any_order_are_counted_once(
        ranges in prop::collection::vec((0_u64..40, 0_u64..10), 1..40),
    ) {
        let sent = |n: u64| packet(n as f64, "sent", n, json!([stream(0, n, 1)]));
        let mut events: Vec<_> = (0..40).map(sent).collect();
        let mut left: BTreeSet<u64> = (0..40).collect();
        let mut rtts = Vec::new();
        for (place, &(low, len)) in ranges.iter().enumerate() {
            let at = 100 + place as u64;
            events.push(packet(at as f64, "received", at, json!([ack(json!([[low, low + len]]))])));
            let taken: Vec<u64> = left.range(low..=low + len).copied().collect();
            let greatest = taken.last().filter(|newest| **newest == low + len);
            rtts.extend(greatest.map(|newest| at - newest));
            left.retain(|number| !taken.contains(number));
        }
        let found = figures(&lines(&events));
        prop_assert_eq!(last(&found, "delivered_bytes"), (40 - left.len()) as f64);
        rtts.sort_unstable();
        let ms = |rtt: &f64| (rtt * 1e3).round() as u64;
        prop_assert_eq!(found.flows[0].rtts_s.iter().map(ms).collect::<Vec<_>>(), rtts);
    }
}
