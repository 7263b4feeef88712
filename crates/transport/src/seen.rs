//! Detection of copied datagrams: a window over the numbers that have arrived (RFC 4303 section
//! 3.4.3 and appendix A2).

/// Numbers in the window. A copy that arrives later counts as a new datagram.
const WINDOW: u32 = 1 << 16;

/// The latest numbers that have arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    /// A bit for each number modulo [`WINDOW`].
    bits: Vec<u64>,
    newest: u32,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { bits: vec![0; WINDOW as usize / 64], newest: 0 }
    }
}

impl Seen {
    /// An empty window. Numbers count from 1.
    pub fn new() -> Seen {
        Seen::default()
    }

    /// Whether datagram `number`, modulo 2^32, arrives for the first time.
    pub fn is_new(&mut self, number: u32) -> bool {
        let ahead = number.wrapping_sub(self.newest);
        let behind = ahead.wrapping_neg();
        if ahead != 0 && ahead <= u32::MAX / 2 {
            // The new numbers reuse the bits of those that leave the window.
            for step in 1..=ahead.min(WINDOW) {
                self.set(self.newest.wrapping_add(step), false);
            }
            self.newest = number;
        } else if behind >= WINDOW {
            return true;
        }
        !self.set(number, true)
    }

    /// Sets the bit of a number and returns its old value.
    fn set(&mut self, number: u32, to: bool) -> bool {
        let place = number % WINDOW;
        let (word, bit) = (&mut self.bits[place as usize / 64], 1 << (place % 64));
        let was = *word & bit != 0;
        *word = if to { *word | bit } else { *word & !bit };
        was
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Within the window a number is new once, also across the wrap of the numbers.
        #[test]
        fn a_number_is_new_once(
            start in prop_oneof![Just(1_u32), Just(u32::MAX - 300)],
            offsets in prop::collection::vec(0_u32..500, 1..400),
        ) {
            let (mut seen, mut model) = (Seen::new(), BTreeSet::new());
            // The state after a long run.
            seen.newest = start.wrapping_sub(1);
            for offset in offsets {
                let number = start.wrapping_add(offset);
                prop_assert_eq!(seen.is_new(number), model.insert(number), "{}", number);
            }
        }
    }

    #[test]
    fn places_are_used_again() {
        let mut seen = Seen::new();
        assert!((1..=3 * WINDOW).all(|number| seen.is_new(number)));
        assert!(!seen.is_new(3 * WINDOW) && !seen.is_new(2 * WINDOW + 1));
        // Behind the window, a number counts as new.
        assert!(seen.is_new(2 * WINDOW));
        // A gap greater than the window clears it.
        assert!(seen.is_new(9 * WINDOW) && seen.is_new(9 * WINDOW - 1));
    }
}
