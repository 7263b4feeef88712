//! Shared helpers of the simulator's tests: a scenario from text, its run, and the parts of a
//! summary by name.

use std::path::{Path, PathBuf};

use sojourn_scenario::{Control, Document, Handshake, Scenario, Transport};
use sojourn_sim::{FlowSummary, LinkSummary, Outcome, RunSummary, Simulation};

/// A full packet of the TCP profile, as links count it without overhead: 1448 bytes of payload, 52
/// of headers.
pub(crate) const PACKET_BITS: f64 = 1500.0 * 8.0;

/// The scenario of this text with connections open from the start: the laws and closed forms of
/// most tests start with the first data packet. `handshake.rs` tests the handshakes.
pub(crate) fn scenario(text: &str) -> Scenario {
    scenario_with_trace(text, "")
}

/// [`scenario`], with the lines `trace` for every trace that it names.
pub(crate) fn scenario_with_trace(text: &str, trace: &str) -> Scenario {
    let mut scenario = resolved(text, trace);
    scenario.flows.iter_mut().for_each(|flow| flow.transport.handshake = Handshake::None);
    scenario
}

/// The scenario of this text unchanged, with its handshakes.
pub(crate) fn as_written(text: &str) -> Scenario {
    resolved(text, "")
}

fn resolved(text: &str, trace: &str) -> Scenario {
    let (text, data) = host_data(&on_ideal_hosts(text));
    let document = Document::from_toml("test.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let scenario = document.resolve(&|_| Ok(trace.to_owned()));
    let mut scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
    set_data(&mut scenario, data);
    scenario
}

/// The text with hosts as the standards have them, unless it names hosts for all flows: the laws and
/// closed forms of the tests know no segmentation offload and no counts in whole packets.
pub(crate) fn on_ideal_hosts(text: &str) -> String {
    let head = text.find("\n[").map_or("", |end| &text[..end]);
    let has_host = head.lines().any(|line| line.starts_with("host "));
    if has_host { text.to_owned() } else { format!("host = \"rfc\"\n{text}") }
}

/// Changes the settings that [`host_data`] returned.
pub(crate) fn set_data(scenario: &mut Scenario, data: Vec<Datum>) {
    for (flow, setting, value) in data {
        let mut flows = scenario.flows.iter_mut();
        let flow = flows.find(|one| one.name == flow).expect("the flow has this table");
        flow.transport.put(&setting, &value).expect("it is a setting");
    }
}

/// A setting of a flow's host, and its value.
pub(crate) type Datum = (String, String, String);

/// The text, and the settings in its tables `host` that scenarios do not have as keys. The tests of a
/// mechanism change these too.
pub(crate) fn host_data(text: &str) -> (String, Vec<Datum>) {
    let is_data = |name: &str| {
        let mut settings = Transport::SETTINGS.iter();
        settings.any(|setting| setting.key.name == name && !setting.is_key())
    };
    let (mut lines, mut data, mut flow) = (Vec::new(), Vec::new(), "");
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("[flow.") {
            flow = name.trim_end_matches(']');
        }
        let table = line.strip_prefix("host = { ").and_then(|rest| rest.strip_suffix('}'));
        let Some(table) = table else {
            lines.push(line.to_owned());
            continue;
        };
        let mut keys = Vec::new();
        for pair in table.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            match pair.split_once(" = ") {
                Some((name, value)) if is_data(name) => {
                    let [flow, name, value] =
                        [flow, name, value.trim_matches('"')].map(str::to_owned);
                    data.push((flow, name, value));
                }
                _ => keys.push(pair),
            }
        }
        lines.push(format!("host = {{ {} }}", keys.join(", ")));
    }
    (lines.join("\n") + "\n", data)
}

/// Runs a scenario with its first controller, if it names any.
pub(crate) fn simulate(scenario: &Scenario, seed: u64) -> Outcome {
    Simulation::new(scenario, scenario.controls.first(), seed).finish()
}

/// Runs the scenario of this text with its own seed and returns the summary.
pub(crate) fn run(text: &str) -> RunSummary {
    let scenario = scenario(text);
    simulate(&scenario, scenario.seed).summary
}

/// The text of a scenario without randomness in its hosts, so that its times are exact.
pub(crate) fn exact(duration: &str, tables: &str) -> String {
    format!("duration = \"{duration}\"\nstart_jitter = \"0s\"\nnoise = \"none\"\n{tables}")
}

/// Runs the scenario of [`exact`] and returns the summary.
pub(crate) fn run_exact(duration: &str, tables: &str) -> RunSummary {
    run(&exact(duration, tables))
}

/// The flow of this name.
pub(crate) fn flow<'a>(summary: &'a RunSummary, name: &str) -> &'a FlowSummary {
    summary.flows.iter().find(|f| f.name == name).expect("the scenario has this flow")
}

/// The link of this name.
pub(crate) fn link<'a>(summary: &'a RunSummary, name: &str) -> &'a LinkSummary {
    summary.links.iter().find(|l| l.name == name).expect("the scenario has this link")
}

/// Asserts that `found` is at most `within` from `expected`.
#[track_caller]
pub(crate) fn assert_near(found: f64, expected: f64, within: f64, what: &str) {
    let off = (found - expected).abs();
    assert!(off <= within, "{what}: {found} is not within {within} of {expected}");
}

/// Asserts that `found` differs from `expected` by at most this share of it.
#[track_caller]
pub(crate) fn assert_within(found: f64, expected: f64, share: f64, what: &str) {
    let off = found / expected - 1.0;
    assert!(off.abs() <= share, "{what}: {found} is {:+.1} % from {expected}", 100.0 * off);
}

/// Fairness index of Jain, Chiu and Hawe, "A Quantitative Measure of Fairness" (1984): 1 if all
/// shares are equal, 1/n if one flow has everything.
pub(crate) fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (shares.len() as f64 * squares)
}

/// Directory of the shipped scenarios.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Text of a file in the scenarios' directory.
pub(crate) fn shipped_text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A shipped scenario, by file name.
pub(crate) fn shipped(name: &str) -> Scenario {
    let read = |trace: &str| Ok(shipped_text(trace));
    let document = Document::from_toml(name, &shipped_text(name));
    document.and_then(|d| d.resolve(&read)).unwrap_or_else(|e| panic!("{e}"))
}

/// File names of all shipped scenarios, sorted.
pub(crate) fn all_shipped() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("the folder of scenarios");
    let names = files.map(|f| f.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".toml")).collect();
    names.sort();
    assert!(names.len() >= 7, "{names:?}");
    names
}

/// The controllers that a scenario runs, one after another; a single `None` if it names none, for
/// the flows' own controllers.
pub(crate) fn controls(scenario: &Scenario) -> Vec<Option<&Control>> {
    let all: Vec<_> = scenario.controls.iter().map(Some).collect();
    if all.is_empty() { vec![None] } else { all }
}

/// One run of a scenario for each of its controllers.
pub(crate) fn run_all(scenario: &Scenario, seed: u64) -> Vec<Outcome> {
    let runs = controls(scenario).into_iter();
    runs.map(|control| Simulation::new(scenario, control, seed).finish()).collect()
}
