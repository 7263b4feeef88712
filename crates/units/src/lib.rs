//! Units of network measurement with one text form each: time, bytes, rates, ECN
//! codepoints. Beside them, what all crates above share: [`params`], parameters as data, and
//! [`ring`], a ring buffer for packets.
//!
//! Text forms follow `tc(8)`: `60Mbit`, `20ms`, `64KiB`. Values are integers (nanoseconds,
//! bytes, bits per second), so that rounding cannot change the order of events.

mod bytes;
mod ecn;
mod hash;
pub mod params;
mod parse;
mod rate;
pub mod ring;
mod time;

pub use bytes::Bytes;
pub use ecn::Ecn;
pub use hash::hash;
pub use parse::UnitError;
pub use rate::Rate;
pub use time::{Duration, Instant};

/// Runs the example of README.md as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
