//! The two functions of time by which the window grows, both cubic.

use sojourn_units::{Bytes, Duration, Instant};

use super::config::Config;

/// Equation 1, from a reduction on; windows in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubic {
    /// When `t` was zero: at the last reduction, or later by as long as the window
    /// did not limit the sender.
    begin: Instant,
    /// The last feedback whose time is accounted for.
    updated: Instant,
    /// `CWnd_max`.
    cwnd_max: f64,
    /// Seconds.
    k: f64,
}

impl Cubic {
    /// The curve of a window that was `cwnd_max` and is `cwnd` at `now`. K of
    /// equation 3, whose subtrahend is what tailored decrease leaves: the window
    /// itself is taken, so that the curve begins at it after a loss as well, and
    /// where `cwnd_min` ended the decrease. A window that was not reduced (at the end
    /// of slow start) begins at its plateau, as RFC 9438 section 4.10 has it.
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

    /// The window did not limit the sender since the last feedback: that time does
    /// not count (RFC 9438 section 5.8).
    pub(super) fn exclude(&mut self, now: Instant) {
        let begin = self.begin + now.since(self.updated);
        self.begin = begin.min(now);
        self.updated = now;
    }
}

/// Equation 2: what each flow should have in the queue `t` after fair flow balancing
/// began.
pub(super) fn x(t: Duration, config: &Config) -> Bytes {
    let ratio = t.0 as f64 * 1e-6 / config.phi;
    Bytes((ratio * ratio * ratio) as u64)
}
