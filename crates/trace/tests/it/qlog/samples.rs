//! RTT samples: those of RFC 9002 section 5.1, which a stack's own `latest_rtt` has too.

use serde_json::{Value, json};

use super::made::{ack, figures, flow, last, lines, packet, stream};

fn sent(at: f64, number: u64, kind: &str) -> Value {
    packet(at, "sent", number, json!([{ "frame_type": kind }]))
}

fn data(at: f64, number: u64) -> Value {
    packet(at, "sent", number, json!([stream(0, 100 * number, 100)]))
}

fn acked(at: f64, ranges: Value) -> Value {
    packet(at, "received", at as u64, json!([ack(ranges)]))
}

fn rtts_ms(events: &[Value]) -> Vec<f64> {
    flow(events).rtts_s.iter().map(|rtt| (rtt * 1e6).round() / 1e3).collect()
}

/// The acknowledgement of an old packet alone tells when the packet arrived late or the
/// acknowledgement was repeated, not how long the path is.
#[test]
fn a_sample_is_that_of_the_greatest_packet_when_it_is_new() {
    let events =
        [data(0.0, 0), data(1.0, 1), acked(41.0, json!([[1, 1]])), acked(300.0, json!([[0, 1]]))];
    assert_eq!(rtts_ms(&events), [40.0]);
    assert_eq!(last(&figures(&lines(&events)), "delivered_bytes"), 200.0);
}

/// A PING frame is acknowledged as data are; an ACK frame alone is not.
#[test]
fn every_ack_eliciting_packet_gives_a_sample() {
    for (kind, samples) in [
        ("ping", 1),
        ("max_data", 1),
        ("path_challenge", 1),
        ("immediate_ack", 1),
        ("unknown", 1),
        ("ack", 0),
        ("path_ack", 0),
        ("padding", 0),
        ("connection_close", 0),
    ] {
        let found = flow(&[sent(0.0, 0, kind), acked(30.0, json!([[0, 0]]))]);
        assert_eq!((found.rtts_s.len(), found.sent_packets), (samples, 0), "{kind}");
    }
}

/// The greatest packet need not be ack-eliciting, but one of those acknowledged with it.
#[test]
fn a_packet_with_only_an_acknowledgement_is_timed_beside_others() {
    let events = [data(0.0, 0), sent(10.0, 1, "ack"), sent(20.0, 2, "ack"), data(21.0, 3)];
    let with = |ack: Value| rtts_ms(&[&events[..], &[ack]].concat());
    assert_eq!(with(acked(50.0, json!([[0, 1]]))), [40.0]);
    assert!(with(acked(50.0, json!([[1, 2]]))).is_empty());
    assert_eq!(with(acked(50.0, json!([[0, 3]]))), [29.0]);
}

/// A receiver's acknowledgements are seldom acknowledged, and its memory stays bounded.
#[test]
fn only_the_last_silent_packets_are_known() {
    let events: Vec<Value> = (1..=(1 << 16) + 1).map(|number| sent(1.0, number, "ack")).collect();
    let with = |number: u64| {
        let ends = [data(0.0, 0), acked(30.0, json!([[0, number]]))];
        rtts_ms(&[&ends[..1], &events, &ends[1..]].concat())
    };
    assert_eq!((with(1), with(2)), (vec![], vec![29.0]));
}

/// RFC 9002 appendix A.10 forgets a lost packet, so its late acknowledgement gives no sample; its
/// data have arrived all the same.
#[test]
fn a_packet_declared_lost_may_still_arrive() {
    let lost = json!({ "header": { "packet_type": "1RTT", "packet_number": 0 } });
    let events = [
        data(0.0, 0),
        data(1.0, 1),
        json!({ "time": 30.0, "name": "quic:packet_lost", "data": lost }),
        acked(41.0, json!([[1, 1]])),
        acked(300.0, json!([[0, 0]])),
    ];
    assert_eq!(rtts_ms(&events), [40.0]);
    assert_eq!(last(&figures(&lines(&events)), "delivered_bytes"), 200.0);
}
