//! Integer arithmetic of controllers that also run in the kernel, which has no floats: the formulas
//! of `bpf/fixed.h`. Fractions have 20 bits, so that a float holds every result exactly.

use sojourn_units::params::{Params, q20};

/// Arithmetic of a controller, by its parameter `arithmetic`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    /// Floats.
    Exact,
    /// Integers with 20 bits of fraction, rounded down, which the floats hold exactly.
    Integer,
}

impl Arithmetic {
    pub(crate) fn new(params: &Params) -> Arithmetic {
        match params.choice("arithmetic") {
            "integer" => Arithmetic::Integer,
            _ => Arithmetic::Exact,
        }
    }

    /// A parameter as this arithmetic has it.
    pub(crate) fn number(self, number: f64) -> f64 {
        match self {
            Arithmetic::Exact => number,
            Arithmetic::Integer => from_q20(q20(number)),
        }
    }
}

/// Bits of a fraction.
pub(crate) const Q20: u32 = 20;
/// The fraction 1.
pub(crate) const ONE_Q20: u64 = 1 << Q20;
/// Greatest amount that [`scale`] scales, 4 TiB.
pub(crate) const SCALED_MOST: u64 = 1 << 42;

/// A number in units of 2^-20, rounded down.
pub(crate) fn to_q20(number: f64) -> u64 {
    (number * ONE_Q20 as f64) as u64
}

/// The number of so many units of 2^-20.
pub(crate) fn from_q20(units: u64) -> f64 {
    units as f64 / ONE_Q20 as f64
}

/// `value` times a fraction of at most 2, rounded down.
pub(crate) fn scale(value: u64, fraction_q20: u64) -> u64 {
    (value.min(SCALED_MOST) * fraction_q20) >> Q20
}

/// Greatest radicand of [`cube_root`].
const CUBE_MOST: u64 = (1 << 63) - 1;

/// Cube root, rounded down. Newton's method from above; the start is at most twice the root, so
/// seven steps suffice.
pub(crate) fn cube_root(value: u64) -> u64 {
    let value = value.min(CUBE_MOST);
    if value == 0 {
        return 0;
    }
    let mut x = 1_u64 << ((66 - value.leading_zeros()) / 3);
    for _ in 0..7 {
        x = (2 * x + value / (x * x)) / 3;
    }
    // Rounded steps may end one above the root, never below.
    if x * x * x > value { x - 1 } else { x }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CUBE_MOST, cube_root};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_cube_root_is_rounded_down(bits in 0_u32..64, seed: u64) {
            let value = (seed >> bits).min(CUBE_MOST);
            let root = u128::from(cube_root(value));
            prop_assert!(root.pow(3) <= u128::from(value));
            prop_assert!((root + 1).pow(3) > u128::from(value));
        }

        #[test]
        fn the_root_of_a_cube_is_exact(root in 0_u64..1 << 21) {
            prop_assert_eq!(cube_root(root.pow(3)), root);
            prop_assert_eq!(cube_root((root + 1).pow(3) - 1), root);
        }
    }
}
