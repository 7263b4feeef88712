//! PIE's control loop: the drop probability and the burst allowance
//! (`calculate_drop_prob()` of RFC 8033).

use sojourn_units::params::Params;
use sojourn_units::{Duration, Instant};

use crate::dualq::pi::MOST_UPDATES;

/// The divisor (second number) of adjustments while the probability is below the first
/// number (RFC 8033 section 4.2).
const AUTO_TUNING: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];

/// The control loop.
///
/// Deviation (RFC 8033 section 4.2): updates are at multiples of `tupdate` from the beginning of
/// the run. The next arrival or departure catches up on missed updates, which gives the values of a
/// timer.
pub(super) struct Control {
    /// In seconds.
    target: f64,
    tupdate: Duration,
    /// In Hz, as `beta`.
    alpha: f64,
    beta: f64,
    max_burst: Duration,
    drop_prob: f64,
    /// The delay at the last update, in seconds.
    qdelay_old: f64,
    burst_allowance: Duration,
    next_update: Instant,
}

impl Control {
    pub(super) fn new(params: &Params) -> Control {
        let (tupdate, max_burst) = (params.time("tupdate"), params.time("max_burst"));
        Control {
            target: params.time("target").as_secs_f64(),
            tupdate,
            alpha: params.number("alpha"),
            beta: params.number("beta"),
            max_burst,
            drop_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: max_burst,
            next_update: Instant::ZERO + tupdate,
        }
    }

    pub(super) fn drop_prob(&self) -> f64 {
        self.drop_prob
    }

    #[inline]
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next_update <= now
    }

    /// Performs all updates due by `now`; the delay has been `qdelay` since the last one.
    pub(super) fn update(&mut self, now: Instant, qdelay: f64) {
        let due = now.since(self.next_update).0 / self.tupdate.0 + 1;
        for _ in 0..due.min(MOST_UPDATES) {
            let before = (self.drop_prob, self.qdelay_old);
            self.step(qdelay);
            // At a bound, further updates have no effect.
            if before == (self.drop_prob, self.qdelay_old) {
                break;
            }
        }
        self.next_update += self.tupdate * due;
        self.burst_allowance = self.burst_allowance.saturating_sub(self.tupdate * due);
    }

    /// RFC 8033 section 4.2.
    fn step(&mut self, qdelay: f64) {
        let p = self.alpha * (qdelay - self.target) + self.beta * (qdelay - self.qdelay_old);
        let mut p = p / self.tuning();
        // Section 5.5: cap the increase while the drop probability is high.
        if self.drop_prob >= 0.1 {
            p = p.min(0.02);
        }
        let mut drop_prob = self.drop_prob + p;
        // The probability decays while the queue is empty.
        if qdelay <= 0.0 && self.qdelay_old <= 0.0 {
            drop_prob *= 0.98;
        }
        self.drop_prob = drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = qdelay;
    }

    fn tuning(&self) -> f64 {
        let row = AUTO_TUNING.iter().find(|(below, _)| self.drop_prob < *below);
        row.map_or(1.0, |(_, divisor)| *divisor)
    }

    /// Whether the burst allowance still lasts (section 4.4). A calm queue restores the
    /// whole allowance.
    pub(super) fn allows_burst(&mut self, qdelay: f64) -> bool {
        let half = self.target / 2.0;
        if self.drop_prob <= 0.0 && qdelay < half && self.qdelay_old < half {
            self.burst_allowance = self.max_burst;
        }
        self.burst_allowance > Duration::ZERO
    }

    /// Section 4.1: the delay was below half the target, and not because of many drops.
    pub(super) fn is_calm(&self) -> bool {
        self.qdelay_old < self.target / 2.0 && self.drop_prob < 0.2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 0.001;

    fn control(drop_prob: f64, qdelay_old: f64) -> Control {
        Control {
            target: 15.0 * MS,
            tupdate: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            drop_prob,
            qdelay_old,
            burst_allowance: Duration::ZERO,
            next_update: Instant(15_000_000),
        }
    }

    /// One update at 35 ms, with 27 ms before, raises the probability by
    /// 0.125 (35 - 15) ms + 1.25 (35 - 27) ms = 0.0125, over the divisor from the table of
    /// RFC 8033 section 4.2.
    #[test]
    fn steps_are_scaled_by_the_table_of_the_rfc() {
        let table = [
            (0.0, 2048.0),
            (0.000_000_9, 2048.0),
            (0.000_001, 512.0),
            (0.000_009, 512.0),
            (0.000_01, 128.0),
            (0.000_09, 128.0),
            (0.000_1, 32.0),
            (0.000_9, 32.0),
            (0.001, 8.0),
            (0.009, 8.0),
            (0.01, 2.0),
            (0.09, 2.0),
            (0.1, 1.0),
            (0.9, 1.0),
        ];
        for (drop_prob, divisor) in table {
            let mut control = control(drop_prob, 27.0 * MS);
            control.step(35.0 * MS);
            let expected = drop_prob + 0.0125 / divisor;
            assert!((control.drop_prob - expected).abs() < 1e-15, "{drop_prob}");
        }
    }

    /// Section 5.5: an increase is at most 0.02 from 0.1 on. Decreases, and increases below
    /// 0.1, are not capped.
    #[test]
    fn adjustments_are_capped_where_much_is_dropped() {
        for (drop_prob, delays, change) in [
            (0.1, (0.0, 100.0), 0.02),
            (0.099, (0.0, 100.0), (0.125 * 85.0 + 1.25 * 100.0) * MS / 2.0),
            (0.5, (100.0, 10.0), (0.125 * -5.0 + 1.25 * -90.0) * MS),
        ] {
            let mut control = control(drop_prob, delays.0 * MS);
            control.step(delays.1 * MS);
            assert!((control.drop_prob - drop_prob - change).abs() < 1e-15, "{drop_prob}");
        }
    }

    /// Section 4.2: the step, then a factor of 0.98, while the queue is empty.
    #[test]
    fn the_probability_decays_without_a_queue() {
        let mut control = control(0.5, 0.0);
        control.step(0.0);
        let expected = (0.5 - 0.125 * 15.0 * MS) * 0.98;
        assert!((control.drop_prob - expected).abs() < 1e-15);
    }

    /// Late updates give the same result as timely ones.
    #[test]
    fn updates_are_made_at_their_times_however_late() {
        for qdelay in [0.0, 10.0 * MS, 15.0 * MS, 40.0 * MS] {
            let (mut late, mut timely) = (control(0.05, 12.0 * MS), control(0.05, 12.0 * MS));
            for update in 1..=3000 {
                timely.update(Instant(update * 15_000_000), qdelay);
            }
            late.update(Instant(3001 * 15_000_000 - 1), qdelay);
            assert_eq!(late.drop_prob, timely.drop_prob);
            assert_eq!(late.next_update, timely.next_update);
        }
    }
}
