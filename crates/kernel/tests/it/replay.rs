//! The header of LoLa, compiled natively and in the kernel, replays calls that a simulation
//! recorded, with the same results.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, thread};

use crate::common::defaults;
use crate::record::{Trace, record};

/// Two flows with different round-trip times: every phase, many rounds.
fn rounds(seconds: u32) -> String {
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
control = "recorded"
[flow.second]
path = ["bottleneck"]
back = ["far"]
control = "recorded"
start = "2s"
"#
    )
}

/// Losses, timeouts, spurious retransmissions and idle periods.
fn trouble(seconds: u32) -> String {
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
control = "recorded"
[flow.bursts]
path = ["bottleneck"]
back = ["back"]
control = "recorded"
source = {{ kind = "on-off", rate = "4Mbit", on = "1s", off = "3s" }}
[flow.other]
path = ["bottleneck"]
back = ["back"]
control = "cubic"
"#
    )
}

fn bytes(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
}

/// Compiles the native program; `None` without a compiler.
fn native() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf/lola_native.c");
    // Each test has its own file.
    static BUILT: AtomicU32 = AtomicU32::new(0);
    let number = BUILT.fetch_add(1, Ordering::Relaxed);
    let name = format!("sojourn-native-{}-{number}", std::process::id());
    let program = env::temp_dir().join(name);
    let status = Command::new("cc").arg("-O2").arg("-o").arg(&program).arg(source).status();
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
fn in_native(program: &Path, trace: &Trace) -> Vec<[u64; 3]> {
    let declared = sojourn_cc::find("lola").expect("a controller").info.params;
    let mut input = bytes(sojourn_kernel::words(declared, &defaults("lola")));
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

/// Compares results of the kernel with those of native C, and names the first event that differs.
#[cfg(feature = "libbpf")]
fn compare(trace: &Trace, native: &[[u64; 3]], kernel: &[[u64; 3]]) {
    assert_eq!((native.len(), kernel.len()), (trace.events.len(), trace.events.len()));
    if let Some(place) = (0..native.len()).find(|place| native[*place] != kernel[*place]) {
        let (event, wanted) = (trace.events[place], native[place]);
        panic!("event {place} {event:?}: {:?} instead of {wanted:?}", kernel[place]);
    }
}

/// Every phase and every kind of event occurs.
fn check_coverage(traces: &[Trace], results: &[Vec<[u64; 3]>]) {
    let has_phase = |phase| results.iter().flatten().any(|result| result[2] == phase);
    (0..4).for_each(|phase| assert!(has_phase(phase), "no phase {phase}"));
    let has = |of: &dyn Fn(&[u64; 6]) -> bool| traces.iter().flat_map(|one| &one.events).any(of);
    (0..3).for_each(|kind| assert!(has(&|event| event[1] == kind), "no event of kind {kind}"));
    assert!(has(&|event| event[2] & 1 != 0), "no loss");
}

fn check(scenarios: &[String]) {
    let Some(program) = native() else { return };
    let traces: Vec<Trace> = scenarios.iter().flat_map(|scenario| record(scenario)).collect();
    let results: Vec<_> = traces.iter().map(|trace| in_native(&program, trace)).collect();
    fs::remove_file(program).expect("removed");
    check_coverage(&traces, &results);
    let events: usize = traces.iter().map(|trace| trace.events.len()).sum();
    println!("{events} events of {} connections", traces.len());
    #[cfg(feature = "libbpf")]
    in_kernel(&traces, &results);
}

#[cfg(feature = "libbpf")]
fn in_kernel(traces: &[Trace], results: &[Vec<[u64; 3]>]) {
    use sojourn_kernel::replay;

    let (mut time, mut events) = (std::time::Duration::ZERO, 0);
    for (trace, native) in traces.iter().zip(results) {
        let start = replay::Start { mss: trace.mss, initial_window: trace.initial_window };
        match replay::run("lola", &defaults("lola"), start, &trace.events) {
            Ok(outcome) => {
                compare(trace, native, &outcome.results);
                time += outcome.time;
                events += trace.events.len();
            }
            Err(error) => return crate::common::skip(&error),
        }
    }
    println!("{:.0} ns an event in the kernel", time.as_secs_f64() * 1e9 / events as f64);
}

#[test]
fn native_c_and_the_kernel_agree() {
    check(&[rounds(20), trouble(40)]);
}

/// A million acknowledgements.
#[test]
#[ignore = "takes a minute"]
fn they_agree_over_a_million_acknowledgements() {
    check(&[rounds(240), trouble(400)]);
}
