//! Gains in fixed point.

use sojourn_units::Rate;

/// A factor in 256ths (the kernel's `BBR_UNIT`), so that every product of it
/// is an integer and the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain(u64);

impl Gain {
    /// 256ths in one.
    pub(super) const UNIT: u64 = 256;
    /// Neither more nor less.
    pub(super) const ONE: Gain = Gain(Self::UNIT);
    /// PROBE_BW's way up (`bbr_pacing_gain`).
    pub(super) const PROBE: Gain = Gain(Self::UNIT * 5 / 4);
    /// PROBE_BW's way down, which removes the queue that the way up made.
    pub(super) const DRAIN: Gain = Gain(Self::UNIT * 3 / 4);

    /// `factor`, rounded down to 256ths.
    pub(super) fn from_f64(factor: f64) -> Gain {
        Gain((factor * Self::UNIT as f64) as u64)
    }

    /// One over this, rounded down to 256ths.
    pub(super) fn reciprocal(self) -> Gain {
        Gain(Self::UNIT * Self::UNIT / self.0.max(1))
    }

    /// `rate` times this, rounded down.
    pub(super) fn of_rate(self, rate: Rate) -> Rate {
        Rate(self.of(rate.0))
    }

    /// `amount` times this, rounded down.
    pub(super) fn of(self, amount: u64) -> u64 {
        amount.saturating_mul(self.0) / Self::UNIT
    }

    /// How many 256ths.
    pub(super) fn in_units(self) -> u64 {
        self.0
    }
}
