//! Rates in bits per second.

use std::fmt;
use std::ops::{Div, Mul};
use std::str::FromStr;

use crate::parse::{self, UnitError};
use crate::{Bytes, Duration};

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

impl Rate {
    /// A rate of zero.
    pub const ZERO: Rate = Rate(0);
    /// No limit.
    pub const MAX: Rate = Rate(u64::MAX);

    /// A whole number of megabits (10^6) per second.
    pub const fn from_mbit(n: u64) -> Rate {
        Rate(n * 1_000_000)
    }

    /// The rate that transfers `bytes` in `span`, rounded down; [`Rate::MAX`] if `span` is
    /// zero.
    pub fn from_transfer(bytes: Bytes, span: Duration) -> Rate {
        if span == Duration::ZERO {
            return Rate::MAX;
        }
        let bps = u128::from(bytes.0) * 8_000_000_000 / u128::from(span.0);
        Rate(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// The time to transfer `bytes`, rounded up to a nanosecond; [`Duration::MAX`] at rate
    /// zero.
    #[inline]
    pub fn time_for(self, bytes: Bytes) -> Duration {
        match bytes.0.checked_mul(8_000_000_000) {
            _ if self.0 == 0 => Duration::MAX,
            Some(bits) => Duration(bits.div_ceil(self.0)),
            None => {
                let ns = (u128::from(bytes.0) * 8_000_000_000).div_ceil(u128::from(self.0));
                Duration(u64::try_from(ns).unwrap_or(u64::MAX))
            }
        }
    }

    /// The bytes transferred in `span`, rounded down.
    #[inline]
    pub fn bytes_in(self, span: Duration) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.0) / 8_000_000_000;
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// As a float in bits per second, for formulas.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// This rate scaled by `factor`, rounded down; negative and NaN become zero.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Rate {
        Rate((self.0 as f64 * factor) as u64)
    }
}

impl Mul<u64> for Rate {
    type Output = Rate;
    fn mul(self, k: u64) -> Rate {
        Rate(self.0.saturating_mul(k))
    }
}

impl Div<u64> for Rate {
    type Output = Rate;
    fn div(self, k: u64) -> Rate {
        Rate(self.0 / k)
    }
}

const UNITS: &[(&str, u64)] = &[
    ("bit", 1),
    ("kbit", 1_000),
    ("Kbit", 1_000),
    ("Mbit", 1_000_000),
    ("mbit", 1_000_000),
    ("Gbit", 1_000_000_000),
    ("gbit", 1_000_000_000),
    ("Tbit", 1_000_000_000_000),
    ("tbit", 1_000_000_000_000),
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
];

impl FromStr for Rate {
    type Err = UnitError;

    /// Parses `60Mbit`, `1.5Gbit`, `64kbit`, as `tc(8)` writes rates. `Mbps` is an error:
    /// `tc` reads it as megabytes per second, most other tools as megabits.
    fn from_str(text: &str) -> Result<Rate, UnitError> {
        let expected = "a rate such as \"60Mbit\" or \"1.5Gbit\"";
        if text.trim_end().to_ascii_lowercase().ends_with("bps") {
            return Err(UnitError::new(text, "bps is ambiguous (tc reads it as bytes)", expected));
        }
        parse::quantity(text, UNITS, expected).map(Rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::print(
            f,
            self.0,
            &[("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)],
        )
    }
}
