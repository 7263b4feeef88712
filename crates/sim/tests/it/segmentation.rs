//! The cause of DCTCP's spike on the published testbed, which hardly depends on the delay: Linux
//! 5.10 defers data until a burst is full, and its reductions forget the deferred data.

use crate::common::shipped_text;
use sojourn_scenario::{Control, Document};
use sojourn_sim::Simulation;

/// Spike of DCTCP at the drop of `scenarios/testbed.toml`, at 25 ms of delay, with these text
/// replacements.
fn spike_ms(changes: &[(&str, &str)]) -> f64 {
    let mut text = shipped_text("testbed.toml").replace("\"50ms\"", "\"25ms\"");
    for (old, new) in [("duration = \"60s\"", "duration = \"32s\"")].iter().chain(changes) {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    let document = Document::from_toml("testbed.toml", &text).unwrap();
    let scenario = document.resolve(&|_| unreachable!()).unwrap();
    let is_dctcp = |c: &&Control| matches!(c, Control::Algorithm { kind, .. } if kind == "dctcp");
    let dctcp = scenario.controls.iter().find(is_dctcp);
    let summary = Simulation::new(&scenario, dctcp, scenario.seed).finish().summary;
    1e3 * summary.spikes[0].spike_s.expect("the queue was used")
}

/// The measured spike is 111 ms. Its 156 packets take 38 ms at 28.7 Mbit/s: the window that CoDel
/// leaves to a sender that fills every gap.
#[test]
fn neither_of_the_two_does_it_alone() {
    let both = spike_ms(&[]);
    let bursts = spike_ms(&[("prr = \"linux-5.10\"", "prr = \"rfc9937\"")]);
    let forgetful = spike_ms(&[("tso = \"64KiB\"", "tso = \"0B\"")]);
    assert!(both > 100.0, "{both}");
    assert!(bursts < 45.0, "{bursts}");
    assert!(forgetful < 45.0, "{forgetful}");
}
