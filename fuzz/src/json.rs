//! Scenarios built by a program, as JSON.

use serde_json::Value;
use sojourn_scenario::Document;

use crate::document;
use crate::heap;
use crate::mutate;
use crate::random::Random;

/// Reads the JSON in `data` as a scenario; checks, writes and simulates it.
pub fn json(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let len = data.len();
    let read = heap::within(document::room(len), || Document::from_json("built", value));
    if let Err(errors) = read.and_then(|document| document::examine(&document, len)) {
        document::refused(&errors, len, &[]);
    }
}

/// Mutates a scenario: by assignments from the schema, or by replacing a part with an arbitrary
/// value.
pub fn mutate_json(data: &[u8], seed: u32) -> Vec<u8> {
    let mut random = Random::new(seed);
    let value = serde_json::from_slice::<Value>(data).unwrap_or_default();
    let value = match Document::from_json("", value.clone()) {
        Ok(mut document) if !random.once_in(3) => {
            mutate::document(&mut document, &mut random);
            document.to_json()
        }
        _ => mutate::value(value, &mut random),
    };
    value.to_string().into_bytes()
}
