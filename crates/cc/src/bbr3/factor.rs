//! Gains and shares in fixed point.

use sojourn_units::params::{Typed, Value};
use sojourn_units::{Bytes, Rate};

/// A factor in millionths. The draft's gains and thresholds are exact in it, and products
/// are integers, hence the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Factor(u64);

impl Typed for Factor {
    fn of(value: &Value) -> Option<Factor> {
        f64::of(value).map(Factor::from_f64)
    }
}

impl Factor {
    const UNIT: u64 = 1_000_000;
    /// Nothing.
    pub(super) const ZERO: Factor = Factor(0);
    /// A factor of one.
    pub(super) const ONE: Factor = Factor(Self::UNIT);

    /// `factor`, rounded to millionths.
    pub(super) fn from_f64(factor: f64) -> Factor {
        Factor((factor * Self::UNIT as f64 + 0.5) as u64)
    }

    /// A factor from hundredths.
    pub(super) const fn percent(hundredths: u64) -> Factor {
        Factor(hundredths * (Self::UNIT / 100))
    }

    /// `part` of `whole`, which must not be zero, rounded down; at most one.
    pub(super) fn ratio(part: u64, whole: u64) -> Factor {
        let millionths = u128::from(part) * u128::from(Self::UNIT) / u128::from(whole);
        Factor(u64::try_from(millionths).unwrap_or(u64::MAX).min(Self::UNIT))
    }

    /// The product, rounded down.
    pub(super) fn times(self, other: Factor) -> Factor {
        Factor(self.of(other.0))
    }

    /// The sum.
    pub(super) fn plus(self, other: Factor) -> Factor {
        Factor(self.0.saturating_add(other.0))
    }

    /// One minus this; zero if this is more than one.
    pub(super) fn complement(self) -> Factor {
        Factor(Self::UNIT.saturating_sub(self.0))
    }

    /// `amount` times this, rounded down.
    pub(super) fn of(self, amount: u64) -> u64 {
        match amount.checked_mul(self.0) {
            Some(product) => product / Self::UNIT,
            None => {
                let product = u128::from(amount) * u128::from(self.0) / u128::from(Self::UNIT);
                u64::try_from(product).unwrap_or(u64::MAX)
            }
        }
    }

    /// `amount` divided by this, rounded down; `amount` itself if this is zero.
    pub(super) fn part_of(self, amount: u64) -> u64 {
        let Factor(divisor @ 1..) = self else { return amount };
        let quotient = u128::from(amount) * u128::from(Self::UNIT) / u128::from(divisor);
        u64::try_from(quotient).unwrap_or(u64::MAX)
    }

    /// `bytes` times this, rounded down.
    pub(super) fn of_bytes(self, bytes: Bytes) -> Bytes {
        Bytes(self.of(bytes.0))
    }

    /// `rate` times this, rounded down.
    pub(super) fn of_rate(self, rate: Rate) -> Rate {
        Rate(self.of(rate.0))
    }
}

#[cfg(test)]
mod tests {
    use super::Factor;

    #[test]
    fn the_draft_s_factors_are_exact() {
        assert_eq!(Factor::from_f64(2.77).of(100), 277);
        assert_eq!(Factor::from_f64(0.02).of(1_000), 20);
        assert_eq!(Factor::from_f64(0.15).complement().of(100), 85);
        assert_eq!(Factor::from_f64(0.02).complement().part_of(98), 100);
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(Factor::from_f64(2.77).of(u64::MAX), u64::MAX);
        assert_eq!(Factor::from_f64(0.5).of(u64::MAX), u64::MAX / 2);
        assert_eq!(Factor::from_f64(0.0).part_of(7), 7);
        assert_eq!(Factor::from_f64(1.5).complement().of(7), 0);
    }
}
