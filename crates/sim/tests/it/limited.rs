//! A window and a pacing rate grow only while they limit the sender (RFC 9002 section 7.8), for every
//! controller.

use crate::common::{host_data, set_data};
use crate::watched::{Case, Peaks, VEGAS_OF_LINUX, cases, media_cases, watched};
use sojourn_cc::Algorithm;
use sojourn_scenario::Document;
use sojourn_sim::Simulation;

fn peaks(case: &Case) -> Peaks {
    let (catalogue, peaks) = watched();
    let (text, data) = host_data(&case.text);
    let document = Document::from_toml("limited.toml", &text);
    let document = document.unwrap_or_else(|e| panic!("{e}"));
    let scenario = document.resolve_with(&catalogue, &|_| Err(std::io::ErrorKind::NotFound.into()));
    let mut scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
    set_data(&mut scenario, data);
    Simulation::new(&scenario, None, 1).finish();
    *peaks.lock().unwrap()
}

/// Hosts, and those of controllers whose unused window the transport may validate.
const HOSTS: [&str; 2] = [r#"like = "rfc""#, r#"like = "quic""#];
const VALIDATED: [&str; 2] =
    [r#"like = "rfc", cwnd_validation = "rfc7661""#, r#"like = "rfc", cwnd_validation = "linux""#];

/// The cases of a controller over TCP and the model of QUIC, or of its encoder.
fn all_cases(algorithm: &Algorithm, seconds: u64) -> Vec<Case> {
    if algorithm.info.needs.media {
        return media_cases(algorithm.info.name, seconds);
    }
    let validated = VALIDATED.iter().filter(|_| algorithm.info.needs.validation);
    let over = |host: &&str| {
        let keys = format!("{host}, receive_times = true");
        cases(algorithm.info.name, ("host", &keys), seconds)
    };
    HOSTS.iter().chain(validated).flat_map(over).collect()
}

fn no_controller_exceeds_its_gains(seconds: u64) {
    // The bottleneck itself sets the oracle's rate.
    let vegas = cases(VEGAS_OF_LINUX, ("host", HOSTS[0]), seconds);
    let all = sojourn_cc::all().iter().filter(|algorithm| !algorithm.info.needs.signal);
    let mut exceeded = Vec::new();
    for case in all.flat_map(|algorithm| all_cases(algorithm, seconds)).chain(vegas) {
        let found = peaks(&case);
        assert!(found.flight > 0, "{}", case.title);
        println!("{}: {found:?}", case.title);
        if found.window > 1.0 || found.pacing > 1.0 {
            exceeded.push(format!("{}: {found:?}", case.title));
        }
    }
    assert!(exceeded.is_empty(), "{}", exceeded.join("\n"));
}

/// The window stays below twice the greatest flight, or the controller's published gain, and the pacing
/// rate below the same for a round trip, if the receive window, the requests or the source limit the
/// sender.
#[test]
fn unused_windows_do_not_grow() {
    no_controller_exceeds_its_gains(20);
}

/// The same over ten minutes, in which slow growth adds up:
/// `cargo test -p sojourn-sim --test it unused_windows -- --ignored`.
#[test]
#[ignore = "takes minutes: in `make test-all`"]
fn unused_windows_do_not_grow_in_ten_minutes() {
    no_controller_exceeds_its_gains(600);
}
