//! Queueing delay: its average, its variation, and the target (draft sections 4.2.1.4, 4.5.1 and
//! 4.5.4).

use std::collections::VecDeque;

use sojourn_units::Instant;

use super::config::Config;
use crate::contract::Received;
use crate::one_way::OneWay;

/// QDELAY_AVG_G.
const QDELAY_AVG_G: f64 = 1.0 / 4.0;
/// QDELAY_MIN_MAX_AVG_G.
const QDELAY_MIN_MAX_AVG_G: f64 = 1.0 / 16.0;
/// QDELAY_DEV_AVG_G.
const QDELAY_DEV_AVG_G: f64 = 1.0 / 32.0;
/// QDELAY_DEV_THRESHOLD, in seconds.
const QDELAY_DEV_THRESHOLD: f64 = 0.01;
/// QDELAY_MIN_AVG_ALPHA (section 4.5.1).
const QDELAY_MIN_AVG_ALPHA: f64 = 1.0 / 256.0;
/// Samples of the long and of the short history of section 4.5.4.
const LONG: usize = 200;
const SHORT: usize = 50;

/// The queueing delay, in seconds.
#[derive(Debug)]
pub(super) struct Delay {
    one_way: OneWay,
    /// The latest sample.
    pub(super) qdelay: f64,
    pub(super) qdelay_avg: f64,
    pub(super) target: f64,
    max_avg: f64,
    min_avg: f64,
    dev_avg: f64,
    /// `ref_wnd_delay_scale`, from 0 (large variation) to 1.
    pub(super) scale: f64,
    averaged_at: Instant,
    /// Least delay of the current round trip, and its long average.
    least: f64,
    least_avg: f64,
    round_at: Instant,
    /// Delays of past round trips as multiples of QDELAY_TARGET_LO.
    norms: VecDeque<f64>,
    loss_event_rate: f64,
}

impl Delay {
    pub(super) fn new(config: &Config) -> Delay {
        Delay {
            one_way: OneWay::default(),
            qdelay: 0.0,
            qdelay_avg: 0.0,
            target: config.qdelay_target_lo,
            max_avg: config.qdelay_target_lo,
            min_avg: 0.0,
            dev_avg: 0.0,
            scale: 1.0,
            averaged_at: Instant::ZERO,
            least: f64::MAX,
            least_avg: 0.0,
            round_at: Instant::ZERO,
            norms: VecDeque::new(),
            loss_event_rate: 0.0,
        }
    }

    /// Samples of a report.
    pub(super) fn samples(&mut self, now: Instant, received: &[Received], config: &Config) {
        for packet in received {
            self.qdelay = self.one_way.queueing(now, packet);
            self.least = self.least.min(self.qdelay);
            if config.reduce_jitter {
                self.max_avg = self.target.min(self.qdelay.max(self.max_avg));
                self.min_avg = self.qdelay.min(self.min_avg);
            }
        }
    }

    /// Updates the averages, at least every `span` seconds: the smaller of the virtual and the
    /// smoothed round-trip time.
    pub(super) fn average(&mut self, now: Instant, span: f64, config: &Config) {
        if now.since(self.averaged_at).as_secs_f64() < span {
            return;
        }
        self.averaged_at = now;
        self.qdelay_avg = if self.qdelay < self.qdelay_avg {
            self.qdelay
        } else {
            QDELAY_AVG_G * self.qdelay + (1.0 - QDELAY_AVG_G) * self.qdelay_avg
        };
        if config.reduce_jitter {
            self.update_scale();
        }
    }

    /// `calculate_ref_wnd_delay_scale`.
    fn update_scale(&mut self) {
        let gain = QDELAY_MIN_MAX_AVG_G;
        self.max_avg *= 1.0 - gain;
        self.min_avg = self.min_avg * (1.0 - gain) + self.max_avg * gain;
        let difference = self.max_avg - self.min_avg;
        self.dev_avg = (1.0 - QDELAY_DEV_AVG_G) * self.dev_avg + QDELAY_DEV_AVG_G * difference;
        self.scale = (1.0 - self.dev_avg / QDELAY_DEV_THRESHOLD).clamp(0.0, 1.0);
    }

    /// A round trip of `srtt` seconds may be over. Returns whether the clocks have drifted, so that
    /// the media rate has to fall for a while.
    pub(super) fn round(
        &mut self,
        now: Instant,
        srtt: f64,
        has_lost: bool,
        config: &Config,
    ) -> bool {
        if now.since(self.round_at).as_secs_f64() < srtt || self.least == f64::MAX {
            return false;
        }
        self.round_at = now;
        let least = std::mem::replace(&mut self.least, f64::MAX);
        if config.competing_flows {
            // Deviation (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.5.4): `loss_event_rate`
            // is smoothed over 200 round trips, the long history; the draft does not say how.
            let loss = if has_lost { 1.0 } else { 0.0 };
            self.loss_event_rate += (loss - self.loss_event_rate) / LONG as f64;
            self.adjust_target(config);
        }
        if !config.clock_drift {
            return false;
        }
        let alpha = QDELAY_MIN_AVG_ALPHA;
        self.least_avg = (1.0 - alpha) * self.least_avg + alpha * least;
        let drifts = self.least_avg > self.target / 4.0;
        if drifts {
            self.least_avg = 0.0;
            self.one_way.reset();
        }
        drifts
    }

    /// `adjust_qdelay_target` (section 4.5.4).
    fn adjust_target(&mut self, config: &Config) {
        let lo = config.qdelay_target_lo;
        if self.norms.len() == LONG {
            self.norms.pop_front();
        }
        self.norms.push_back(self.qdelay / lo);
        let mean = |count: usize| {
            let last = self.norms.iter().rev().take(count);
            let count = last.len() as f64;
            last.sum::<f64>() / count
        };
        let long = mean(LONG);
        let squares = self.norms.iter().map(|norm| (norm - long) * (norm - long)).sum::<f64>();
        let variance = squares / self.norms.len() as f64;
        let new_target = (mean(SHORT) + libm::sqrt(variance)) * lo;
        self.target = if self.loss_event_rate > 0.002 {
            1.5 * new_target
        } else if variance < 0.2 {
            new_target
        } else if new_target < lo {
            (self.target * 0.5).max(new_target)
        } else {
            self.target * 0.9
        };
        self.target = self.target.min(config.qdelay_target_hi).max(lo);
    }
}
