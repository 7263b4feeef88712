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

pub use bytes::Bytes;
pub use ecn::Ecn;
pub use parse::UnitError;
pub use rate::Rate;
pub use time::{Duration, Instant};
