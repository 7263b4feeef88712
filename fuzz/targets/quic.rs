//! See `sojourn_fuzz::quic`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| sojourn_fuzz::quic(data));
