//! A window and a pacing rate grow only while they limit the sender (RFC 9002 section 7.8), for every
//! controller over both stacks.

use sojourn_quic::endpoint::stacks;
use sojourn_scenario::{Document, Known};
use sojourn_sim::Simulation;

use crate::watched::{Case, Peaks, cases, watched, watched_name};

fn peaks(case: &Case) -> Peaks {
    let (controllers, peaks) = watched();
    let document = Document::from_toml("limited.toml", &case.text);
    let document = document.unwrap_or_else(|e| panic!("{e}"));
    let known = Known { stacks: stacks(), ..Known::from(&controllers) };
    let scenario = document.resolve_known(&known, &|_| Err(std::io::ErrorKind::NotFound.into()));
    let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
    Simulation::new(&scenario, None, 1).finish();
    *peaks.lock().unwrap()
}

/// The stack's own flow control limits the flow: 64 MiB for a path of 100 MB. Slow start takes 12 of
/// its round trips.
fn behind_flow_control(name: &str, stack: &str) -> Case {
    Case {
        title: format!("{name}, {stack}: limited by the stack's flow control"),
        text: format!(
            "duration = \"40s\"\n\
             [link.out]\nrate = \"1Gbit\"\ndelay = \"400ms\"\nbuffer = \"100ms\"\n\
             [link.back]\ndelay = \"400ms\"\n\
             [flow.f]\npath = [\"out\"]\nback = [\"back\"]\ncontrol = \"{}\"\n\
             stack = {{ {stack} }}\n",
            watched_name(name),
        ),
    }
}

/// The cases of a controller over a stack. `is_long`: also those that take long.
fn all_cases(name: &str, stack: &str, seconds: u64, is_long: bool) -> Vec<Case> {
    let stack = format!("kind = \"{stack}\", crypto = \"none\"");
    let mut all = cases(name, ("stack", &stack), seconds);
    all.extend(is_long.then(|| behind_flow_control(name, &stack)));
    all
}

fn no_controller_exceeds_its_gains(seconds: u64, is_long: bool) {
    let all = sojourn_cc::all().iter().filter(|algorithm| {
        let needs = algorithm.info.needs;
        stacks().infos().all(|stack| stack.lacks.of(&needs).is_none())
    });
    let over = |name| ["noq", "quinn"].map(|stack| all_cases(name, stack, seconds, is_long));
    let mut exceeded = Vec::new();
    for case in all.flat_map(|algorithm| over(algorithm.info.name)).flatten() {
        let found = peaks(&case);
        assert!(found.flight > 0, "{}", case.title);
        println!("{}: {found:?}", case.title);
        // Flow control that fills the path uses Vivace's rate at times, and its steps raise it. Dong et al.
        // 2018, section 4.2: by at most omega_0 + k delta, 5 % and 10 % for each of k earlier steps in
        // a row. The paper bounds no k: five steps are above the 1.40 of noq and the 1.47 of quinn,
        // which were measured.
        let steps = case.title.starts_with("vivace") && case.title.ends_with("flow control");
        let most = if steps { 1.0 + 0.05 + 5.0 * 0.1 } else { 1.0 };
        if found.window > most || found.pacing > most {
            exceeded.push(format!("{}: {found:?}", case.title));
        }
    }
    assert!(exceeded.is_empty(), "{}", exceeded.join("\n"));
}

/// As `unused_windows_do_not_grow` of the simulator's tests.
#[test]
fn unused_windows_do_not_grow() {
    no_controller_exceeds_its_gains(12, false);
}

/// The same over ten minutes, in which slow growth adds up, and behind the stacks' flow control:
/// `cargo test -p sojourn-quic --test it unused_windows -- --ignored`.
#[test]
#[ignore = "takes minutes: in `make test-all`"]
fn unused_windows_do_not_grow_in_ten_minutes() {
    no_controller_exceeds_its_gains(600, true);
}
