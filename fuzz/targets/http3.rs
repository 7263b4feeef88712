//! See `sojourn_fuzz::http3`.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|data: &[u8]| sojourn_fuzz::http3(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mutated = sojourn_fuzz::mutate_http3(&data[..size], seed);
    sojourn_fuzz::replace(data, max_size, &mutated)
});
