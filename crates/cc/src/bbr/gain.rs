//! Gains in fixed point.

use sojourn_units::Rate;
use sojourn_units::params::{Typed, Value};

/// A factor in 256ths (the kernel's `BBR_UNIT`). Products are integers, hence the same on
/// every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain(u64);

impl Typed for Gain {
    fn of(value: &Value) -> Option<Gain> {
        f64::of(value).map(Gain::from_f64)
    }
}

impl Gain {
    /// Units in one.
    pub(super) const UNIT: u64 = 256;
    /// A gain of one.
    pub(super) const ONE: Gain = Gain(Self::UNIT);
    /// The gain that probes for bandwidth in PROBE_BW (`bbr_pacing_gain`).
    pub(super) const PROBE: Gain = Gain(Self::UNIT * 5 / 4);
    /// The gain that drains the queue after a probe in PROBE_BW.
    pub(super) const DRAIN: Gain = Gain(Self::UNIT * 3 / 4);

    /// `factor`, rounded down to 256ths.
    pub(super) fn from_f64(factor: f64) -> Gain {
        Gain((factor * Self::UNIT as f64) as u64)
    }

    /// The reciprocal, rounded down to 256ths.
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

    /// The gain in 256ths.
    pub(super) fn in_units(self) -> u64 {
        self.0
    }
}
