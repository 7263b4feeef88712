//! The TLS secrets of an observed connection, as the key log file of RFC 9850.
//!
//! All connections share one configuration of TLS, so the secrets pass through the thread that
//! drives a connection.

use std::cell::RefCell;
use std::fmt::Write;
use std::sync::{Arc, Mutex};

use crate::lock::lock;

/// Receives the secrets of connections whose ends run in threads of their own. A clone shares them.
#[derive(Clone, Debug, Default)]
pub struct KeyLogSink(Arc<Mutex<String>>);

impl KeyLogSink {
    pub(super) fn add(&self, line: &str) {
        lock(&self.0).push_str(line);
    }

    /// The lines since the last call. Those of a packet are here before the packet leaves.
    pub fn take(&self) -> String {
        std::mem::take(&mut lock(&self.0))
    }
}

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
        if let Some(lines) = kept {
            *lines += &line(label, client_random, secret);
        }
    });
}

/// A line of the file.
pub(super) fn line(label: &str, client_random: &[u8], secret: &[u8]) -> String {
    let mut line = label.to_owned();
    for part in [client_random, secret] {
        line.push(' ');
        part.iter().for_each(|byte| {
            write!(line, "{byte:02x}").expect("a string takes whatever is written");
        });
    }
    line.push('\n');
    line
}
