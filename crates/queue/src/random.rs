//! Random numbers from a given seed.

/// A sequence of uniform numbers: SplitMix64 (Steele, Lea, Flood: Fast
/// Splittable Pseudorandom Number Generators, OOPSLA 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// True with probability `p`: never at 0, always at 1.
    #[inline]
    pub(crate) fn rolls(&mut self, p: f64) -> bool {
        self.next() < p
    }

    /// A number from [0, 1).
    #[inline]
    pub(crate) fn next(&mut self) -> f64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(GAMMA);
        // A float represents 53 bits exactly.
        (number >> 11) as f64 / (1_u64 << 53) as f64
    }
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads a number over 64 bits: one step of SplitMix64.
#[inline]
pub(crate) fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(GAMMA);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
