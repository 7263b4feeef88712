//! The two cubic functions of time that govern the window's growth.

use sojourn_units::{Bytes, Duration, Instant};

use super::config::Config;

/// Equation 1, from a reduction on; windows in segments.
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
    /// The curve of a window that was `cwnd_max` and is `cwnd` at `now`. K follows equation
    /// 3, whose subtrahend is the window after a tailored decrease. This code uses the
    /// actual window, so that the curve also begins there after a loss, or if `cwnd_min`
    /// limited the decrease. A window that was not reduced (at the end of slow start)
    /// begins at its plateau, as in RFC 9438 section 4.10.
    pub(super) fn new(now: Instant, cwnd_max: f64, cwnd: f64, config: &Config) -> Cubic {
        let k = libm::cbrt((cwnd_max - cwnd).max(0.0) / config.c);
        Cubic { begin: now, updated: now, cwnd_max: cwnd_max.max(cwnd), k }
    }

    /// Equation 1, in segments.
    pub(super) fn at(&mut self, now: Instant, config: &Config) -> f64 {
        self.updated = now;
        let t = now.since(self.begin).as_secs_f64() - self.k;
        config.c * t * t * t + self.cwnd_max
    }

    /// Excludes the time since the last feedback, in which the window did not limit the
    /// sender (RFC 9438 section 5.8).
    pub(super) fn exclude(&mut self, now: Instant) {
        let begin = self.begin + now.since(self.updated);
        self.begin = begin.min(now);
        self.updated = now;
    }
}

/// Equation 2: the data each flow should have in the queue at `t` after the start of fair
/// flow balancing.
pub(super) fn x(t: Duration, config: &Config) -> Bytes {
    let ratio = t.0 as f64 * 1e-6 / config.phi;
    Bytes((ratio * ratio * ratio) as u64)
}
