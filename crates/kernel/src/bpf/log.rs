//! The messages of libbpf, for errors.

use std::sync::{Mutex, Once};

use libbpf_rs::{PrintLevel, set_print};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static CAPTURE: Once = Once::new();

/// Collects the messages from now on, instead of writing them to standard error.
pub(super) fn start() {
    CAPTURE.call_once(|| {
        set_print(Some((PrintLevel::Warn, |_, text| {
            if let Ok(mut lines) = LINES.lock() {
                lines.extend(text.lines().map(str::to_owned));
            }
        })));
    });
    if let Ok(mut lines) = LINES.lock() {
        lines.clear();
    }
}

/// The message that explains a failure best: the last line of the verifier with a reason, or the
/// first of libbpf.
pub(super) fn reason() -> Option<String> {
    let lines = LINES.lock().ok()?;
    let is_note = |line: &&String| {
        line.starts_with("processed ") || line.starts_with("libbpf:") || line.starts_with("--")
    };
    let end = lines.iter().position(|line| line.contains("END PROG LOAD LOG"));
    let verifier = end.and_then(|end| lines[..end].iter().rev().find(|line| !is_note(line)));
    let plain = |line: &String| line.trim_start_matches("libbpf: ").trim().to_owned();
    verifier.or_else(|| lines.first()).map(plain)
}
