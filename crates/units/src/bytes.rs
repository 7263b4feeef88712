//! Amounts of data.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

use crate::parse::{self, UnitError};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// No limit.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// `self - other`, or zero.
    #[inline]
    pub fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
    /// As a float, for formulas.
    #[inline]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// This amount scaled by `factor`, rounded down; negative and NaN become zero.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Bytes {
        Bytes((self.0 as f64 * factor) as u64)
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}
impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        debug_assert!(self >= other, "an amount of data cannot be negative");
        self.saturating_sub(other)
    }
}
impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        *self = *self - other;
    }
}
impl Mul<u64> for Bytes {
    type Output = Bytes;
    #[inline]
    fn mul(self, k: u64) -> Bytes {
        Bytes(self.0.saturating_mul(k))
    }
}
impl Div<u64> for Bytes {
    type Output = Bytes;
    #[inline]
    fn div(self, k: u64) -> Bytes {
        Bytes(self.0 / k)
    }
}
impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(items: I) -> Bytes {
        items.fold(Bytes::ZERO, Add::add)
    }
}

const UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

impl FromStr for Bytes {
    type Err = UnitError;

    /// Parses `1500B`, `300kB` (1000), `64KiB` (1024), `1.5MB`. A number without a unit is
    /// an error, except 0.
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        parse::quantity(text, UNITS, "an amount such as \"300kB\" or \"4MiB\"").map(Bytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DECIMAL: &[(&str, u64)] =
            &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];
        const BINARY: &[(&str, u64)] = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match BINARY.iter().find(|(_, size)| self.0 > 0 && self.0.is_multiple_of(*size)) {
            Some(unit) if !self.0.is_multiple_of(1_000) => parse::print(f, self.0, &[*unit]),
            _ => parse::print(f, self.0, DECIMAL),
        }
    }
}
