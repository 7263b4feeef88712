//! Explanations: captures, qlog, data of Flent and iperf3, logs of ss, and runs.

use serde_json::Value;
use sojourn_explain::{Options, explain_source};

use crate::heap;

/// Memory of the readers: buffers, the window that a frame of zstd may declare, and the values of a
/// packed text of 16 MiB.
const FIXED_BYTES: u64 = 800 << 20;

/// Explains the file in `data` without a twin, or what precedes its damage. Every figure is one that
/// a path can have.
pub(crate) fn check(data: &[u8]) {
    let options = Options { twin: false, ..Options::default() };
    // A compressed file may grow a thousandfold, and each packet leaves its time and size.
    let found = heap::within(FIXED_BYTES + 4096 * data.len() as u64, || {
        explain_source("fuzz", || Ok(data), &options, &|| false)
    });
    // Damaged compressed data may be of no known kind.
    let Ok(Some(text)) = found else { return };
    let found: Value = serde_json::from_str(&text).expect("an explanation is JSON");
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
