//! The headers of the controllers, compiled natively and in the kernel, replay calls that a
//! simulation recorded, with the same results.

use sojourn_units::params::{Params, Value};

use crate::common::defaults;
use crate::native::Native;
use crate::random::random;
use crate::record::{FLAGS, NEEDED, RETRANSMISSION, Trace, record};
use crate::scenarios::{marks, rounds, trouble};

/// The results of an event: window, threshold, and phase or alpha.
type Outcome = [u64; 3];

/// A controller with its parameters, its connections in simulations, and random calls.
struct Case {
    name: &'static str,
    params: Params,
    simulated: Vec<Trace>,
    random: Trace,
}

impl Case {
    /// Records a controller in scenarios, made for its line in the document.
    fn new(
        name: &'static str,
        values: &[(&str, Value)],
        scenarios: &[&dyn Fn(&str) -> String],
    ) -> Case {
        let declared = sojourn_cc::find(name).expect("a controller").info.params;
        let mut params = defaults(name);
        let mut keys = String::new();
        for (key, value) in values {
            params.set(declared, key, value.clone()).expect("a value");
            keys += &match value {
                Value::Choice(one) => format!(", {key} = \"{one}\""),
                other => format!(", {key} = {other}"),
            };
        }
        let control = format!("{{ kind = \"recorded\"{keys} }}");
        let scenarios = scenarios.iter().map(|scenario| scenario(&control));
        let simulated = scenarios.flat_map(|one| record(name, &one)).collect();
        let random = random(name, &params);
        Case { name, params, simulated, random }
    }

    fn of_marks(name: &'static str, seconds: u32, values: &[(&str, Value)]) -> Case {
        let scenarios: [&dyn Fn(&str) -> String; 2] =
            [&|control| marks(seconds, control), &|control| trouble(4 * seconds, control)];
        Case::new(name, values, &scenarios)
    }

    fn traces(&self) -> impl Iterator<Item = &Trace> {
        self.simulated.iter().chain([&self.random])
    }

    fn events(&self) -> usize {
        self.traces().map(|trace| trace.events.len()).sum()
    }

    fn words(&self) -> Vec<u64> {
        sojourn_kernel::words(sojourn_kernel::declared(self.name), &self.params)
    }
}

/// Asserts that results are those of native C, and names the first event that differs.
fn assert_equal(trace: &Trace, native: &[Outcome], other: &[Outcome]) {
    assert_eq!((native.len(), other.len()), (trace.events.len(), trace.events.len()));
    if let Some(place) = (0..native.len()).find(|place| native[*place] != other[*place]) {
        let (event, wanted) = (trace.events[place], native[place]);
        panic!("event {place} {event:?}: {:?} instead of {wanted:?}", other[place]);
    }
}

/// Every kind of event occurs in simulations, and each flag and each missing value both ways.
fn assert_simulations_vary(cases: &[Case]) {
    let events = || cases.iter().flat_map(|case| &case.simulated).flat_map(|trace| &trace.events);
    for kind in 0..3 {
        assert!(events().any(|event| event[1] == kind), "no event of kind {kind}");
    }
    // Only controllers that need marks or rate samples have them.
    let flags = (0..FLAGS.len() as u32).filter(|bit| NEEDED & 1 << bit == 0);
    for bit in flags {
        let kind = if 1 << bit == RETRANSMISSION { 2 } else { 0 };
        let is_set = |event: &&[u64; 13]| event[1] == kind && event[2] >> bit & 1 == 1;
        let count = events().filter(is_set).count();
        let all = events().filter(|event| event[1] == kind).count();
        assert!(0 < count && count < all, "flag {bit} in {count} of {all} events");
    }
    for (field, name) in [(3, "RTT"), (5, "acknowledged packet")] {
        let is_absent = |event: &[u64; 13]| event[1] == 0 && [0, u64::MAX].contains(&event[field]);
        assert!(events().any(is_absent), "every feedback has an {name}");
    }
}

/// Replays the cases of a controller in native C and in the kernel; returns the results for each
/// connection of each case. `None` without a compiler.
fn check(cases: &[Case]) -> Option<Vec<Vec<Vec<Outcome>>>> {
    assert_simulations_vary(cases);
    let native = Native::new(cases[0].name)?;
    let results: Vec<Vec<_>> = cases
        .iter()
        .map(|case| case.traces().map(|trace| native.run(&case.words(), trace)).collect())
        .collect();
    if let Some(lines) = native.unexecuted(".h") {
        assert!(lines.is_empty(), "no event reaches these lines:\n{}", lines.join("\n"));
    }
    for case in cases {
        println!("{}: {} events", case.name, case.events());
    }
    #[cfg(feature = "libbpf")]
    cases.iter().zip(&results).for_each(|(case, results)| in_kernel(case, results));
    Some(results)
}

#[cfg(feature = "libbpf")]
fn in_kernel(case: &Case, results: &[Vec<Outcome>]) {
    use sojourn_kernel::replay;

    let mut time = std::time::Duration::ZERO;
    for (trace, native) in case.traces().zip(results) {
        let start = replay::Start { mss: trace.mss, initial_window: trace.initial_window };
        match replay::run(case.name, &case.params, start, &trace.events) {
            Ok(outcome) => {
                assert_equal(trace, native, &outcome.results);
                time += outcome.time;
            }
            Err(error) => return crate::common::skip(&error),
        }
    }
    println!("{:.0} ns an event in the kernel", time.as_secs_f64() * 1e9 / case.events() as f64);
}

/// As [`check`], and the simulator's controller has the same windows, thresholds and details.
fn check_with_simulator(cases: &[Case]) {
    let Some(results) = check(cases) else { return };
    for (case, results) in cases.iter().zip(&results) {
        case.traces().zip(results).for_each(|(trace, native)| {
            assert_equal(trace, native, &trace.results);
        });
    }
}

fn choice(name: &str) -> Value {
    Value::Choice(name.to_owned())
}

/// LoLa or Copa, with all of its phases. After the outage of `marks`, the retransmission timer
/// expires. The second case has one more value.
fn check_phases(name: &'static str, seconds: [u32; 2], phases: u64, more: (&str, Value)) {
    let scenarios: [&dyn Fn(&str) -> String; 3] = [
        &|control| rounds(seconds[0], control),
        &|control| trouble(seconds[1], control),
        &|control| marks(10, control),
    ];
    let integer = ("arithmetic", choice("integer"));
    let cases = [
        Case::new(name, std::slice::from_ref(&integer), &scenarios),
        Case::new(name, &[integer, more], &scenarios[1..]),
    ];
    for phase in 0..phases {
        let results = cases.iter().flat_map(|case| &case.simulated).flat_map(|one| &one.results);
        assert!(results.into_iter().any(|result| result[2] == phase), "no phase {phase}");
    }
    check_with_simulator(&cases);
}

/// With and without a limit of the validity of the minimum RTT.
fn check_lola(seconds: [u32; 2]) {
    check_phases("lola", seconds, 4, ("base_timeout", Value::Integer(2)));
}

/// With and without the mode for competition.
fn check_copa(seconds: [u32; 2]) {
    check_phases("copa", seconds, 3, ("mode_switching", Value::Switch(false)));
}

/// With Linux's arithmetic, the simulator has the same results. With the exact one it has floats.
fn check_dctcp(seconds: u32) {
    let cases = ["exact", "linux"]
        .map(|name| Case::of_marks("dctcp", seconds, &[("arithmetic", choice(name))]));
    let Some(results) = check(&cases) else { return };
    for (trace, native) in cases[1].traces().zip(&results[1]) {
        assert_equal(trace, native, &trace.results);
    }
    for (trace, native) in cases[0].traces().zip(&results[0]) {
        assert_close(trace, native);
    }
}

/// Alpha has 20 bits of fraction. An observation window has three roundings, each of at most 2^-20.
/// Alpha keeps 1 - g of its error, so that the sum is at most 3/g: 48 for the default g of 1/16.
const ALPHA_ERROR: u64 = 48;

/// Asserts that integers follow floats: alpha within its roundings, the window and the threshold
/// within a packet. A window that differs by a byte grows one acknowledgement earlier or later.
fn assert_close(trace: &Trace, native: &[Outcome]) {
    let most = [trace.mss, trace.mss, ALPHA_ERROR];
    for (place, (exact, native)) in trace.results.iter().zip(native).enumerate() {
        let is_close = (0..3).all(|field| exact[field].abs_diff(native[field]) <= most[field]);
        assert!(is_close, "event {place}: {native:?} instead of {exact:?}");
    }
}

/// Both forms of the response, both rules for CWR, with and without the suspect epoch. After 50 round
/// trips, the virtual one counts.
fn check_prague(seconds: u32) {
    let forms = [
        ("mark", "virtual", false),
        ("mark", "virtual", true),
        ("mark", "linux", false),
        ("epoch", "virtual", true),
    ];
    let cases = forms.map(|(response, cwr, suspect_epoch)| {
        let values = [
            ("arithmetic", choice("integer")),
            ("response", choice(response)),
            ("cwr", choice(cwr)),
            ("suspect_epoch", Value::Switch(suspect_epoch)),
            ("d", Value::Integer(50)),
        ];
        Case::of_marks("prague", seconds, &values)
    });
    check_with_simulator(&cases);
}

#[test]
fn native_c_the_kernel_and_the_simulator_agree_on_lola() {
    check_lola([20, 40]);
}

#[test]
fn native_c_the_kernel_and_the_simulator_agree_on_copa() {
    check_copa([20, 40]);
}

#[test]
fn native_c_the_kernel_and_the_simulator_agree_on_dctcp() {
    check_dctcp(10);
}

#[test]
fn native_c_the_kernel_and_the_simulator_agree_on_prague() {
    check_prague(10);
}

/// A million acknowledgements.
#[test]
#[ignore = "takes half a minute"]
fn they_agree_over_a_million_acknowledgements() {
    check_lola([240, 400]);
    check_copa([240, 400]);
    check_dctcp(300);
    check_prague(150);
}
