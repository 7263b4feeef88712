//! See `sojourn_fuzz::capacity`.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|data: &[u8]| sojourn_fuzz::capacity(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mutated = sojourn_fuzz::mutate_capacity(&data[..size], seed);
    sojourn_fuzz::replace(data, max_size, &mutated)
});
