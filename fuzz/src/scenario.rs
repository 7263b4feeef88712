//! Scenarios as TOML.

use sojourn_scenario::Document;

use crate::document::{self, Text};
use crate::heap;
use crate::mutate;
use crate::random::Random;

/// Reads, checks, writes and simulates the scenario in `data`.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let texts = [Text { origin: "fuzz.toml", text }];
    let len = text.len();
    let read = heap::within(document::room(len), || Document::from_toml("fuzz.toml", text));
    if let Err(errors) = read.and_then(|document| document::examine(&document, len)) {
        document::refused(&errors, len, &texts);
    }
}

/// Mutates a scenario, mostly by assignments from the schema.
pub fn mutate_scenario(data: &[u8], seed: u32) -> Vec<u8> {
    let mut random = Random::new(seed);
    let text = String::from_utf8_lossy(data);
    if random.once_in(4) {
        return mutate::lines(&text, &mut random).into_bytes();
    }
    let Ok(mut document) = Document::from_toml("", &text) else {
        return mutate::lines(&text, &mut random).into_bytes();
    };
    mutate::document(&mut document, &mut random);
    document.to_toml().into_bytes()
}
