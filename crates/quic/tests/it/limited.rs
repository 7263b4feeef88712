//! A window and a pacing rate grow only while they limit the sender (RFC 9002 section 7.8), for every
//! controller over both stacks.

use sojourn_quic::host::stacks;
use sojourn_scenario::{Document, Known};
use sojourn_sim::Simulation;

use crate::watched::{Case, Peaks, cases, watched};

fn peaks(case: &Case) -> Peaks {
    let (controllers, peaks) = watched();
    let document = Document::from_toml("limited.toml", &case.text);
    let document = document.unwrap_or_else(|e| panic!("{e}"));
    let known = Known { stacks: stacks(), controllers };
    let scenario = document.resolve_known(&known, &|_| Err(std::io::ErrorKind::NotFound.into()));
    let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
    Simulation::new(&scenario, None, 1).finish();
    let found = *peaks.lock().unwrap();
    found
}

fn no_controller_exceeds_its_gains(seconds: u64) {
    let all = sojourn_cc::all().iter().filter(|algorithm| {
        let needs = algorithm.info.needs;
        stacks().infos().all(|stack| stack.lacks.of(&needs).is_none())
    });
    let mut exceeded = Vec::new();
    for algorithm in all {
        for stack in ["noq", "quinn"] {
            for case in cases(
                algorithm.info.name,
                &format!("stack = \"{stack}\", crypto = \"none\""),
                seconds,
            ) {
                let begun = std::time::Instant::now();
                let found = peaks(&case);
                assert!(found.flight > 0, "{}", case.title);
                println!("{}: {found:?} {:?}", case.title, begun.elapsed());
                if found.window > 1.0 || found.pacing > 1.0 {
                    exceeded.push(format!("{}: {found:?}", case.title));
                }
            }
        }
    }
    assert!(exceeded.is_empty(), "{}", exceeded.join("\n"));
}

/// As `unused_windows_do_not_grow` of the simulator's tests.
#[test]
fn unused_windows_do_not_grow() {
    no_controller_exceeds_its_gains(12);
}

/// The same over ten minutes, in which slow growth adds up.
#[test]
#[ignore = "takes minutes"]
fn unused_windows_do_not_grow_in_ten_minutes() {
    no_controller_exceeds_its_gains(600);
}
