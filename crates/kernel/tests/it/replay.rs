//! The headers of the controllers, compiled natively and in the kernel, replay calls that a
//! simulation recorded, with the same results.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, thread};

use sojourn_params::{Params, Value};

use crate::common::defaults;
use crate::record::{Trace, record};

/// Two flows with different round-trip times: every phase, many rounds.
fn rounds(seconds: u32, control: &str) -> String {
    format!(
        r#"
duration = "{seconds}s"
[link.bottleneck]
rate = "100Mbit"
delay = "5ms"
buffer = "1MB"
[link.near]
delay = "5ms"
[link.far]
delay = "45ms"
[flow.first]
path = ["bottleneck"]
back = ["near"]
control = {control}
[flow.second]
path = ["bottleneck"]
back = ["far"]
control = {control}
start = "2s"
"#
    )
}

/// Losses, timeouts, spurious retransmissions and idle periods.
fn trouble(seconds: u32, control: &str) -> String {
    format!(
        r#"
duration = "{seconds}s"
[link.bottleneck]
rate = "10Mbit"
delay = "10ms"
buffer = "20kB"
loss = 0.02
[link.back]
delay = "10ms"
[flow.bulk]
path = ["bottleneck"]
back = ["back"]
control = {control}
[flow.bursts]
path = ["bottleneck"]
back = ["back"]
control = {control}
source = {{ kind = "on-off", rate = "4Mbit", on = "1s", off = "3s" }}
[flow.other]
path = ["bottleneck"]
back = ["back"]
control = "cubic"
"#
    )
}

/// Marks by a step, losses, an outage and a second flow.
fn marks(seconds: u32, control: &str) -> String {
    format!(
        r#"
duration = "{seconds}s"
[link.bottleneck]
rate = {{ start = "100Mbit", steps = [
    {{ at = "3s", rate = "30Mbit" }},
    {{ at = "5s", rate = "0Mbit" }},
    {{ at = "7s", rate = "100Mbit" }},
] }}
delay = "5ms"
buffer = "100kB"
queue = {{ kind = "step", k = 20 }}
loss = 0.0001
[link.back]
delay = "5ms"
[flow.first]
path = ["bottleneck"]
back = ["back"]
control = {control}
[flow.second]
path = ["bottleneck"]
back = ["back"]
control = {control}
start = "2s"
source = {{ kind = "on-off", rate = "40Mbit", on = "2s", off = "1s" }}
"#
    )
}

/// A controller with its parameters, and its recorded connections.
struct Case {
    name: &'static str,
    params: Params,
    traces: Vec<Trace>,
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
        let traces = scenarios.flat_map(|one| record(name, &one)).collect();
        Case { name, params, traces }
    }

    fn of_marks(name: &'static str, seconds: u32, values: &[(&str, Value)]) -> Case {
        let scenarios: [&dyn Fn(&str) -> String; 2] =
            [&|control| marks(seconds, control), &|control| trouble(4 * seconds, control)];
        Case::new(name, values, &scenarios)
    }

    fn events(&self) -> usize {
        self.traces.iter().map(|trace| trace.events.len()).sum()
    }
}

fn bytes(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
}

/// Compiles the native program of a controller; `None` without a compiler.
fn native(name: &str) -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
    // Each test has its own file.
    static BUILT: AtomicU32 = AtomicU32::new(0);
    let number = BUILT.fetch_add(1, Ordering::Relaxed);
    let program = env::temp_dir().join(format!("sojourn-native-{}-{number}", std::process::id()));
    let status = Command::new("cc")
        .args(["-O2", &format!("-DCONTROLLER={name}"), "-include"])
        .arg(sources.join(format!("{name}.h")))
        .arg("-o")
        .args([&program, &sources.join("native.c")])
        .status();
    match status {
        Ok(status) => assert!(status.success(), "the header does not compile"),
        Err(error) => {
            println!("left out: cc: {error}");
            return None;
        }
    }
    Some(program)
}

/// Results of the native program.
fn in_native(program: &Path, case: &Case, trace: &Trace) -> Vec<[u64; 3]> {
    let declared = sojourn_cc::find(case.name).expect("a controller").info.params;
    let mut input = bytes(sojourn_kernel::words(declared, &case.params));
    input.extend(bytes([trace.mss, trace.initial_window]));
    input.extend(bytes(trace.events.iter().flatten().copied()));
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writing = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("an end");
    writing.join().expect("no panic").expect("written");
    assert!(output.status.success());
    let words = output.stdout.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
    words.collect::<Vec<_>>().as_chunks::<3>().0.to_vec()
}

/// Compares results with those of native C, and names the first event that differs.
fn compare(trace: &Trace, native: &[[u64; 3]], other: &[[u64; 3]]) {
    assert_eq!((native.len(), other.len()), (trace.events.len(), trace.events.len()));
    if let Some(place) = (0..native.len()).find(|place| native[*place] != other[*place]) {
        let (event, wanted) = (trace.events[place], native[place]);
        panic!("event {place} {event:?}: {:?} instead of {wanted:?}", other[place]);
    }
}

/// Every kind of event occurs.
fn check_coverage(case: &Case) {
    let has = |of: &dyn Fn(&[u64; 12]) -> bool| {
        case.traces.iter().flat_map(|trace| &trace.events).any(of)
    };
    (0..3).for_each(|kind| assert!(has(&|event| event[1] == kind), "no event of kind {kind}"));
    assert!(has(&|event| event[2] & 1 != 0), "no loss");
}

/// Replays a case; returns the results of native C. `None` without a compiler.
fn check(case: &Case) -> Option<Vec<Vec<[u64; 3]>>> {
    let program = native(case.name)?;
    check_coverage(case);
    let results: Vec<_> =
        case.traces.iter().map(|trace| in_native(&program, case, trace)).collect();
    fs::remove_file(program).expect("removed");
    println!("{} events of {} connections", case.events(), case.traces.len());
    #[cfg(feature = "libbpf")]
    in_kernel(case, &results);
    Some(results)
}

#[cfg(feature = "libbpf")]
fn in_kernel(case: &Case, results: &[Vec<[u64; 3]>]) {
    use sojourn_kernel::replay;

    let mut time = std::time::Duration::ZERO;
    for (trace, native) in case.traces.iter().zip(results) {
        let start = replay::Start { mss: trace.mss, initial_window: trace.initial_window };
        match replay::run(case.name, &case.params, start, &trace.events) {
            Ok(outcome) => {
                compare(trace, native, &outcome.results);
                time += outcome.time;
            }
            Err(error) => return crate::common::skip(&error),
        }
    }
    println!("{:.0} ns an event in the kernel", time.as_secs_f64() * 1e9 / case.events() as f64);
}

/// As [`check`], and the simulator's controller has the same windows.
fn check_with_simulator(case: &Case) -> Option<Vec<Vec<[u64; 3]>>> {
    let results = check(case)?;
    for (trace, native) in case.traces.iter().zip(&results) {
        compare(trace, native, &trace.results);
    }
    Some(results)
}

fn choice(name: &str) -> Value {
    Value::Choice(name.to_owned())
}

fn check_lola(seconds: [u32; 2]) {
    let scenarios: [&dyn Fn(&str) -> String; 2] =
        [&|control| rounds(seconds[0], control), &|control| trouble(seconds[1], control)];
    let case = Case::new("lola", &[("arithmetic", choice("integer"))], &scenarios);
    let Some(results) = check_with_simulator(&case) else { return };
    let has_phase = |phase| results.iter().flatten().any(|result| result[2] == phase);
    (0..4).for_each(|phase| assert!(has_phase(phase), "no phase {phase}"));
}

/// With the outage, after which the retransmission timer expires.
fn check_copa(seconds: [u32; 2]) {
    let scenarios: [&dyn Fn(&str) -> String; 3] = [
        &|control| rounds(seconds[0], control),
        &|control| trouble(seconds[1], control),
        &|control| marks(10, control),
    ];
    let case = Case::new("copa", &[("arithmetic", choice("integer"))], &scenarios);
    let Some(results) = check_with_simulator(&case) else { return };
    let has_phase = |phase| results.iter().flatten().any(|result| result[2] == phase);
    (0..3).for_each(|phase| assert!(has_phase(phase), "no phase {phase}"));
}

fn check_dctcp(seconds: u32) {
    check(&Case::of_marks("dctcp", seconds, &[("arithmetic", choice("exact"))]));
    check_with_simulator(&Case::of_marks("dctcp", seconds, &[("arithmetic", choice("linux"))]));
}

/// Both forms of the response, and both rules for CWR. After 50 round trips, the virtual one counts.
fn check_prague(seconds: u32) {
    for (response, cwr) in [("mark", "virtual"), ("mark", "linux"), ("epoch", "virtual")] {
        let values = [
            ("arithmetic", choice("integer")),
            ("response", choice(response)),
            ("cwr", choice(cwr)),
            ("d", Value::Integer(50)),
        ];
        check_with_simulator(&Case::of_marks("prague", seconds, &values));
    }
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
#[ignore = "takes some minutes"]
fn they_agree_over_a_million_acknowledgements() {
    check_lola([240, 400]);
    check_copa([240, 400]);
    check_dctcp(300);
    check_prague(150);
}
