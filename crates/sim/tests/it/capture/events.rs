//! The qlog of a run, parsed with the types of Cloudflare's `qlog` (draft-12 of the events) and
//! compared with the run.

use std::collections::BTreeSet;

use qlog::events::quic::{PacketLostTrigger, QuicFrame};
use qlog::events::{Event, EventData};
use serde_json::Value;

use super::written;
use crate::common::{as_written, flow};
use sojourn_sim::FlowSummary;

/// One flow over lossy links, with the files of its sender and its receiver.
fn lossy(control: &str, profile: &str) -> (FlowSummary, [Vec<u8>; 2]) {
    let text = format!(
        r#"
duration = "4s"
[link.a]
rate = "20Mbit"
delay = "10ms"
queue = {{ kind = "codel", ecn = true }}
loss = 0.003
[link.b]
delay = "10ms"
loss = 0.01
[flow.f]
control = "{control}"
path = ["a"]
back = ["b"]
host = {{ like = "{profile}" }}
"#
    );
    let (outcome, files) = written(&as_written(&text));
    let file = |end| files.file(&format!("events.f.{end}.sqlog"));
    (flow(&outcome.summary, "f").clone(), [file("sender"), file("receiver")])
}

/// The JSON texts of a sequence (RFC 7464).
fn texts(file: &[u8]) -> Vec<&str> {
    let text = std::str::from_utf8(file).unwrap();
    let mut parts = text.split('\u{1e}');
    assert_eq!(parts.next(), Some(""), "a record separator is before each text");
    parts.map(|part| part.strip_suffix('\n').expect("a line feed is behind each")).collect()
}

/// The events of a file. Each event survives parsing by the `qlog` types unchanged.
fn events(file: &[u8]) -> Vec<Event> {
    texts(file)[1..].iter().map(|text| event(text)).collect()
}

fn event(text: &str) -> Event {
    let event: Event = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert!(event.ex_data.is_empty(), "{text}");
    if let EventData::QuicMetricsUpdated(metrics) = &event.data {
        assert!(metrics.ex_data.is_empty(), "{text}");
    }
    let (ours, theirs): (Value, Value) =
        (serde_json::from_str(text).unwrap(), serde_json::to_value(&event).unwrap());
    assert_same(&ours, &theirs, text);
    event
}

/// Asserts equality; numbers agree to the precision of a 32-bit float.
fn assert_same(ours: &Value, theirs: &Value, text: &str) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys =
                |o: &serde_json::Map<String, Value>| o.keys().cloned().collect::<BTreeSet<_>>();
            assert_eq!(keys(a), keys(b), "{text}");
            a.iter().for_each(|(key, value)| assert_same(value, &b[key], text));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).for_each(|(a, b)| assert_same(a, b, text));
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= a.abs() * 1e-6, "{text}");
        }
        _ => assert_eq!(ours, theirs, "{text}"),
    }
}

#[test]
fn the_file_says_what_it_is() {
    for (profile, protocol) in [("rfc", "TCP"), ("quic", "QUIC")] {
        let (_, files) = lossy("cubic", profile);
        for (file, end) in files.iter().zip(["server", "client"]) {
            let first = texts(file)[0];
            assert!(first.find("qlog+json-seq").unwrap() < 256, "{first}");
            let header: qlog::QlogSeq = serde_json::from_str(first).unwrap();
            assert_eq!(header.file_schema, qlog::QLOGFILESEQ_URI);
            assert_eq!(header.trace.event_schemas, [qlog::events::QUIC_URI]);
            let common = header.trace.common_fields.unwrap();
            assert_eq!(common.protocol_types.unwrap(), [protocol]);
            let found: Value = serde_json::from_str(first).unwrap();
            assert_eq!(found["trace"]["vantage_point"]["type"], end);
        }
        let group = |file: &[u8]| {
            let header: Value = serde_json::from_str(texts(file)[0]).unwrap();
            header["trace"]["common_fields"]["group_id"].clone()
        };
        assert_eq!(group(&files[0]), group(&files[1]));
    }
}

#[test]
fn every_event_is_one_of_the_schema_and_in_order_of_time() {
    for (control, profile) in [("cubic", "rfc"), ("prague", "quic"), ("bbr3", "quic")] {
        for file in lossy(control, profile).1 {
            let all = events(&file);
            assert!(all.len() > 1000);
            assert!(all.windows(2).all(|pair| pair[0].time <= pair[1].time));
        }
    }
}

#[test]
fn packets_and_losses_are_those_of_the_run() {
    for profile in ["rfc", "quic"] {
        let (flow, [server, client]) = lossy("reno", profile);
        let (mut sent, mut lost, mut offsets) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for event in events(&server) {
            match event.data {
                EventData::QuicPacketSent(packet) => {
                    assert!(sent.insert(packet.header.packet_number.unwrap()));
                    offsets.extend(packet.frames.unwrap().iter().map(offset));
                }
                EventData::QuicPacketLost(packet) => {
                    let number = packet.header.unwrap().packet_number.unwrap();
                    assert!(sent.contains(&number) && lost.insert(number));
                    let by_count = packet.trigger == Some(PacketLostTrigger::ReorderingThreshold);
                    assert!(profile == "quic" || !by_count, "RACK goes by time");
                }
                _ => {}
            }
        }
        assert_eq!(sent.len() as u64, flow.sent_packets);
        assert!(lost.len() > 10, "{profile}");
        let places: BTreeSet<u64> = offsets.iter().copied().collect();
        assert_eq!((offsets.len() - places.len()) as u64, flow.retransmitted_packets);
        let arrived = events(&client);
        let arrived = arrived.iter().filter(|e| matches!(e.data, EventData::QuicPacketReceived(_)));
        let missing = flow.sent_packets - arrived.count() as u64;
        assert!(missing >= flow.dropped_packets && missing < flow.dropped_packets + 200);
    }
}

fn offset(frame: &QuicFrame) -> u64 {
    match frame {
        QuicFrame::Stream { offset, raw, .. } => {
            assert!(raw.as_ref().unwrap().payload_length.unwrap() > 1000);
            offset.unwrap()
        }
        other => panic!("{other:?}"),
    }
}

/// Acknowledgements name exactly packets that have arrived, and the sender's round trips are those
/// of the run.
#[test]
fn acknowledgements_and_metrics_are_those_of_the_run() {
    let (flow, [server, client]) = lossy("reno", "quic");
    let mut arrived = BTreeSet::new();
    for event in events(&client) {
        match event.data {
            EventData::QuicPacketReceived(packet) => {
                arrived.insert(packet.header.packet_number.unwrap());
            }
            EventData::QuicPacketSent(packet) => {
                let frames = serde_json::to_value(packet.frames.unwrap()).unwrap();
                for range in frames[0]["acked_ranges"].as_array().unwrap() {
                    let (first, last) = (range[0].as_u64().unwrap(), range.as_array().unwrap());
                    let last = last[last.len() - 1].as_u64().unwrap();
                    assert!((first..=last).all(|number| arrived.contains(&number)));
                }
            }
            _ => {}
        }
    }
    let mut samples = Vec::new();
    for event in events(&server) {
        if let EventData::QuicMetricsUpdated(metrics) = event.data {
            samples.extend(metrics.latest_rtt.map(f64::from));
            assert!(metrics.congestion_window.is_none_or(|window| window >= 1420));
        }
    }
    // The first sample is of the handshake, which has smaller packets.
    samples.remove(0);
    let greatest = samples.iter().copied().fold(0.0, f64::max) / 1e3;
    let least = samples.iter().copied().fold(f64::MAX, f64::min) / 1e3;
    let near = |a: f64, b: f64| (a - b).abs() <= b * 0.003;
    assert!(near(greatest, flow.rtt_max_s.unwrap()) && near(least, flow.rtt_min_s.unwrap()));
}

#[test]
fn ecn_is_tested_and_found() {
    let (_, [server, _]) = lossy("prague", "quic");
    let states: Vec<String> = texts(&server)
        .iter()
        .filter(|text| text.contains("quic:ecn_state_updated"))
        .map(|text| serde_json::from_str::<Value>(text).unwrap()["data"]["new"].to_string())
        .collect();
    assert_eq!(states, ["\"testing\"", "\"capable\""]);
}
