//! A metered run reports its current part, and has the same results as an unmetered run.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{all_shipped, as_written, controls, run_all, shipped};
use sojourn_scenario::Scenario;
use sojourn_sim::{Outcome, Part, Simulation, at_work, series_parquet};

/// Results of a run as bytes.
fn bytes(outcome: &Outcome) -> [Vec<u8>; 3] {
    [
        serde_json::to_vec(&outcome.summary).unwrap(),
        series_parquet(&[outcome], false).unwrap(),
        series_parquet(&[outcome], true).unwrap(),
    ]
}

fn metered(scenario: &Scenario) -> Vec<Outcome> {
    let run = |control| Simulation::metered(scenario, control, scenario.seed).finish();
    controls(scenario).into_iter().map(run).collect()
}

/// Every shipped scenario gives the same bytes twice, the second time with marks.
#[test]
fn marks_and_a_second_run_change_nothing() {
    for name in all_shipped() {
        let scenario = shipped(&name);
        for (plain, metered) in run_all(&scenario, scenario.seed).iter().zip(metered(&scenario)) {
            assert!(bytes(plain) == bytes(&metered), "{name}, {}", plain.summary.control);
        }
    }
}

const BUSY: &str = r#"
duration = "1s"
[link.a]
rate = "50Mbit"
delay = "5ms"
queue = "codel"
ring = { packets = 64 }
[flow.f]
control = "cubic"
path = ["a"]
"#;

/// A frequent reader of the meter sees every part.
#[test]
fn every_part_says_when_it_is_at_work() {
    let (scenario, done) = (as_written(BUSY), AtomicBool::new(false));
    let look = || {
        let mut seen = BTreeSet::new();
        while seen.len() < Part::ALL.len() && !done.load(Ordering::Relaxed) {
            seen.insert(at_work());
        }
        done.store(true, Ordering::Relaxed);
        seen
    };
    let seen = std::thread::scope(|scope| {
        let looks = scope.spawn(look);
        // Far more runs than necessary, even if both threads share a core.
        for _ in 0..2000 {
            if done.load(Ordering::Relaxed) {
                break;
            }
            metered(&scenario);
        }
        done.store(true, Ordering::Relaxed);
        looks.join().expect("looking cannot fail")
    });
    assert_eq!(seen, Part::ALL.into_iter().collect());
}
