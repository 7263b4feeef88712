//! A windowed maximum (draft section 5.5.5, `UpdateWindowedMaxFilter`).

use std::collections::VecDeque;

/// The greatest of the samples of the last so many units of virtual time: rounds
/// for the aggregation, cycles of probing for the bandwidth.
///
/// The draft suggests Kathleen Nichols' three samples. This keeps every sample
/// that may yet become the greatest, at most one a unit of time, and is exact.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowedMax {
    /// Times rise and values fall from front to back.
    samples: VecDeque<(u64, u64)>,
}

impl WindowedMax {
    /// Takes in `value` at `time`, which never goes back, and returns the
    /// greatest of the last `length` units of time, this one included.
    pub(super) fn update(&mut self, time: u64, value: u64, length: u64) -> u64 {
        while self.samples.front().is_some_and(|s| s.0 + length.max(1) <= time) {
            self.samples.pop_front();
        }
        if !self.samples.back().is_some_and(|s| s.0 == time && s.1 >= value) {
            while self.samples.back().is_some_and(|s| s.1 <= value) {
                self.samples.pop_back();
            }
            self.samples.push_back((time, value));
        }
        self.samples.front().map_or(value, |s| s.1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::WindowedMax;

    proptest! {
        // No file of past failures: what fails is printed.
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn is_the_greatest_of_the_window(
            steps in prop::collection::vec((0_u64..4, 0_u64..100), 1..100),
            length in 1_u64..12,
        ) {
            let (mut filter, mut time, mut all) = (WindowedMax::default(), 0, Vec::new());
            for (advance, value) in steps {
                time += advance;
                all.push((time, value));
                let greatest = all.iter().filter(|s| s.0 + length > time).map(|s| s.1).max();
                prop_assert_eq!(Some(filter.update(time, value, length)), greatest);
                prop_assert!(filter.samples.len() as u64 <= length);
            }
        }
    }
}
