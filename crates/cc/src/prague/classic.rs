//! Detection of a classic ECN queue, and the fallback to the response that it expects.
//!
//! A queue of RFC 3168 marks like a loss: seldom, and after a queue has built up. A controller that
//! answers its marks by alpha takes far more than its share beside Reno or CUBIC. Briscoe and Ahmed,
//! "TCP Prague Fall-back on Detection of a Classic ECN AQM" (2019), detect such a queue passively,
//! from the variation and the depth of the round-trip time. The draft leaves the method open
//! (section 2.1); this is that of L4STeam's `tcp_prague.c` (`prague_classic_ecn_detection`,
//! `prague_rtt_estimator`, `prague_update_rtt_scaling` and `prague_classic_ecn_fallback`).
//!
//! Deviation (L4STeam's Linux `prague_classic_ecn_detection`): logarithms are floats. Linux takes
//! integer logarithms and carries their remainders.

use sojourn_units::{Bytes, Duration};

/// Weights of variation and depth (`V`, `D`).
const VARIATION_WEIGHT: f64 = 0.5;
const DEPTH_WEIGHT: f64 = 0.5;
/// Mean deviation and depth of an L4S queue at most, in microseconds (`V0_LG`, `D0_LG`).
const VARIATION_US: f64 = 750.0;
const DEPTH_US: f64 = 2_000.0;
/// Score up to which the queue is deemed L4S (`L_STICKY`).
const L4S: f64 = 8.0;
/// Score from which it is deemed classic (`CLASSIC_ECN`), and greatest score (`C_STICKY`): the
/// distance to a bound makes a verdict stick.
const CLASSIC: f64 = L4S + 1.0;
const MOST: f64 = CLASSIC + L4S;
/// Share of alpha's range that a certain classic queue gets: half of 0.625 is close to the factor
/// of CUBIC with ABE.
const FLOOR: f64 = 0.625;
/// Greatest gain shift of the smoothed round-trip time (`PRAGUE_MAX_SRTT_BITS`).
const MOST_SHIFT: u32 = 18;

/// The detector.
#[derive(Clone, Debug)]
pub(super) struct Detector {
    /// Evidence of a classic queue, from zero to [`MOST`].
    score: f64,
    /// Slowly smoothed round-trip time, and its mean deviation, in microseconds; `None` before the
    /// first sample.
    rtt: Option<(f64, f64)>,
    /// The gain of the smoothed time is 2^-shift, that of the deviation half of it.
    shift: u32,
}

impl Detector {
    pub(super) fn new() -> Detector {
        Detector { score: 0.0, rtt: None, shift: MOST_SHIFT }
    }

    /// Takes a sample of the round-trip time.
    pub(super) fn sample(&mut self, rtt: Duration) {
        let sample = rtt.0 as f64 / 1e3;
        let gain = 0.5_f64.powi(self.shift as i32);
        self.rtt = Some(match self.rtt {
            None => (sample, 1.0),
            Some((srtt, deviation)) => {
                let error = sample - srtt;
                (srtt + gain * error, deviation + gain / 2.0 * (error.abs() - deviation))
            }
        });
    }

    /// Ends an epoch after the first mark of the connection.
    pub(super) fn end_epoch(&mut self, min_rtt: Duration) {
        let Some((srtt, deviation)) = self.rtt else { return };
        if min_rtt == Duration::MAX {
            return;
        }
        self.score += VARIATION_WEIGHT * (deviation.max(1.0) / VARIATION_US).log2();
        let depth = srtt - min_rtt.0 as f64 / 1e3;
        // A queue can only make the verdict more classic.
        if depth > DEPTH_US {
            self.score += DEPTH_WEIGHT * (depth / DEPTH_US).log2();
        }
        self.score = self.score.clamp(0.0, MOST);
    }

    /// Adapts the gains to the window at a reduction: a sawtooth of Reno lasts about a window of
    /// round trips.
    pub(super) fn adapt(&mut self, ssthresh: Bytes, mss: Bytes) {
        let packets = (ssthresh.0 / mss.0.max(1)).max(1);
        let log = packets.ilog2();
        self.shift = (log + log / 2 + 1).min(MOST_SHIFT);
    }

    /// The alpha by which to reduce the window. A classic queue sets a floor.
    pub(super) fn alpha(&self, alpha: f64) -> f64 {
        alpha.max(FLOOR * (self.score.min(CLASSIC) - L4S))
    }
}
