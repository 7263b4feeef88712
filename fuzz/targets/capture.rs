//! See `sojourn_fuzz::capture`.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| sojourn_fuzz::capture(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match sojourn_fuzz::mutate_capture(&data[..size], seed) {
        Some(file) => sojourn_fuzz::replace(data, max_size, &file),
        None => fuzzer_mutate(data, size, max_size),
    }
});
