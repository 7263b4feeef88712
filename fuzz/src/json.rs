//! Scenarios built by a program, as JSON.

use serde_json::Value;
use sojourn_scenario::Document;

use crate::document;
use crate::heap;

/// Reads the JSON in `data` as a scenario; checks, writes and simulates it.
pub(crate) fn check(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let len = data.len();
    let read = heap::within(document::room(len), || Document::from_json("built", value));
    if let Err(errors) = read.and_then(|document| document::examine(&document, len)) {
        document::refused(&errors, len, &[]);
    }
}
