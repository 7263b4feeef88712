//! The cause of DCTCP's spike on the published testbed, which hardly depends on the delay: Linux
//! 5.10 defers data until a burst is full, and its reductions forget the deferred data.

use crate::common::shipped_text;
use sojourn_scenario::{Control, Document};
use sojourn_sim::Simulation;

/// Spike of DCTCP at the drop of `scenarios/testbed.toml`, at 25 ms of delay, with these settings.
fn spike_ms(settings: &[(&str, &str)]) -> f64 {
    let mut text = shipped_text("testbed.toml").replace("\"50ms\"", "\"25ms\"");
    text = text.replace("duration = \"60s\"", "duration = \"32s\"");
    let document = Document::from_toml("testbed.toml", &text).unwrap();
    let mut scenario = document.resolve(&|_| unreachable!()).unwrap();
    for (name, value) in settings {
        scenario.flows[0].transport.put(name, value).expect("it is a setting");
    }
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
    let bursts = spike_ms(&[("prr", "rfc9937")]);
    let forgetful = spike_ms(&[("tso", "0B")]);
    assert!(both > 100.0, "{both}");
    assert!(bursts < 45.0, "{bursts}");
    assert!(forgetful < 45.0, "{forgetful}");
}
