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

pub(crate) fn with<T>(f: impl FnOnce(&mut Laboratory) -> T) -> T {
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

/// The address of a selected column's values, which are floats of 64 bits; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_column(index: usize) -> *const f64 {
    with(|laboratory| laboratory.column(index))
}
