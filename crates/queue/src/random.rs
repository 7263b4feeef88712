//! Random numbers from a given seed: SplitMix64 (Steele, Lea, Flood: Fast Splittable
//! Pseudorandom Number Generators, OOPSLA 2014).

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;

/// A sequence of uniform numbers.
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(SplitMix64::seed_from_u64(seed))
    }

    /// True with probability `p`: never at 0, always at 1.
    #[inline]
    pub(crate) fn rolls(&mut self, p: f64) -> bool {
        self.next() < p
    }

    /// A number from [0, 1).
    #[inline]
    pub(crate) fn next(&mut self) -> f64 {
        // A float represents 53 bits exactly.
        (self.next_bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn next_bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Spreads a number over 64 bits: the first draw with this seed.
#[inline]
pub(crate) fn mix(number: u64) -> u64 {
    SplitMix64::seed_from_u64(number).next_u64()
}
