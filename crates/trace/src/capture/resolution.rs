//! Conversion of clock ticks to nanoseconds.

/// The tick of a file's or an interface's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    /// This many ns, from 1 ns to a second.
    Nanos(u64),
    /// 10^-k ns.
    BelowNano(u32),
    /// 2^-k s.
    Binary(u32),
}

impl Resolution {
    pub(super) const MICRO: Resolution = Resolution::Nanos(1_000);
    pub(super) const NANO: Resolution = Resolution::Nanos(1);

    /// `if_tsresol` of draft-ietf-opsawg-pcapng section 4.2: a negative exponent of 10 if
    /// the highest bit is clear, of 2 if it is set.
    pub(super) fn of_option(value: u8) -> Resolution {
        let exponent = u32::from(value & 0x7f);
        match (value & 0x80, exponent) {
            (0, 0..=9) => Resolution::Nanos(10_u64.pow(9 - exponent)),
            (0, _) => Resolution::BelowNano(exponent - 9),
            _ => Resolution::Binary(exponent),
        }
    }

    /// `ticks` in ns, rounded down.
    pub(super) fn nanos(self, ticks: u64) -> i128 {
        let ticks = i128::from(ticks);
        match self {
            Resolution::Nanos(each) => ticks * i128::from(each),
            // From 10^-20 ns on, even 2^64 ticks are less than a ns.
            Resolution::BelowNano(exponent) => ticks / 10_i128.pow(exponent.min(20)),
            Resolution::Binary(exponent) => (ticks * 1_000_000_000) >> exponent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_gives_a_time() {
        let second = |option: u8, ticks: u64| Resolution::of_option(option).nanos(ticks);
        assert_eq!(second(0, 7), 7_000_000_000);
        assert_eq!(second(6, 1_500_000), 1_500_000_000);
        assert_eq!(second(9, 1_500_000_001), 1_500_000_001);
        assert_eq!(second(12, 1_999), 1);
        assert_eq!(second(0x80, 3), 3_000_000_000);
        assert_eq!(second(0x80 | 10, 1_536), 1_500_000_000);
        // 2^64 - 1 of the finest ticks are 0 ns, and of the coarsest 584 thousand million
        // years.
        assert_eq!(second(0x7f, u64::MAX), 0);
        assert_eq!(second(0xff, u64::MAX), 0);
        assert_eq!(second(0, u64::MAX), i128::from(u64::MAX) * 1_000_000_000);
        (0..=u8::MAX).for_each(|option| assert!(second(option, u64::MAX) >= 0));
    }
}
