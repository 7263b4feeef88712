//! Scenarios as TOML.

use sojourn_scenario::Document;

use crate::document::{self, Text};
use crate::heap;

/// Reads, checks, writes and simulates the scenario in `data`.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let texts = [Text { origin: "fuzz.toml", text }];
    let len = text.len();
    let read = heap::within(document::room(len), || Document::from_toml("fuzz.toml", text));
    if let Err(errors) = read.and_then(|document| document::examine(&document, len)) {
        document::refused(&errors, len, &texts);
    }
}
