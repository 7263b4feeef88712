//! Files that a scenario names: a trace of capacity, and a distribution of sizes.

use sojourn_scenario::Document;

use crate::document::{self, Text};
use crate::{heap, simulate};

const TRACE: &str = r#"
duration = "2s"
link.a = { rate = { trace = "x" }, delay = "5ms", buffer = "30ms" }
link.b = { delay = "5ms" }
flow.f = { path = ["a"], back = ["b"], control = "cubic", source = "bulk" }
"#;
const SIZES: &str = r#"
duration = "2s"
link.a = { rate = "10Mbit", delay = "5ms", buffer = "30ms" }
link.b = { delay = "5ms" }
[flow.f]
path = ["a"]
back = ["b"]
control = "cubic"
source = { kind = "poisson", load = "5Mbit", sizes = "file", file = "x" }
"#;

/// Simulates a scenario that names the file in `data`, or places its fault.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for toml in [TRACE, SIZES] {
        let document = Document::from_toml("fuzz.toml", toml).expect("it is valid TOML");
        let read = |_: &str| Ok(text.to_owned());
        match heap::within(document::room(data.len()), || document.resolve(&read)) {
            Ok(scenario) => simulate::simulate(&scenario),
            Err(errors) => {
                let texts = [Text { origin: "fuzz.toml", text: toml }];
                document::refused(&errors, data.len(), &texts);
            }
        }
    }
}
