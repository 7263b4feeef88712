//! See `sojourn_fuzz::qlog`.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| sojourn_fuzz::qlog(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match sojourn_fuzz::mutate_qlog(&data[..size], seed) {
        Some(file) => sojourn_fuzz::replace(data, max_size, &file),
        None => fuzzer_mutate(data, size, max_size),
    }
});
