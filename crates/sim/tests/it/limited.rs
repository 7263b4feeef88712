//! A window and a pacing rate grow only while they limit the sender (RFC 9002 section 7.8), for every
//! controller.

use crate::watched::{Case, Peaks, VEGAS_OF_LINUX, cases, media_cases, watched};
use sojourn_cc::Algorithm;
use sojourn_scenario::Document;
use sojourn_sim::Simulation;

fn peaks(case: &Case) -> Peaks {
    let (catalogue, peaks) = watched();
    let document = Document::from_toml("limited.toml", &case.text);
    let document = document.unwrap_or_else(|e| panic!("{e}"));
    let scenario = document.resolve_with(&catalogue, &|_| Err(std::io::ErrorKind::NotFound.into()));
    let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
    Simulation::new(&scenario, None, 1).finish();
    *peaks.lock().unwrap()
}

/// Transports, and those of controllers whose unused window the transport may validate.
const TRANSPORTS: [&str; 2] = [r#"profile = "tcp""#, r#"profile = "quic""#];
const VALIDATED: [&str; 2] = [
    r#"profile = "tcp", cwnd_validation = "rfc7661""#,
    r#"profile = "tcp", cwnd_validation = "linux""#,
];

/// The cases of a controller over TCP and the model of QUIC, or of its encoder.
fn all_cases(algorithm: &Algorithm, seconds: u64) -> Vec<Case> {
    if algorithm.info.needs.media {
        return media_cases(algorithm.info.name, seconds);
    }
    let validated = VALIDATED.iter().filter(|_| algorithm.info.needs.validation);
    let over = |transport: &&str| {
        cases(algorithm.info.name, &format!("{transport}, receive_times = true"), seconds)
    };
    TRANSPORTS.iter().chain(validated).flat_map(over).collect()
}

fn no_controller_exceeds_its_gains(seconds: u64) {
    // The bottleneck itself sets the oracle's rate.
    let vegas = cases(VEGAS_OF_LINUX, TRANSPORTS[0], seconds);
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
