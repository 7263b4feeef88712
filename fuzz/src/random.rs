//! Random choices of a mutator, from libFuzzer's seed.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;

pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u32) -> Random {
        Random(SplitMix64::seed_from_u64(u64::from(seed)))
    }

    /// A number below `end`; zero if `end` is zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.0.next_u64() % end as u64) as usize }
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// True with probability 1/`times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of `items`, which must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
