//! The cubic function of time that governs the window's growth.

use sojourn_units::{Bytes, Instant};

use super::config::Config;

/// Equation 1, from a reduction on; windows in the unit of the arithmetic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubic {
    /// Time at which `t` was zero: the last reduction, plus all times in which the window
    /// did not limit the sender.
    begin: Instant,
    /// Time of the last feedback included in `t`.
    updated: Instant,
    /// `CWnd_max`.
    cwnd_max: f64,
    /// Seconds.
    k: f64,
}

impl Cubic {
    /// The curve of a window that was `cwnd_max` and is `cwnd` at `now`.
    ///
    /// Deviation (Hock et al. 2017, equation 3): K follows from the window that remains, also after
    /// a loss, or if `cwnd_min` limited the decrease; the equation has the window after a tailored
    /// decrease. After a slow start the curve begins at its plateau, as in RFC 9438 section 4.10.
    pub(super) fn new(now: Instant, cwnd_max: f64, cwnd: f64, config: &Config) -> Cubic {
        let k = config.arithmetic.k(cwnd_max - cwnd, config.mss);
        Cubic { begin: now, updated: now, cwnd_max: cwnd_max.max(cwnd), k }
    }

    /// Equation 1.
    pub(super) fn at(&mut self, now: Instant, config: &Config) -> Bytes {
        self.updated = now;
        config.arithmetic.curve(now.since(self.begin), self.k, self.cwnd_max, config.mss)
    }

    /// Excludes the time since the last feedback, in which the window did not limit the
    /// sender (RFC 9438 section 5.8).
    pub(super) fn exclude(&mut self, now: Instant) {
        let begin = self.begin + now.since(self.updated);
        self.begin = begin.min(now);
        self.updated = now;
    }
}
