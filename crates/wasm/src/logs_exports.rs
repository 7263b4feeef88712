//! The functions of logs.
#![expect(unsafe_code, reason = "an exported name must be unique, which the compiler cannot check")]

use crate::exports::with;

/// Reads the qlog file in the input: its name, of `name_length` bytes, and its content. The output has
/// its figures, and the heads of its samples in `columns`, which are then selected.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_qlog(name_length: usize) -> bool {
    with(|laboratory| laboratory.read_qlog(name_length))
}

/// Explains a file. The input is its name, of `name_length` bytes, and its content. The output is that
/// of `sojourn explain --json`; `cures` asks for the effect of changes.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_explain(name_length: usize, cures: bool) -> bool {
    with(|laboratory| laboratory.explain(name_length, cures))
}
