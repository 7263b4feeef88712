//! Media rate control and pacing (draft sections 4.3.2 and 4.4).

use sojourn_units::{Duration, Instant};

use super::config::Config;
use crate::contract::Frame;

/// RATE_ADJUST_GAIN.
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
/// FRAME_SIZE_DEV_ALPHA.
const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;
/// MAX_RELAXED_PACING_FACTOR.
const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;
/// RELAXED_PACING_LIMIT_LOW.
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
/// Section 4.5.1: the least time, in seconds, of a smaller rate after a reset of the base delay.
const LEAST_DRIFT: f64 = 0.2;

/// The media rate in bit/s.
#[derive(Debug)]
pub(super) struct MediaRate {
    pub(super) target: f64,
    pub(super) least: f64,
    /// TARGET_BITRATE_MAX.
    pub(super) most: f64,
    rate_adjust_factor: f64,
    frame_size_dev: f64,
    /// End of the time after a drift of the clocks, with half the rate.
    halved_until: Instant,
}

impl MediaRate {
    pub(super) fn new() -> MediaRate {
        MediaRate {
            target: 0.0,
            least: 0.0,
            most: f64::INFINITY,
            rate_adjust_factor: 0.0,
            frame_size_dev: 0.0,
            halved_until: Instant::ZERO,
        }
    }

    /// Whether the encoder cannot have a greater rate.
    pub(super) fn is_at_most(&self) -> bool {
        self.target >= self.most
    }

    /// A new frame.
    pub(super) fn on_frame(&mut self, frame: &Frame) {
        (self.least, self.most) = (frame.min_rate.as_f64(), frame.max_rate.as_f64());
        let period = frame.interval.as_secs_f64().max(1e-6);
        let error = (frame.waiting.as_secs_f64() - period / 4.0) / period;
        self.rate_adjust_factor =
            (self.rate_adjust_factor + error * RATE_ADJUST_GAIN).clamp(0.0, 0.5);
        let nominal = self.target * period / 8.0;
        if nominal > 0.0 {
            let deviation = ((frame.bytes.as_f64() - nominal) / nominal).max(0.0);
            let kept = (1.0 - FRAME_SIZE_DEV_ALPHA) * self.frame_size_dev;
            self.frame_size_dev = (kept + FRAME_SIZE_DEV_ALPHA * deviation).min(0.2);
        }
    }

    /// The clocks have drifted.
    pub(super) fn on_drift(&mut self, now: Instant, srtt: f64) {
        self.halved_until = now + Duration::from_secs_f64((5.0 * srtt).max(LEAST_DRIFT));
    }

    /// The rate for this reference window, in bytes, and this smoothed round-trip time, in seconds.
    ///
    /// Deviation (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 6): the encoder's rate is the
    /// target, without a deduction of RTP's headers, 1 % of full packets. The section wants one,
    /// and says that moderate errors compensate themselves.
    pub(super) fn update(&mut self, now: Instant, ref_wnd: f64, srtt: f64, config: &Config) {
        let ratio = (config.mss / ref_wnd).min(1.0);
        let mut scale = 1.0 - (ratio - 0.1).clamp(0.0, 0.2);
        scale *= config.mss / (config.mss + config.packet_overhead);
        scale /= 1.2 + self.rate_adjust_factor + self.frame_size_dev;
        if now < self.halved_until {
            scale *= 0.5;
        }
        self.target = (scale * 8.0 * ref_wnd / srtt).max(self.least).min(self.most);
    }

    /// The pacing rate in bit/s.
    pub(super) fn pacing(&self, config: &Config) -> f64 {
        let paced = self.target.max(config.rate_pace_min) * config.packet_pacing_headroom;
        let over =
            (self.target / self.most - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW);
        paced / (1.0 - over.min(1.0)).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0)
    }
}
