//! The functions of the simulator.
#![expect(unsafe_code, reason = "an exported name must be unique, which the compiler cannot check")]

use crate::exports::with;
use crate::laboratory::Laboratory;

/// Keeps a file for scenarios that name it. The input is its name, of `name_length` bytes, and its
/// text.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_file(name_length: usize) -> bool {
    with(|laboratory| laboratory.keep_file(name_length))
}

/// Forgets all files.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_forget_files() {
    with(Laboratory::forget_files);
}

/// Reads and checks the scenario in the input, in TOML. The output describes it: `title`,
/// `duration_s`, `seed`, `controls`, `memory_bytes`, its `document`, and the same as `toml`.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_load_toml() -> bool {
    with(Laboratory::load_toml)
}

/// The same for a scenario in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_load_json() -> bool {
    with(Laboratory::load_json)
}

/// Starts the run of controller number `control` of the loaded scenario, with the scenario's seed.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_start(control: usize) -> bool {
    with(|laboratory| laboratory.start(control))
}

/// Continues the run for up to `events` events; true at its end.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_advance(events: u32) -> bool {
    with(|laboratory| laboratory.advance(events))
}

/// The time that the run has reached, in seconds.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_now() -> f64 {
    with(|laboratory| laboratory.now_s())
}

/// Selects the samples of the flows, without the first `from` ones. The output lists the columns:
/// each has `name`, `length` and, if it is of text, the `values` that its numbers stand for.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_flows(from: usize) -> bool {
    with(|laboratory| laboratory.select(from, false))
}

/// The same for the links.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_links(from: usize) -> bool {
    with(|laboratory| laboratory.select(from, true))
}

/// Ends the run. The output is its summary, as `sojourn run --json` has it in `runs`.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_finish() -> bool {
    with(Laboratory::finish)
}

/// The meaning of runs. The input has the `runs`, as [`sojourn_finish`] gives them, and the link in `focus`.
/// The output has `sentences`, their `picture`, and `unavoidable`: the delay that no sender can avoid on that link of the
/// loaded scenario, with `points` points of `series`, or null.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_judge(points: usize) -> bool {
    with(|laboratory| laboratory.judge(points))
}

/// The output is the JSON Schema of scenarios.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_schema() {
    with(Laboratory::schema);
}
