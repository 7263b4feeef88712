//! The least or the greatest round-trip time of the last while.

use std::collections::VecDeque;

use sojourn_units::{Duration, Instant};

/// Samples are at least this part of the window apart: what a window holds is
/// bounded, and it may forget that much too late.
const PARTS: u64 = 64;

/// A windowed extreme, by time.
#[derive(Clone, Debug, Default)]
pub(super) struct Extreme {
    /// From the most extreme to the newest.
    samples: VecDeque<(Instant, Duration)>,
}

impl Extreme {
    /// The least of the last `span`, `rtt` at `now` included.
    pub(super) fn least(&mut self, now: Instant, rtt: Duration, span: Duration) -> Duration {
        self.update(now, rtt, span, |one, other| one <= other)
    }

    /// The greatest of the last `span`, `rtt` at `now` included.
    pub(super) fn greatest(&mut self, now: Instant, rtt: Duration, span: Duration) -> Duration {
        self.update(now, rtt, span, |one, other| one >= other)
    }

    fn update(
        &mut self,
        now: Instant,
        rtt: Duration,
        span: Duration,
        replaces: fn(Duration, Duration) -> bool,
    ) -> Duration {
        while self.samples.back().is_some_and(|s| replaces(rtt, s.1)) {
            self.samples.pop_back();
        }
        while self.samples.front().is_some_and(|s| now.since(s.0) > span) {
            self.samples.pop_front();
        }
        // One that is less extreme matters only once those before it are gone.
        let apart = span / PARTS;
        if self.samples.back().is_none_or(|s| now.since(s.0) >= apart) {
            self.samples.push_back((now, rtt));
        }
        self.samples.front().map_or(rtt, |s| s.1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sojourn_units::{Duration, Instant};

    use super::{Extreme, PARTS};

    const SPAN: u64 = 640;

    proptest! {
        // No file of past failures: what fails is printed.
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// As extreme as all of the window but for its oldest part, and no more so
        /// than all of it.
        #[test]
        fn agrees_with_brute_force(steps in prop::collection::vec((0_u64..100, 1_u64..1_000), 1..200)) {
            let (mut least, mut greatest) = (Extreme::default(), Extreme::default());
            let (mut now, mut all) = (Instant::ZERO, Vec::new());
            for (wait, rtt) in steps {
                now += Duration(wait);
                all.push((now, Duration(rtt)));
                let within = |age: u64| {
                    let of_age = all.iter().filter(move |s| now.since(s.0) <= Duration(age));
                    of_age.map(|s| s.1).collect::<Vec<_>>()
                };
                let (whole, most) = (within(SPAN), within(SPAN - SPAN / PARTS));
                let low = least.least(now, Duration(rtt), Duration(SPAN));
                prop_assert!(low >= *whole.iter().min().unwrap());
                prop_assert!(low <= *most.iter().min().unwrap());
                let high = greatest.greatest(now, Duration(rtt), Duration(SPAN));
                prop_assert!(high <= *whole.iter().max().unwrap());
                prop_assert!(high >= *most.iter().max().unwrap());
                prop_assert!(least.samples.len() as u64 <= PARTS + 1);
            }
        }
    }
}
