//! The functions of the module. Integers are 32 bits wide, and times are seconds.
//!
//! A function that can fail returns 0 and leaves the reason as JSON in the output: `{"errors":
//! [{"line", "column", "path", "message", "help"}], "text"}`.
#![expect(unsafe_code, reason = "an exported name must be unique, which the compiler cannot check")]

use std::cell::RefCell;
use std::sync::Mutex;

use crate::laboratory::Laboratory;

thread_local! {
    static LABORATORY: RefCell<Laboratory> = RefCell::default();
}

/// The message of the panic that ended the module.
static FAULT: Mutex<String> = Mutex::new(String::new());

fn with<T>(f: impl FnOnce(&mut Laboratory) -> T) -> T {
    LABORATORY.with_borrow_mut(f)
}

/// Keeps the message of a panic, which otherwise only traps. Call it once, first.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_begin() {
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut fault) = FAULT.try_lock() {
            *fault = info.to_string();
        }
    }));
}

/// The address of the message of the panic that ended the module.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_fault() -> *const u8 {
    FAULT.try_lock().map_or(std::ptr::null(), |fault| fault.as_ptr())
}

/// Its length in bytes; 0 without a panic.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_fault_length() -> usize {
    FAULT.try_lock().map_or(0, |fault| fault.len())
}

/// Makes the input `length` bytes long, and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_input(length: usize) -> *mut u8 {
    with(|laboratory| laboratory.input(length))
}

/// The address of the last function's output.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_output() -> *const u8 {
    with(|laboratory| laboratory.output().as_ptr())
}

/// Its length in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_output_length() -> usize {
    with(|laboratory| laboratory.output().len())
}

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

/// The address of a selected column's values, which are floats of 64 bits; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_column(index: usize) -> *const f64 {
    with(|laboratory| laboratory.column(index))
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

#[cfg(feature = "explain")]
/// Explains a file. The input is its name, of `name_length` bytes, and its content. The output is that
/// of `sojourn explain --json`; `cures` asks for the effect of changes.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_explain(name_length: usize, cures: bool) -> bool {
    with(|laboratory| laboratory.explain(name_length, cures))
}

/// The output is the JSON Schema of scenarios.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_schema() {
    with(Laboratory::schema);
}
