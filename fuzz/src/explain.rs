//! The path, the flows and the limits behind a capture.

use serde_json::Value;
use sojourn_explain::observation::Observer;
use sojourn_explain::{Options, explain};
use sojourn_trace::capture::{Capture, ReadError};

use crate::heap;

/// Memory of the reader, and of the first connections.
const FIXED_BYTES: u64 = 16 << 20;

/// Explains the capture in `data` without a twin, or what precedes its damage. Every figure is one
/// that a path can have.
pub(crate) fn check(data: &[u8]) {
    // A compressed file may grow a thousandfold, and each packet leaves its time and size.
    let found = heap::within(FIXED_BYTES + 4096 * data.len() as u64, || found(data));
    for flow in found["flows"].as_array().expect("a list") {
        for key in ["goodput_bps", "base_rtt_s", "start_s", "network_limited_share"] {
            // JSON writes a number that is not finite as null.
            assert!(flow[key].as_f64().is_some_and(|value| value >= 0.0), "{key} of {flow}");
        }
    }
    for piece in found["path"]["capacity"].as_array().expect("a list") {
        let [from, to, low] = ["from_s", "to_s", "low_bps"].map(|key| piece[key].as_f64());
        assert!(from <= to && low >= Some(0.0), "{piece}");
    }
}

fn found(data: &[u8]) -> Value {
    let mut observer = Observer::new();
    if let Err(ReadError::Io(error)) = observer.read(&mut Capture::new(data), u64::MAX) {
        panic!("memory can be read: {error}");
    }
    let options = Options { twin: false, ..Options::default() };
    serde_json::to_value(explain(&observer.finish(), &options)).expect("plain values")
}
