//! Units of network measurement: time, bytes, rates, ECN codepoints; parsed
//! and printed the same everywhere.
//!
//! Text forms follow `tc(8)`: `60Mbit`, `20ms`, `64KiB`. Integers inside:
//! nanoseconds, bytes, bits per second, so that no rounding orders events.

mod bytes;
mod ecn;
mod parse;
mod rate;
mod time;

pub mod params;

/// `n` as a float, the nearest one. What is beyond any amount that occurs counts
/// as 2^63: signed conversion is one instruction, unsigned is several.
#[inline]
pub(crate) fn float(n: u64) -> f64 {
    n.min(i64::MAX as u64) as i64 as f64
}

pub use bytes::Bytes;
pub use ecn::Ecn;
pub use parse::UnitError;
pub use rate::Rate;
pub use time::{Duration, Instant};
