//! The same events in every form of a file.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use sojourn_trace::qlog::{Fault, trace_name};

use super::made::{ack, figures, last, lines, log, packet, stream};

/// Three packets, of which the second is lost and sent again; times in ms.
fn events() -> Vec<Value> {
    let sent = |at, number, offset| packet(at, "sent", number, json!([stream(0, offset, 1000)]));
    let metrics = json!({ "smoothed_rtt": 40.0, "congestion_window": 14000, "bytes_in_flight": 0 });
    let lost = json!({ "header": { "packet_type": "1RTT", "packet_number": 1 } });
    vec![
        sent(10.0, 0, 0),
        sent(11.0, 1, 1000),
        sent(12.0, 2, 2000),
        packet(50.0, "received", 0, json!([ack(json!([[0], [2, 2]]))])),
        json!({ "time": 50.5, "name": "quic:recovery_metrics_updated", "data": metrics }),
        json!({ "time": 51.0, "name": "quic:packet_lost", "data": lost }),
        sent(52.0, 3, 1000),
        packet(92.0, "received", 1, json!([ack(json!([[0, 3]]))])),
    ]
}

fn assert_same(file: &[u8], form: &str) {
    let found = figures(file);
    let flow = &found.flows[0];
    assert_eq!((flow.sent_packets, flow.retransmitted_packets), (4, 1), "{form}");
    let ms: Vec<_> = flow.rtts_s.iter().map(|rtt| (rtt * 1e6).round() / 1e3).collect();
    assert_eq!(ms, [38.0, 40.0], "{form}");
    for (name, value) in [("delivered_bytes", 3000.0), ("lost_packets", 1.0), ("cwnd_bytes", 14e3)]
    {
        assert_eq!(last(&found, name), value, "{form}: {name}");
    }
    assert!((last(&found, "srtt_s") - 0.04).abs() < 1e-9, "{form}");
    assert!(last(&found, "t_s") < 0.2, "{form}");
}

fn separated() -> Vec<u8> {
    let texts = [&json!({ "trace": {} })]
        .into_iter()
        .chain(&events())
        .map(Value::to_string)
        .collect::<Vec<_>>();
    texts.iter().map(|text| format!("\u{1e}{text}\n")).collect::<String>().into_bytes()
}

fn contained(trace: Value) -> Vec<u8> {
    serde_json::to_vec_pretty(&json!({ "qlog_version": "0.3", "traces": [trace] })).unwrap()
}

/// The times of the events from the previous one; the trace says so after them.
fn deltas() -> Vec<u8> {
    let (mut events, mut before) = (events(), 0.0);
    for event in &mut events {
        let at = event["time"].as_f64().unwrap();
        event["time"] = (at - before).into();
        before = at;
    }
    let events = serde_json::to_string(&events).unwrap();
    let about = r#""common_fields": {"time_format": "delta"}"#;
    format!("{{\"traces\": [{{\"events\": {events}, {about}}}]}}").into_bytes()
}

fn calendar() -> Vec<u8> {
    let mut events = events();
    for event in &mut events {
        event["time"] = (event["time"].as_f64().unwrap() + 1.7e12).into();
    }
    contained(json!({ "events": events }))
}

/// draft-01: events as lists, times in microseconds, numbers as text.
fn tuples() -> Vec<u8> {
    let tuple = |mut event: Value| {
        let mut data = event["data"].take();
        if let Some(time) = data.get_mut("smoothed_rtt") {
            *time = (time.as_f64().unwrap() * 1e3).into();
        }
        if data.get("header").is_some() {
            data["packet_type"] = data["header"]["packet_type"].take();
            data["header"] =
                json!({ "packet_number": data["header"]["packet_number"].to_string() });
        }
        let name = event["name"].as_str().unwrap().trim_start_matches("quic:").to_uppercase();
        json!([event["time"].as_f64().unwrap() * 1e3, "TRANSPORT", name, data])
    };
    contained(json!({
        "configuration": { "time_units": "us" },
        "event_fields": ["relative_time", "CATEGORY", "EVENT_TYPE", "DATA"],
        "events": events().into_iter().map(tuple).collect::<Vec<_>>(),
    }))
}

#[test]
fn every_form_says_the_same() {
    assert_same(&separated(), "sequence");
    assert_same(&lines(&events()), "lines");
    assert_same(&contained(json!({ "events": events() })), "contained");
    assert_same(&deltas(), "deltas");
    assert_same(&calendar(), "calendar");
    assert_same(&tuples(), "tuples");
}

fn gzip(file: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(file).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn packed_files_are_unpacked() {
    let gzip = gzip(&deltas());
    assert_same(&gzip, "gzip, read twice");
    let zstd = compress_to_vec(&separated()[..], CompressionLevel::Fastest);
    assert_same(&zstd, "zstd");
    for packed in [gzip, zstd] {
        let cut = log(&packed[..packed.len() / 2]);
        let damage = cut.damage.expect("half of a file is no file");
        assert!(matches!(damage.fault, Fault::Packed(_)), "{damage}");
    }
}

#[test]
fn a_trace_is_named_as_its_file() {
    let names = ["it.sqlog", "it.qlog.gz", "it.sqlog.zst", "it", "a.b.qlog", ".qlog"];
    assert_eq!(names.map(trace_name), ["it", "it", "it", "it", "a.b", ".qlog"]);
}

/// Both endpoints of a connection, a trace with a title, and one that no program could read.
#[test]
fn traces_have_names_of_their_own() {
    let trace =
        |end: &str| json!({ "vantage_point": { "name": "x", "type": end }, "events": events() });
    let failed = json!({ "error_description": "no such file", "uri": "x" });
    let mut titled = trace("client");
    titled["title"] = "The title".into();
    let traces = [trace("server"), failed, titled.clone(), titled];
    let file = serde_json::to_vec(&json!({ "traces": traces })).unwrap();
    let found = figures(&file);
    let names: Vec<_> = found.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["x (server)", "x (client) 2", "x (client) 3"]);
    assert_eq!(found.title.as_deref(), Some("The title"));
}
