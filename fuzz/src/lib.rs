//! Fuzz targets: each passes bytes to one of Sojourn's readers, and panics or aborts if the reader
//! breaks one of its promises. `studies/fuzzing` lists the promises.

mod capacity;
mod capture;
mod document;
mod grammar;
mod heap;
mod http3;
mod json;
mod known;
mod mutate;
mod pieces;
mod qlog;
mod quic;
mod random;
mod scenario;
mod set;
mod simulate;
mod summary;
mod udp;

pub use capacity::capacity;
pub use capture::capture;
pub use http3::{http3, mutate_http3};
pub use json::{json, mutate_json};
pub use mutate::{mutate_capacity, mutate_capture};
pub use qlog::{mutate_qlog, qlog};
pub use scenario::{mutate_scenario, scenario};
pub use set::{mutate_set, set};
pub use udp::{mutate_udp, udp};

/// A target's function on the bytes of one input.
pub type Target = fn(&[u8]);

/// Every target by the name of its directory of seeds.
pub const TARGETS: [(&str, Target); 9] = [
    ("scenario", scenario),
    ("json", json),
    ("set", set),
    ("capture", capture),
    ("capacity", capacity),
    ("udp", udp),
    ("http3", http3),
    ("quic", quic),
    ("qlog", qlog),
];

/// Passes the steps in `data` to a connection of each stack, whose memory and work stay bounded.
pub fn quic(data: &[u8]) {
    known::survive(|| quic::quic(data));
}

/// Copies a mutated input into libFuzzer's buffer, truncated to `max_size`; returns its length.
pub fn replace(buffer: &mut [u8], max_size: usize, input: &[u8]) -> usize {
    let len = input.len().min(max_size).min(buffer.len());
    buffer[..len].copy_from_slice(&input[..len]);
    len
}
