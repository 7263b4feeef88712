//! The share of marked packets (draft section 4.2.1.3), and the rate of losses (section 4.5.2).

use sojourn_units::Instant;

/// L4S_AVG_G_UP and L4S_AVG_G_DOWN.
const UP: f64 = 1.0 / 8.0;
const DOWN: f64 = 1.0 / 128.0;
/// Seconds: `l4s_alpha` is updated at least this often.
const EVERY: f64 = 0.01;

/// `l4s_alpha`: fast up, slow down.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    pub(super) l4s_alpha: f64,
    updated_at: Instant,
    delivered: u64,
    marked: u64,
}

impl Marks {
    pub(super) fn add(&mut self, now: Instant, srtt: f64, acked: u64, marked: u64) {
        self.delivered += acked;
        self.marked += marked;
        if now.since(self.updated_at).as_secs_f64() < EVERY.min(srtt) || self.delivered == 0 {
            return;
        }
        let fraction = (self.marked as f64 / self.delivered as f64).min(1.0);
        self.l4s_alpha = if fraction >= self.l4s_alpha {
            UP * fraction + (1.0 - UP) * self.l4s_alpha
        } else {
            (1.0 - DOWN) * self.l4s_alpha
        };
        *self = Marks { updated_at: now, delivered: 0, marked: 0, ..*self };
    }
}

/// LOSS_RATE_THRESHOLD.
pub(super) const LOSS_RATE_THRESHOLD: f64 = 0.01;
/// LOSS_RATE_THRESHOLD_POLICER.
pub(super) const LOSS_RATE_THRESHOLD_POLICER: f64 = 0.1;

/// The smoothed share of lost packets after `received` arrivals and `lost` losses.
/// `packets`: packets in the reference window.
pub(super) fn loss_rate(before: f64, packets: f64, received: u64, lost: u64) -> f64 {
    let alpha = (LOSS_RATE_THRESHOLD / 4.0).min(0.5 / packets);
    let fade =
        |rate: f64, count: u64, to: f64| to + (rate - to) * libm::pow(1.0 - alpha, count as f64);
    fade(fade(before, received, 0.0), lost, 1.0)
}
