//! Minimum or maximum over a sliding window.

use std::collections::VecDeque;

/// Minimum over a sliding window.
pub(crate) type WindowedMin = Windowed<false>;
/// Maximum over a sliding window.
pub(crate) type WindowedMax = Windowed<true>;

/// All samples of a window that may still become its extreme. Callers choose the units of
/// times and values: nanoseconds, round trips, bit/s.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windowed<const GREATEST: bool> {
    /// Ordered by time; values get less extreme from front to back.
    samples: VecDeque<(u64, u64)>,
}

impl<const GREATEST: bool> Windowed<GREATEST> {
    /// Adds `value` at `time`, which must not decrease. Returns the extreme of all samples
    /// no older than `span`, including this one.
    pub(crate) fn update(&mut self, time: u64, value: u64, span: u64) -> u64 {
        self.update_sparsely(time, value, span, 1, usize::MAX)
    }

    /// As [`Self::update`], but keeps a sample that is not an extreme only at a distance of
    /// `spacing` from the previous one. At most `span / spacing + 1` samples are kept, and the
    /// window may be shorter by `spacing`. If both grow, more samples are kept; then such samples
    /// are left out beyond `most`.
    pub(crate) fn update_sparsely(
        &mut self,
        time: u64,
        value: u64,
        span: u64,
        spacing: u64,
        most: usize,
    ) -> u64 {
        while self.samples.back().is_some_and(|s| Self::outlives(value, s.1)) {
            self.samples.pop_back();
        }
        while self.samples.front().is_some_and(|s| time.saturating_sub(s.0) > span) {
            self.samples.pop_front();
        }
        // A less extreme sample matters only after its predecessors expire, which one of
        // the same time never does.
        let is_spaced = |s: &(u64, u64)| time.saturating_sub(s.0) >= spacing.max(1);
        if self.samples.len() < most && self.samples.back().is_none_or(is_spaced) {
            self.samples.push_back((time, value));
        }
        self.get().unwrap_or(value)
    }

    /// The extreme at the last update; `None` before the first.
    pub(crate) fn get(&self) -> Option<u64> {
        self.samples.front().map(|s| s.1)
    }

    /// Whether the newer sample `one` makes `other` obsolete.
    fn outlives(one: u64, other: u64) -> bool {
        if GREATEST { one >= other } else { one <= other }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{WindowedMax, WindowedMin};

    /// Values of all samples no older than `span`.
    fn within(all: &[(u64, u64)], now: u64, span: u64) -> impl Iterator<Item = u64> {
        all.iter().filter(move |s| now - s.0 <= span).map(|s| s.1)
    }

    proptest! {
        // No regression file: proptest prints the failing case.
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_brute_force(
            steps in prop::collection::vec((0_u64..4, 0_u64..100), 1..200),
            span in 0_u64..12,
        ) {
            let (mut least, mut greatest) = (WindowedMin::default(), WindowedMax::default());
            let (mut now, mut all) = (0, Vec::new());
            for (wait, value) in steps {
                now += wait;
                all.push((now, value));
                let low = least.update(now, value, span);
                prop_assert_eq!(Some(low), within(&all, now, span).min());
                prop_assert_eq!(Some(low), least.get());
                let high = greatest.update(now, value, span);
                prop_assert_eq!(Some(high), within(&all, now, span).max());
                prop_assert!(greatest.samples.len() as u64 <= span + 1);
            }
        }

        /// The result lies between the extreme of the whole window and that of the window
        /// without its oldest part.
        #[test]
        fn a_sparse_one_forgets_a_part_too_early_at_most(
            steps in prop::collection::vec((0_u64..100, 1_u64..1_000), 1..200),
            parts in 1_u64..100,
        ) {
            const SPAN: u64 = 640;
            let spacing = SPAN / parts;
            let (mut least, mut greatest) = (WindowedMin::default(), WindowedMax::default());
            let (mut now, mut all) = (0, Vec::new());
            for (wait, value) in steps {
                now += wait;
                all.push((now, value));
                let low = least.update_sparsely(now, value, SPAN, spacing, usize::MAX);
                prop_assert!(low >= within(&all, now, SPAN).min().unwrap());
                prop_assert!(low <= within(&all, now, SPAN - spacing).min().unwrap());
                let high = greatest.update_sparsely(now, value, SPAN, spacing, usize::MAX);
                prop_assert!(high <= within(&all, now, SPAN).max().unwrap());
                prop_assert!(high >= within(&all, now, SPAN - spacing).max().unwrap());
                prop_assert!(least.samples.len() as u64 <= SPAN / spacing + 1);
            }
        }
    }
}
