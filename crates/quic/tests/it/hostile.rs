//! Damaged and foreign datagrams: a few inputs of the fuzz target `quic`, drawn from a seed.

#[path = "../../../../fuzz/src/connection.rs"]
mod target;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[test]
fn neither_end_of_a_stack_breaks() {
    for seed in 0..6 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut input = vec![0; 1_200];
        random.fill_bytes(&mut input);
        // The handshake passes, so that most steps are about packets of data.
        let opening = [0, 0, 0, 0].repeat(usize::from(seed > 0) * 16);
        target::quic(&[opening, input].concat());
    }
}
