//! Windowed maximum over packet-timed rounds.

/// Keeps the maximum of the last `window` rounds with three samples, by Kathleen Nichols'
/// algorithm (Linux `lib/win_minmax.c`).
///
/// Three samples are an approximation: when the best one expires, its successor may be
/// smaller than another sample still within the window. If every round has samples, the
/// successor is never smaller than the samples of the last quarter of the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxFilter {
    window: u64,
    /// The best sample, the best one since, and the best one since the second.
    best: [Sample; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    round: u64,
    value: u64,
}

impl MaxFilter {
    /// A filter over `window` rounds, initially zero.
    pub(super) fn new(window: u64) -> MaxFilter {
        MaxFilter { window, best: [Sample::default(); 3] }
    }

    /// The maximum in the window.
    pub(super) fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Adds a sample; rounds must not decrease (`minmax_running_max`).
    pub(super) fn update(&mut self, round: u64, value: u64) {
        let sample = Sample { round, value };
        let stale = round - self.best[2].round > self.window;
        if value >= self.best[0].value || stale {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].value {
            self.best[2] = sample;
        }
        self.age(sample);
    }

    /// Expires the best sample, and keeps the other two spread over the window, so that a
    /// recent successor always exists (`minmax_subwin_update`).
    fn age(&mut self, sample: Sample) {
        let age = sample.round - self.best[0].round;
        let [first, second, third] = self.best.map(|s| s.round);
        if age > self.window {
            self.expire(sample);
        } else if second == first && age > self.window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if third == second && age > self.window / 2 {
            self.best[2] = sample;
        }
    }

    fn expire(&mut self, sample: Sample) {
        self.best = [self.best[1], self.best[2], sample];
        // The second sample may have expired too. The third has not, or `update` would have
        // reset all three.
        if sample.round - self.best[0].round > self.window {
            self.best = [self.best[1], self.best[2], sample];
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::MaxFilter;

    const WINDOW: u64 = 10;

    /// The maximum of the `samples` that are at most `age` rounds old.
    fn brute_force(samples: &[(u64, u64)], now: u64, age: u64) -> u64 {
        samples.iter().filter(|(round, _)| now - round <= age).map(|s| s.1).max().unwrap()
    }

    /// Checks that every estimate is a sample within the window, and at least as great as
    /// all samples that are at most `recent` rounds old.
    fn check(steps: &[(u64, u64)], recent: u64) -> Result<(), TestCaseError> {
        let mut filter = MaxFilter::new(WINDOW);
        let (mut round, mut samples) = (0, Vec::new());
        for (advance, value) in steps {
            round += advance;
            samples.push((round, *value));
            filter.update(round, *value);
            prop_assert!(filter.get() >= brute_force(&samples, round, recent));
            prop_assert!(filter.get() <= brute_force(&samples, round, WINDOW));
            prop_assert!(samples.iter().any(|s| s.1 == filter.get() && round - s.0 <= WINDOW));
        }
        Ok(())
    }

    proptest! {
        // No regression file: proptest prints the failing case.
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

        /// With samples in every round, the estimate is at least the maximum of the last
        /// quarter of the window.
        #[test]
        fn agrees_with_brute_force(steps in prop::collection::vec((0_u64..2, 1_u64..1_000), 1..200)) {
            check(&steps, WINDOW / 4)?;
        }

        /// With gaps between rounds, the estimate is at least the newest sample.
        #[test]
        fn agrees_with_brute_force_over_gaps(steps in prop::collection::vec((0_u64..15, 1_u64..1_000), 1..200)) {
            check(&steps, 0)?;
        }

        /// For increasing samples, and for a single step down, the filter equals brute
        /// force.
        #[test]
        fn is_exact_for_a_step(high in 2_u64..1_000, low in 1_u64..1_000, at in 1_u64..40) {
            let mut filter = MaxFilter::new(WINDOW);
            let mut samples = Vec::new();
            for round in 0..60 {
                let value = if round < at { high } else { low };
                samples.push((round, value));
                filter.update(round, value);
                prop_assert_eq!(filter.get(), brute_force(&samples, round, WINDOW));
            }
        }
    }

    #[test]
    fn forgets_after_a_silence_longer_than_the_window() {
        let mut filter = MaxFilter::new(WINDOW);
        filter.update(0, 100);
        filter.update(WINDOW, 5);
        assert_eq!(filter.get(), 100);
        filter.update(WINDOW + 1, 4);
        assert_eq!(filter.get(), 5);
        filter.update(3 * WINDOW, 1);
        assert_eq!(filter.get(), 1);
    }
}
