//! A simulated capture is explained by the scenario behind it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use sojourn_explain::observation::{Observation, Observer, Vantage};
use sojourn_explain::{CureKind, Explanation, Options, explain};
use sojourn_scenario::Document;
use sojourn_sim::{Capture, Simulation, Sink};
use sojourn_trace::capture;

const SCENARIO: &str = r#"
title = "an upload"
duration = "12s"

[link.up]
rate = "10Mbit"
delay = "10ms"
buffer = "100kB"

[link.down]
delay = "10ms"

[flow.upload]
path = ["up"]
back = ["down"]
control = "cubic"
source = "bulk"
"#;

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Sink for Memory {
    fn append(&mut self, file: &str, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.0.lock().map_err(|_| io::Error::other("poisoned"))?;
        files.entry(file.to_owned()).or_default().extend_from_slice(bytes);
        Ok(())
    }
}

/// The segments of a capture, with their times in ns.
pub(crate) fn segments_of(capture: &[u8]) -> Vec<(i64, capture::Segment)> {
    let mut capture = capture::Capture::new(capture);
    let mut all = Vec::new();
    while let Some(packet) = capture.next().expect("a valid capture") {
        if let (Some(at), Ok(segment)) = (packet.at_ns, capture::segment(&packet)) {
            all.push((at, segment));
        }
    }
    all
}

/// The captures of the scenario at the sender and at the receiver.
pub(crate) fn captures() -> [Vec<u8>; 2] {
    captures_of(SCENARIO)
}

/// The captures of any scenario.
pub(crate) fn captures_of(toml: &str) -> [Vec<u8>; 2] {
    let document = Document::from_toml("test.toml", toml).expect("valid TOML");
    let scenario =
        document.resolve(&|_| Err(io::ErrorKind::NotFound.into())).expect("a valid scenario");
    let memory = Memory::default();
    let tap = Capture::new(memory.clone()).pcapng("x");
    let mut simulation = Simulation::tapped(&scenario, None, 1, tap);
    simulation.advance(simulation.end());
    simulation.tap().flush().expect("memory does not fail");
    let files = memory.0.lock().expect("one thread");
    ["x.sender.pcapng", "x.receiver.pcapng"].map(|name| files[name].clone())
}

pub(crate) fn observe(bytes: &[u8]) -> Observation {
    let mut observer = Observer::new();
    observer.read(&mut capture::Capture::new(bytes), u64::MAX).expect("a valid capture");
    observer.finish()
}

fn check_path(found: &Explanation) {
    let [piece] = &found.path.capacity[..] else { panic!("{:?}", found.path.capacity) };
    let rate = piece.rate_bps.expect("the queue was full");
    assert!((rate / 10e6 - 1.0).abs() < 0.01, "{rate}");
    let base = found.path.base_rtt_s.expect("a base RTT");
    assert!((base - 0.02).abs() < 1e-3, "{base}");
}

#[test]
fn both_ends_show_the_same_path_and_the_sender_the_controller() {
    let [sender, receiver] = captures();
    let (at_sender, at_receiver) = (observe(&sender), observe(&receiver));
    assert_eq!(at_sender.flows[0].vantage, Some(Vantage::Sender));
    assert_eq!(at_receiver.flows[0].vantage, Some(Vantage::Receiver));
    let found = explain(&at_sender, &Options::default());
    check_path(&found);
    check_path(&explain(&at_receiver, &Options { twin: false, ..Options::default() }));
    let buffer = found.path.buffer_bytes.expect("a full buffer");
    assert!((buffer / 100e3 - 1.0).abs() < 0.1, "{buffer}");
    assert_eq!(found.flows[0].controller.name, Some("cubic"));
    assert!(found.fit.as_ref().is_some_and(|fit| fit.good), "{:?}", found.fit);
    // A queue that keeps the delay short is the cure of a long one.
    let best = &found.cures[1];
    assert!(best.delay_p50_s.median < found.cures[0].delay_p50_s.median / 3.0, "{best:?}");
    assert_eq!(best.gain_s, found.cures[0].delay_p50_s.median - best.delay_p50_s.median);
    // Changes of the path come before those of senders, each by their gain.
    let keys: Vec<_> = found.cures[1..].iter().map(|cure| (cure.kind, cure.gain_s)).collect();
    let is_sorted =
        |a: &(CureKind, f64), b: &(CureKind, f64)| a.0 < b.0 || a.0 == b.0 && a.1 >= b.1;
    assert!(keys.is_sorted_by(is_sorted), "{keys:?}");
    assert!(keys.iter().any(|key| key.0 == CureKind::Sender));
    let twin = found.twin.expect("a twin");
    assert!(Document::from_toml("twin.toml", &twin).is_ok());
}

#[test]
fn the_same_capture_gives_the_same_bytes() {
    let [_, receiver] = captures();
    let options = Options { cures: false, ..Options::default() };
    let [first, second] = [0, 1].map(|_| {
        serde_json::to_string(&explain(&observe(&receiver), &options)).expect("plain values")
    });
    assert_eq!(first, second);
}

/// An upload beside a call of 1.5 Mbit/s from another host, which begins later and ends earlier.
const CALL: &str = r#"
title = "an upload beside a call"
duration = "16s"

[link.up]
rate = "5Mbit"
delay = "15ms"
buffer = "100kB"

[link.down]
delay = "15ms"

[flow.upload]
path = ["up"]
back = ["down"]
control = "cubic"
source = "bulk"

[flow.call]
path = ["up"]
back = ["down"]
control = "none"
start = "3s"
source = { kind = "on-off", rate = "1.5Mbit", on = "8s", off = "20s" }
"#;

/// The twin's traffic ends with the capture.
#[test]
fn a_call_until_the_end_is_part_of_a_valid_twin() {
    let [sender, _] = captures_of(&CALL.replace("on = \"8s\"", "on = \"20s\""));
    let found = explain(&observe(&sender), &Options { cures: false, ..Options::default() });
    let fit = found.fit.expect("a twin");
    assert!(fit.good, "{fit:?}");
}

#[test]
fn datagrams_of_another_host_take_their_part_of_one_capacity() {
    for bytes in captures_of(CALL) {
        let found = explain(&observe(&bytes), &Options { cures: false, ..Options::default() });
        let [piece] = &found.path.capacity[..] else { panic!("{:?}", found.path.capacity) };
        let rate = piece.rate_bps.expect("the queue was full");
        // At the sender, a datagram is counted before the queue, which may drop it.
        assert!((rate / 5e6 - 1.0).abs() < 0.02, "{rate}");
        let beside = found.beside_bps.expect("a call beside");
        assert!(beside > 0.4e6, "{beside}");
        assert!(found.text.iter().all(|line| !line.contains("fell")), "{:?}", found.text);
        let twin = found.twin.expect("a twin");
        assert!(twin.contains("[flow.beside]"), "{twin}");
        let fit = found.fit.expect("a twin");
        assert!(fit.good, "{fit:?}");
    }
}
