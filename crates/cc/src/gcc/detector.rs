//! The over-use detector (draft section 5.4), in ms.

use sojourn_units::{Duration, Instant};

use super::config::Config;

/// The detector's signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Normal,
    Overuse,
    Underuse,
}

/// Section 5.4: the threshold does not follow larger excesses.
const MOST_EXCESS: f64 = 15.0;
/// Section 5.4: the range of the threshold.
const RANGE: (f64, f64) = (6.0, 600.0);
/// Greatest time between two updates in ms, so that a pause has no effect.
///
/// Deviation (draft-ietf-rmcat-gcc-02 section 5.4): the threshold follows for at most 100 ms a
/// group, as in libwebrtc (kMaxTimeDeltaMs).
const MOST_DELTA: f64 = 100.0;

/// The detector, with its adaptive threshold.
#[derive(Debug)]
pub(super) struct Detector {
    del_var_th: f64,
    updated_at: Option<Instant>,
    /// Arrival of the first group whose estimate exceeds the threshold, without a later one below.
    over_since: Option<Instant>,
    last_m: f64,
    pub(super) signal: Signal,
}

impl Detector {
    pub(super) fn new(config: &Config) -> Detector {
        Detector {
            del_var_th: config.del_var_th_0,
            updated_at: None,
            over_since: None,
            last_m: 0.0,
            signal: Signal::Normal,
        }
    }

    /// A new estimate `m` of the group that arrived at `at`.
    pub(super) fn add(&mut self, at: Instant, m: f64, config: &Config) {
        self.signal = if m > self.del_var_th {
            let since = *self.over_since.get_or_insert(at);
            // Deviation (libwebrtc): the time of over-use begins at the arrival of the first group
            // above the threshold, so that the second one signals it if groups arrive every 10 ms
            // or more (draft-ietf-rmcat-gcc-02 section 5.4). libwebrtc counts the time between
            // departures, begins with half of the interval before the first group, and wants two
            // groups and more than 10 ms.
            let is_long = at.since(since) >= config.overuse_time_th;
            // Deviation (draft-ietf-rmcat-gcc-02 section 5.4): over-use, once signalled, stays
            // until the estimate falls below the threshold, as in libwebrtc. A falling estimate
            // makes no new signal.
            let is_old = self.signal == Signal::Overuse;
            if is_old || is_long && m >= self.last_m { Signal::Overuse } else { Signal::Normal }
        } else {
            self.over_since = None;
            if m < -self.del_var_th { Signal::Underuse } else { Signal::Normal }
        };
        self.last_m = m;
        self.adapt(at, m, config);
    }

    /// The threshold follows the estimate, faster up than down.
    fn adapt(&mut self, at: Instant, m: f64, config: &Config) {
        let since = self.updated_at.map_or(Duration::ZERO, |before| at.since(before));
        self.updated_at = Some(at);
        let excess = m.abs() - self.del_var_th;
        if excess > MOST_EXCESS {
            return;
        }
        let gain = if excess < 0.0 { config.k_d } else { config.k_u };
        let delta = (since.as_secs_f64() * 1000.0).min(MOST_DELTA);
        self.del_var_th = (self.del_var_th + delta * gain * excess).clamp(RANGE.0, RANGE.1);
    }
}

#[cfg(test)]
mod tests {
    use super::{Detector, Signal};
    use crate::gcc::Gcc;
    use crate::gcc::config::Config;
    use sojourn_units::params::Params;
    use sojourn_units::{Duration, Instant};

    /// So far above the threshold that it does not follow.
    const OVER: f64 = 40.0;

    /// The signals for estimates of groups that arrive every `gap_ms`.
    fn signals(gap_ms: u64, estimates: &[f64]) -> Vec<Signal> {
        let config = Config::new(&Params::defaults(Gcc::INFO.params));
        let mut detector = Detector::new(&config);
        let mut at = Instant::ZERO;
        let mut next = |m: &f64| {
            at += Duration::from_millis(gap_ms);
            detector.add(at, *m, &config);
            detector.signal
        };
        estimates.iter().map(&mut next).collect()
    }

    /// Section 5.4: over-use is signalled once it has been detected for `overuse_time_th`, 10 ms: at
    /// the second group above the threshold if groups arrive every 10 ms or more, and later if they
    /// come closer.
    #[test]
    fn overuse_has_to_last() {
        for (gap_ms, groups) in [(100, 1), (20, 1), (10, 1), (9, 2), (4, 3)] {
            let found = signals(gap_ms, &[0.0, 0.0, OVER, OVER, OVER, OVER, OVER]);
            let first = found.iter().position(|signal| *signal == Signal::Overuse);
            assert_eq!(first, Some(2 + groups), "{gap_ms} ms: {found:?}");
        }
    }

    /// Section 5.4: single groups above the threshold do not add up.
    #[test]
    fn single_groups_are_not_overuse() {
        for gap_ms in [5, 20, 200] {
            let found = signals(gap_ms, &[0.0, OVER, 0.0, OVER, 0.0, OVER, 0.0]);
            assert!(found.iter().all(|signal| *signal == Signal::Normal), "{gap_ms} ms: {found:?}");
        }
    }

    /// Section 5.4: a falling estimate does not signal over-use.
    #[test]
    fn a_falling_estimate_is_not_overuse() {
        let found = signals(20, &[0.0, OVER + 3.0, OVER + 2.0, OVER + 1.0, OVER, OVER + 0.1]);
        let first = found.iter().position(|signal| *signal == Signal::Overuse);
        assert_eq!(first, Some(5), "{found:?}");
    }
}
