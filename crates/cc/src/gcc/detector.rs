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
/// Greatest time between two updates in ms, so that a pause has no effect (libwebrtc,
/// kMaxTimeDeltaMs).
const MOST_DELTA: f64 = 100.0;

/// The detector, with its adaptive threshold.
#[derive(Debug)]
pub(super) struct Detector {
    del_var_th: f64,
    updated_at: Option<Instant>,
    /// Time since when the estimate exceeds the threshold.
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
            let since = *self.over_since.get_or_insert(self.updated_at.unwrap_or(at));
            let is_long = at.since(since) >= config.overuse_time_th;
            // A falling estimate makes no new signal; an old one stays, as in libwebrtc.
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
