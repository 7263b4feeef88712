//! Each frame type of RFC 9000, RFC 9221, the multipath extension and ACK_FREQUENCY: those with
//! data count as data, those with acknowledgements give RTTs, and all others change nothing.

use serde_json::{Value, json};

use super::made::{ack, figures, flow, last, lines, packet, packet_of, stream};

/// Frames without data or acknowledgements: RFC 9000 section 19, draft-ietf-quic-ack-frequency and
/// draft-ietf-quic-multipath, by the names of draft-ietf-quic-qlog-quic-events.
const OTHERS: [&str; 32] = [
    "padding",
    "ping",
    "reset_stream",
    "stop_sending",
    "new_token",
    "max_data",
    "max_stream_data",
    "max_streams",
    "data_blocked",
    "stream_data_blocked",
    "streams_blocked",
    "new_connection_id",
    "retire_connection_id",
    "path_challenge",
    "path_response",
    "connection_close",
    "handshake_done",
    "unknown",
    "ack_frequency",
    "immediate_ack",
    "path_abandon",
    "path_status_available",
    "path_status_backup",
    "path_new_connection_id",
    "path_retire_connection_id",
    "max_path_id",
    "paths_blocked",
    "path_cids_blocked",
    "observed_address",
    "reset_stream_at",
    "time_stamp",
    "application_close",
];

/// The frame with every field that could be mistaken for that of a stream.
fn other(kind: &str) -> Value {
    let mut frame = stream(0, 0, 500);
    frame["frame_type"] = kind.into();
    frame["acked_ranges"] = json!([[0, 9]]);
    frame
}

#[test]
fn frames_without_data_change_nothing() {
    for kind in OTHERS {
        let events = [
            packet(0.0, "sent", 0, json!([stream(0, 0, 100)])),
            packet(10.0, "sent", 1, json!([other(kind)])),
            packet(20.0, "received", 0, json!([other(kind)])),
            packet(30.0, "received", 1, json!([other(kind), ack(json!([[0, 1]]))])),
        ];
        let flow = flow(&events);
        assert_eq!((flow.sent_packets, flow.retransmitted_packets), (1, 0), "{kind}");
        assert_eq!(flow.rtts_s.len(), 1, "{kind}");
        assert_eq!(last(&figures(&lines(&events)), "delivered_bytes"), 100.0, "{kind}");
    }
}

/// draft-00 writes the types of frames and packets in capitals.
#[test]
fn capitals_have_no_effect() {
    let small = [
        packet_of(0.0, "sent", "initial", 0, json!([stream(0, 0, 100)])),
        packet_of(40.0, "received", "initial", 0, json!([ack(json!([[0, 0]]))])),
    ];
    let capital = small.clone().map(|mut event| {
        let data = &mut event["data"];
        data["header"]["packet_type"] = "INITIAL".into();
        let kind = data["frames"][0]["frame_type"].as_str().unwrap().to_uppercase();
        data["frames"][0]["frame_type"] = kind.into();
        event
    });
    assert_eq!(flow(&capital), flow(&small));
}

/// STREAM and CRYPTO data count once, and DATAGRAM data each time: it has no offset.
#[test]
fn data_is_counted_by_its_frame_type() {
    for (kind, again, delivered) in
        [("stream", 1, 300.0), ("crypto", 1, 300.0), ("datagram", 0, 600.0)]
    {
        let frame = json!({ "frame_type": kind, "raw": { "payload_length": 300, "length": 310 } });
        let file = lines(&[
            packet(0.0, "sent", 0, json!([frame])),
            packet(1.0, "sent", 1, json!([frame])),
            packet(50.0, "received", 0, json!([ack(json!([[0, 1]]))])),
        ]);
        let found = figures(&file);
        assert_eq!(found.flows[0].sent_packets, 2, "{kind}");
        assert_eq!(found.flows[0].retransmitted_packets, again, "{kind}");
        assert_eq!(last(&found, "delivered_bytes"), delivered, "{kind}");
    }
}

/// RFC 9000 section 12.3: 0-RTT and 1-RTT packets share a number space; the other two are separate.
#[test]
fn number_spaces_are_those_of_rfc_9000() {
    let data = |at: f64, kind: &str, offset| {
        packet_of(at, "sent", kind, 0, json!([stream(0, offset, 100)]))
    };
    let acked = |kind: &str| packet_of(50.0, "received", kind, 0, json!([ack(json!([0]))]));
    for (sent, acked_in, samples) in [
        ("initial", "initial", 1),
        ("handshake", "handshake", 1),
        ("0RTT", "1RTT", 1),
        ("1RTT", "1RTT", 1),
        ("initial", "1RTT", 0),
        ("handshake", "initial", 0),
        ("0RTT", "handshake", 0),
    ] {
        let flow = flow(&[data(0.0, sent, 0), acked(acked_in)]);
        assert_eq!(flow.rtts_s.len(), samples, "{sent} by {acked_in}");
    }
}

/// RFC 9000 section 19.3.2: the counts are cumulative, and a frame without them says nothing.
#[test]
fn marks_are_the_greatest_count_of_an_acknowledgement() {
    let marked = |ce: u64| json!([{ "frame_type": "ack", "acked_ranges": [[0, 0]], "ce": ce }]);
    for way in ["sent", "received"] {
        let flow = flow(&[
            packet(0.0, way, 0, marked(3)),
            packet(1.0, way, 1, marked(5)),
            packet(2.0, way, 2, json!([ack(json!([[0, 1]]))])),
        ]);
        assert_eq!(flow.marked_packets, 5);
    }
}

/// Ranges have one or two numbers, in any order of ranges, or are numbers themselves.
#[test]
fn acknowledged_ranges_have_many_forms() {
    for ranges in [json!([[0, 2]]), json!([[2], [0, 1]]), json!([0, 1, 2]), json!([[0], [2, 2]])] {
        let sent =
            |number: u64| packet(number as f64, "sent", number, json!([stream(0, number * 9, 9)]));
        let file = lines(&[
            sent(0),
            sent(1),
            sent(2),
            packet(40.0, "received", 0, json!([ack(ranges.clone())])),
        ]);
        let found = figures(&file);
        assert_eq!(found.flows[0].rtts_s, [0.038], "that of the newest: {ranges}");
        let bytes = if ranges == json!([[0], [2, 2]]) { 18.0 } else { 27.0 };
        assert_eq!(last(&found, "delivered_bytes"), bytes, "{ranges}");
    }
}
