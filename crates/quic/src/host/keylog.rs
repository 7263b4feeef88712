//! The TLS secrets of an observed connection, as the key log file of RFC 9850.
//!
//! All connections share one configuration of TLS, so the secrets pass through the thread that
//! drives a connection.

use std::cell::RefCell;
use std::fmt::Write;

thread_local! {
    static KEPT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the secrets of this thread from now on.
pub(super) fn begin() {
    KEPT.set(Some(String::new()));
}

/// Ends this, and returns the lines.
pub(super) fn end() -> String {
    KEPT.take().unwrap_or_default()
}

pub(super) fn is_kept() -> bool {
    KEPT.with_borrow(Option::is_some)
}

pub(super) fn add(label: &str, client_random: &[u8], secret: &[u8]) {
    KEPT.with_borrow_mut(|kept| {
        let Some(lines) = kept else { return };
        *lines += label;
        for part in [client_random, secret] {
            lines.push(' ');
            part.iter().for_each(|byte| {
                write!(lines, "{byte:02x}").expect("a string takes whatever is written");
            });
        }
        lines.push('\n');
    });
}
