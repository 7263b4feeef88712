//! The state of Linux's PIE (`pie_vars`), in its units: probabilities of 56 bits, and ticks
//! of 64 ns.

use sojourn_units::params::Params;
use sojourn_units::{Bytes, Instant};

use crate::dualq::pi::MOST_UPDATES;

/// A probability of one.
pub(super) const MAX_PROB: u64 = u64::MAX >> 8;

/// `PSCHED_SHIFT`: log2 of the nanoseconds in a tick.
const TICK: u32 = 6;
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> TICK;

/// Allowed duration of a burst, in ticks (`pie_vars_init`).
const MAX_BURST: u64 = 150_000_000 >> TICK;

/// Delay in ticks above which the probability rises faster.
const HIGH_DELAY: u64 = 250_000_000 >> TICK;

/// Bytes of one measurement of the dequeue rate (`QUEUE_THRESHOLD`), and the fractional bits of
/// the rate (`PIE_SCALE`).
const QUEUE_THRESHOLD: u64 = 16_384;
const SCALE: u32 = 8;

fn ticks(time: Instant) -> u64 {
    time.0 >> TICK
}

/// The control loop.
pub(super) struct Control {
    target: u64,
    alpha: u64,
    beta: u64,
    /// Whether the delay is computed from the dequeue rate.
    estimates: bool,
    vars: Vars,
    pub(super) prob: u64,
    /// Sum of the probabilities since the last drop.
    pub(super) accu_prob: u64,
}

/// Delays and times in ticks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Vars {
    qdelay: u64,
    qdelay_old: u64,
    burst_time: u64,
    dq_tstamp: Option<u64>,
    /// Bytes dequeued in the current measurement.
    dq_count: Option<u64>,
    /// Bytes a tick, with [`SCALE`] fractional bits.
    avg_dq_rate: u64,
}

/// A gain in Hz, as the kernel scales it from sixteenths.
fn gain(hz: f64) -> u64 {
    let sixteenths = (hz * 16.0).round() as u64;
    (sixteenths * (MAX_PROB / TICKS_PER_SECOND)) >> 4
}

impl Control {
    pub(super) fn new(params: &Params) -> Control {
        let vars = Vars {
            qdelay: 0,
            qdelay_old: 0,
            burst_time: MAX_BURST,
            dq_tstamp: None,
            dq_count: None,
            avg_dq_rate: 0,
        };
        Control {
            target: params.time("target").0 >> TICK,
            alpha: gain(params.number("alpha")),
            beta: gain(params.number("beta")),
            estimates: params.switch("dq_rate_estimator"),
            vars,
            prob: 0,
            accu_prob: 0,
        }
    }

    pub(super) fn is_in_burst(&self) -> bool {
        self.vars.burst_time > 0
    }

    /// Whether the latest delay is below half the target, at a low probability.
    pub(super) fn is_calm(&self) -> bool {
        self.vars.qdelay < self.target / 2 && self.prob < MAX_PROB / 5
    }

    /// The last packet was dropped, not dequeued.
    pub(super) fn on_emptied(&mut self) {
        if !self.estimates {
            self.vars.qdelay = 0;
        }
    }

    /// `pie_process_dequeue`, of a packet of `size` that left `backlog` behind.
    pub(super) fn on_dequeued(
        &mut self,
        now: Instant,
        since: Instant,
        size: Bytes,
        backlog: Bytes,
    ) {
        let now = ticks(now);
        let span = if self.estimates {
            self.measure(now, size, backlog).unwrap_or(0)
        } else {
            let last = self.vars.dq_tstamp.replace(now);
            self.vars.qdelay =
                if backlog == Bytes::ZERO { 0 } else { now.saturating_sub(ticks(since)) };
            last.map_or(0, |last| now.saturating_sub(last))
        };
        self.vars.burst_time = self.vars.burst_time.saturating_sub(span);
    }

    /// Measures the dequeue rate. Returns the duration of a measurement that this packet ends.
    fn measure(&mut self, now: u64, size: Bytes, backlog: Bytes) -> Option<u64> {
        let vars = &mut self.vars;
        if backlog.0 >= QUEUE_THRESHOLD && vars.dq_count.is_none() {
            (vars.dq_tstamp, vars.dq_count) = (Some(now), Some(0));
        }
        let count = vars.dq_count? + size.0;
        vars.dq_count = Some(count);
        let span = now.saturating_sub(vars.dq_tstamp?);
        if count < QUEUE_THRESHOLD || span == 0 {
            return None;
        }
        let rate = (count << SCALE) / span;
        vars.avg_dq_rate = match vars.avg_dq_rate {
            0 => rate,
            average => average - (average >> 3) + (rate >> 3),
        };
        if backlog.0 < QUEUE_THRESHOLD {
            vars.dq_count = None;
        } else {
            (vars.dq_tstamp, vars.dq_count) = (Some(now), Some(0));
        }
        Some(span)
    }

    /// Performs this many updates.
    pub(super) fn update(&mut self, due: u64, backlog: Bytes) {
        for _ in 0..due.min(MOST_UPDATES) {
            let before = (self.prob, self.accu_prob, self.vars);
            self.step(backlog);
            // Further updates have no effect.
            if before == (self.prob, self.accu_prob, self.vars) {
                break;
            }
        }
    }

    /// `pie_calculate_probability`.
    fn step(&mut self, backlog: Bytes) {
        let (qdelay, qdelay_old) = self.delays(backlog);
        // A delay of zero with a backlog means a backlog too short to compute one.
        let mut decays = qdelay > 0 || backlog == Bytes::ZERO;
        let delta = self.delta(qdelay, qdelay_old);
        let old = self.prob;
        self.prob = old.wrapping_add_signed(delta);
        if delta > 0 && self.prob < old {
            (self.prob, decays) = (MAX_PROB, false);
        } else if delta <= 0 && self.prob > old {
            self.prob = 0;
        }
        if qdelay == 0 && qdelay_old == 0 && decays {
            self.prob -= self.prob / 64;
        }
        self.vars.qdelay = qdelay;
        self.restart_if_calm();
        if !self.estimates {
            self.vars.qdelay_old = qdelay;
        }
    }

    /// The delay now and at the last update.
    fn delays(&mut self, backlog: Bytes) -> (u64, u64) {
        if !self.estimates {
            return (self.vars.qdelay, self.vars.qdelay_old);
        }
        self.vars.qdelay_old = self.vars.qdelay;
        let delay = (backlog.0 << SCALE).checked_div(self.vars.avg_dq_rate);
        (delay.unwrap_or(0), self.vars.qdelay_old)
    }

    /// The change of the probability.
    fn delta(&self, qdelay: u64, qdelay_old: u64) -> i64 {
        let shift = self.gain_shift();
        let (alpha, beta) = (self.alpha >> shift, self.beta >> shift);
        let integral = alpha.wrapping_mul(qdelay.wrapping_sub(self.target));
        let proportional = beta.wrapping_mul(qdelay.wrapping_sub(qdelay_old));
        let mut delta = integral.wrapping_add(proportional) as i64;
        let two_percent = (MAX_PROB / 50) as i64;
        if delta > two_percent && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if qdelay > HIGH_DELAY {
            delta = delta.wrapping_add(two_percent);
        }
        delta
    }

    /// Gains are halved below a probability of 1/10, and divided by four at each power of ten
    /// below it, from 1/100 on.
    fn gain_shift(&self) -> u32 {
        if self.prob >= MAX_PROB / 10 {
            return 0;
        }
        let powers = [100, 1000, 10_000, 100_000, 1_000_000];
        1 + 2 * powers.iter().filter(|power| self.prob < MAX_PROB / *power).count() as u32
    }

    /// `pie_vars_init`, after two updates with a low delay and without drops.
    fn restart_if_calm(&mut self) {
        let (vars, half) = (&mut self.vars, self.target / 2);
        let is_low = vars.qdelay < half && vars.qdelay_old < half && self.prob == 0;
        if is_low && (!self.estimates || vars.avg_dq_rate > 0) {
            self.accu_prob = 0;
            vars.burst_time = MAX_BURST;
            (vars.dq_tstamp, vars.dq_count, vars.avg_dq_rate) = (None, None, 0);
        }
    }
}
