//! The identity of a run.

use std::fmt::{self, Write};

use sojourn_cc::Catalogue;

use crate::model::{Control, Scenario};

/// The hash FNV-1a of 128 bits (RFC 9923), of text that is formatted into it.
struct Fnv(u128);

const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 =
            text.bytes().fold(self.0, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
        Ok(())
    }
}

impl Scenario {
    /// A hash of every value that a run with this control depends on, except the seed. Scenarios
    /// that differ only in their spelling, their title, the seed or the controllers that they might
    /// name have the same one. It does not cover the code of controllers that are not shipped.
    pub fn digest(&self, control: Option<&Control>) -> u128 {
        let controls = control.into_iter().cloned().collect();
        let controllers = Catalogue::shipped();
        let run = Scenario { title: String::new(), seed: 0, controls, controllers, ..self.clone() };
        let mut hash = Fnv(BASIS);
        // Formatting into a hash cannot fail.
        let _ = write!(hash, "{run:?}");
        hash.0
    }
}
