//! The same scenario and seed give the same bytes, in one piece or in slices. For all shipped
//! scenarios, `metering.rs` compares two runs.

use crate::common::{all_shipped, as_written, run_all, shipped, simulate};
use proptest::prelude::*;
use sojourn_scenario::Scenario;
use sojourn_sim::{Outcome, Simulation, is_random, series_parquet};
use sojourn_units::{Duration, Instant};

/// The results of runs as bytes: summaries as JSON, and both series.
fn bytes(outcomes: &[Outcome]) -> [Vec<u8>; 3] {
    let summaries: Vec<_> = outcomes.iter().map(|o| &o.summary).collect();
    let all: Vec<_> = outcomes.iter().collect();
    [
        serde_json::to_vec(&summaries).unwrap(),
        series_parquet(&all, false).unwrap(),
        series_parquet(&all, true).unwrap(),
    ]
}

/// The summary contains the seed; the rest changes only in scenarios with random draws. A scenario
/// that can draw need not change: fq_codel's hash affects only flows that share a bucket.
#[test]
fn another_seed_differs_only_where_something_is_random() {
    let mut differ = Vec::new();
    for name in all_shipped() {
        let scenario = shipped(&name);
        let run = |seed| {
            let mut outcomes = run_all(&scenario, seed);
            outcomes.iter_mut().for_each(|outcome| outcome.summary.seed = 0);
            outcomes.iter().map(|o| serde_json::to_string(&o.summary).unwrap()).collect::<Vec<_>>()
        };
        if run(1) != run(2) {
            assert!(is_random(&scenario), "{name}");
            differ.push(name);
        }
    }
    for name in ["cross-traffic.toml", "testbed.toml", "wifi-outage.toml"] {
        assert!(differ.contains(&name.to_owned()), "{name}: {differ:?}");
    }
}

/// All kinds of links, queues and flows in two seconds.
const MIXED: &str = r#"
duration = "2s"
[link.a]
rate = { start = "20Mbit", steps = [{ at = "700ms", rate = "5Mbit" }], ramps = [{ from = "1s", to = "1500ms", rate = "30Mbit" }] }
delay = { start = "10ms", steps = [{ at = "900ms", delay = "5ms" }] }
queue = { kind = "fq_codel", ecn = true }
loss = 0.01
[link.b]
rate = "15Mbit"
delay = "3ms"
jitter = "2ms"
buffer = "20ms"
[link.back]
delay = "8ms"
[flow.bulk]
control = "cubic"
path = ["a", "b"]
back = ["back"]
[flow.late]
control = "bbr"
path = ["b"]
back = ["back"]
start = "300ms"
stop = "1700ms"
[flow.web]
control = "reno"
path = ["a"]
back = ["back"]
source = { kind = "request", request = "200B", response = "8kB", interval = "30ms" }
host = "quic"
[flow.noise]
control = "none"
path = ["b"]
source = { kind = "on-off", rate = "4Mbit", on = "20ms", off = "30ms", distribution = "exponential" }
"#;

#[test]
fn random_things_follow_the_seed() {
    let scenario = as_written(MIXED);
    let run = |seed| bytes(&[simulate(&scenario, seed)]);
    assert!(is_random(&scenario));
    assert!(run(5) == run(5));
    assert!(run(5) != run(6));
}

/// [`MIXED`] with its tables in another order.
fn in_order(order: impl Fn(usize) -> usize) -> String {
    let (head, tables) = MIXED.split_once("[link.a]").unwrap();
    let text = format!("[link.a]{tables}");
    let begins: Vec<usize> = text.match_indices("\n[").map(|(at, _)| at + 1).collect();
    let ends = begins.iter().copied().chain([text.len()]);
    let tables: Vec<&str> =
        [0].into_iter().chain(begins.clone()).zip(ends).map(|(b, e)| &text[b..e]).collect();
    let ordered: String = (0..tables.len()).map(|place| tables[order(place)]).collect();
    format!("{head}{ordered}")
}

/// The summaries of all flows and links, sorted.
fn by_name(scenario: &Scenario) -> Vec<String> {
    let summary = simulate(scenario, 5).summary;
    let flows = summary.flows.iter().map(|flow| serde_json::to_string(flow).unwrap());
    let links = summary.links.iter().map(|link| serde_json::to_string(link).unwrap());
    let mut all: Vec<_> = flows.chain(links).collect();
    all.sort();
    all
}

/// Random streams belong to names, since TOML tables are unordered.
#[test]
fn the_order_of_tables_does_not_change_what_is_drawn() {
    let tables = MIXED.matches("\n[").count();
    let reversed = in_order(|place| tables - 1 - place);
    assert!(reversed.find("[flow.noise]") < reversed.find("[link.a]"));
    assert_eq!(by_name(&as_written(MIXED)), by_name(&as_written(&reversed)));
}

/// Adds a link and a flow before the others in the document.
#[test]
fn what_is_added_does_not_change_what_the_others_draw() {
    let added =
        "[link.0]\nrate = \"1Mbit\"\nloss = 0.1\n[flow.0]\npath = [\"0\"]\ncontrol = \"bbr\"\n";
    let more = MIXED.replacen("[link.a]", &format!("{added}[link.a]"), 1);
    let (alone, beside) = (by_name(&as_written(MIXED)), by_name(&as_written(&more)));
    assert_eq!(beside.len(), alone.len() + 2);
    assert!(alone.iter().all(|one| beside.contains(one)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Interrupts a run at arbitrary times: also twice at the same time, at the times of events,
    /// and backwards.
    #[test]
    fn slices_do_not_matter(
        mut moments in prop::collection::vec(
            prop_oneof![0_u64..2_100_000_000, (0_u64..2100).prop_map(|ms| ms * 1_000_000)],
            0..40,
        ),
        sorted in any::<bool>(),
    ) {
        let scenario = as_written(MIXED);
        if sorted {
            moments.sort_unstable();
        }
        let mut sliced = Simulation::new(&scenario, None, 7);
        for ns in &moments {
            sliced.advance(Instant(*ns));
        }
        let furthest = Instant(moments.iter().copied().max().unwrap_or(0));
        prop_assert_eq!(sliced.now(), furthest.min(Instant::ZERO + Duration::from_secs(2)));
        prop_assert!(bytes(&[sliced.finish()]) == bytes(&[simulate(&scenario, 7)]));
    }

    /// Interrupts a run after arbitrary numbers of events.
    #[test]
    fn pieces_by_events_do_not_matter(pieces in prop::collection::vec(0_u32..500, 0..40)) {
        let scenario = as_written(MIXED);
        let mut sliced = Simulation::new(&scenario, None, 7);
        let mut last = sliced.now();
        for events in pieces {
            let is_there = sliced.advance_by(sliced.end(), events);
            prop_assert!(sliced.now() >= last);
            prop_assert!(!is_there || sliced.now() == sliced.end());
            last = sliced.now();
        }
        prop_assert!(bytes(&[sliced.finish()]) == bytes(&[simulate(&scenario, 7)]));
    }
}
