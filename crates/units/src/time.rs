//! Points in time and spans of time, in whole nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use crate::parse::{self, UnitError};

/// A point in time: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// A span of time in nanoseconds; never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// Later than every event: "never".
    pub const MAX: Instant = Instant(u64::MAX);

    /// The span from `earlier` to `self`; zero if `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - span`, but not before the start of the run.
    #[inline]
    pub fn saturating_sub(self, span: Duration) -> Instant {
        Instant(self.0.saturating_sub(span.0))
    }
}

impl Duration {
    /// Zero.
    pub const ZERO: Duration = Duration(0);
    /// Longer than every run.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A whole number of nanoseconds.
    pub const fn from_nanos(n: u64) -> Duration {
        Duration(n)
    }
    /// A whole number of microseconds.
    pub const fn from_micros(n: u64) -> Duration {
        Duration(n * 1_000)
    }
    /// A whole number of milliseconds.
    pub const fn from_millis(n: u64) -> Duration {
        Duration(n * 1_000_000)
    }
    /// A whole number of seconds.
    pub const fn from_secs(n: u64) -> Duration {
        Duration(n * 1_000_000_000)
    }
    /// Seconds, rounded to the nearest nanosecond; negative and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Duration {
        Duration((s * 1e9 + 0.5) as u64)
    }
    /// This span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// This span in whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// `self - other`, or zero.
    #[inline]
    pub fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
    /// This span scaled by `factor`, rounded to the nearest nanosecond.
    pub fn mul_f64(self, factor: f64) -> Duration {
        Duration((self.0 as f64 * factor + 0.5) as u64)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    #[inline]
    fn add(self, span: Duration) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Duration;
    #[inline]
    fn sub(self, other: Duration) -> Duration {
        debug_assert!(self >= other, "a span cannot be negative");
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, k: u64) -> Duration {
        Duration(self.0.saturating_mul(k))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn div(self, k: u64) -> Duration {
        Duration(self.0 / k)
    }
}

const UNITS: &[(&str, u64)] = &[
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("sec", 1_000_000_000),
    ("secs", 1_000_000_000),
    ("msec", 1_000_000),
    ("msecs", 1_000_000),
    ("usec", 1_000),
    ("usecs", 1_000),
    ("min", 60_000_000_000),
];

impl FromStr for Duration {
    type Err = UnitError;

    /// Parses `20ms`, `1.5s`, `250us`, `10ns`, as `tc(8)` writes times. A number without a
    /// unit is an error, except 0. `never` is [`Duration::MAX`].
    fn from_str(text: &str) -> Result<Duration, UnitError> {
        if text.trim() == "never" {
            return Ok(Duration::MAX);
        }
        parse::quantity(text, UNITS, "a duration such as \"20ms\" or \"1.5s\"").map(Duration)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Duration::MAX {
            return f.pad("never");
        }
        if *self == Duration::ZERO {
            return f.pad("0s");
        }
        parse::print(
            f,
            self.0,
            &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)],
        )
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}
