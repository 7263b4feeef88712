//! Generated qlog files, and their flows.

use std::fs;

use serde_json::{Value, json};
use sojourn_trace::Column;
use sojourn_trace::qlog::{Figures, Flow, Limits, Log, read};

/// A sequence with one text on each line.
pub(super) fn lines(events: &[Value]) -> Vec<u8> {
    let header = json!({ "trace": { "vantage_point": { "type": "client" } } });
    let texts = [&header].into_iter().chain(events).map(|text| format!("{text}\n"));
    texts.collect::<String>().into_bytes()
}

/// A packet of application data, at a time in ms.
pub(super) fn packet(at: f64, way: &str, number: u64, frames: Value) -> Value {
    packet_of(at, way, "1RTT", number, frames)
}

pub(super) fn packet_of(at: f64, way: &str, kind: &str, number: u64, frames: Value) -> Value {
    let header = json!({ "packet_type": kind, "packet_number": number });
    let data = json!({ "header": header, "frames": frames });
    json!({ "time": at, "name": format!("quic:packet_{way}"), "data": data })
}

pub(super) fn stream(id: u64, offset: u64, len: u64) -> Value {
    json!({ "frame_type": "stream", "stream_id": id, "offset": offset, "length": len })
}

pub(super) fn ack(ranges: Value) -> Value {
    json!({ "frame_type": "ack", "acked_ranges": ranges })
}

pub(super) fn log(file: &[u8]) -> Log {
    read("it", || Ok(file), &Limits::default()).expect("memory can be read")
}

/// The figures of a file without damage.
pub(super) fn figures(file: &[u8]) -> Figures {
    let log = log(file);
    assert_eq!(log.damage, None);
    Figures::new(&[log], None)
}

/// The flow of some events.
pub(super) fn flow(events: &[Value]) -> Flow {
    let mut flows = figures(&lines(events)).flows;
    assert_eq!(flows.len(), 1);
    flows.remove(0)
}

/// The last value of a column of the samples.
pub(super) fn last(figures: &Figures, name: &str) -> f64 {
    match column(figures, name) {
        Column::F64(values) => *values.last().expect("there are samples"),
        Column::U64(values) => *values.last().expect("there are samples") as f64,
        Column::Text(_) => panic!("{name} is text"),
    }
}

pub(super) fn column<'a>(figures: &'a Figures, name: &str) -> &'a Column {
    let columns = figures.samples.columns().iter();
    &columns.into_iter().find(|(own, _)| own == name).expect("the column exists").1
}

/// A file of the repository's tests.
pub(super) fn shipped(name: &str) -> Vec<u8> {
    fs::read(format!("{}/../../tests/qlog/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}
