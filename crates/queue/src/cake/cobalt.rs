//! COBALT: CoDel and BLUE side by side, for one queue. CoDel signals flows that respond, and BLUE
//! drops packets of flows that do not.
//!
//! Unlike CoDel (RFC 8289), COBALT keeps `count` while the sojourn time is below target and
//! lowers it step by step.
//!
//! As in Linux, 1/sqrt(count) has 32 bits, and improves by one Newton step a signal from a count of
//! 16 on. It is zero in a queue that never signalled: its first signal does not wait for the
//! interval.
//! Deviation (Linux `cobalt_control`): an interval above 4.3 s does not wrap.

use sojourn_units::{Duration, Instant};

use crate::codel::linux::newton_step;
use crate::contract::Packet;
use crate::random::Random;

/// BLUE's increment of the drop probability (`p_inc` of `cake_set_rate`).
const INCREMENT: f64 = 1.0 / 256.0;
/// BLUE's decrement (`p_dec`).
const DECREMENT: f64 = 1.0 / 4096.0;
/// Counts below this have exact gaps (`REC_INV_SQRT_CACHE`).
const EXACT: u32 = 16;

/// The settings of one tin (`struct cobalt_params`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Gap before the first signal, and the gap that shrinks with `count`.
    pub(super) interval: Duration,
    /// Acceptable sojourn time, and the least time between changes of BLUE's probability.
    pub(super) target: Duration,
    /// Transmission time of a full packet.
    pub(super) mtu_time: Duration,
}

/// The state of one queue (`struct cobalt_vars`).
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    count: u32,
    /// 1/sqrt(count), in units of 2^-32.
    rec_inv_sqrt: u32,
    /// Time of the next signal; in rest, an activity timeout.
    drop_next: Instant,
    /// Last change of `p_drop`.
    blue_timer: Instant,
    /// BLUE's drop probability.
    p_drop: f64,
    dropping: bool,
}

impl State {
    /// The queue overflowed (`cobalt_queue_full`).
    pub(super) fn queue_full(&mut self, now: Instant, settings: &Settings) {
        if now.since(self.blue_timer) > settings.target {
            self.p_drop = (self.p_drop + INCREMENT).min(1.0);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The scheduler found the queue empty (`cobalt_queue_empty`).
    pub(super) fn queue_empty(&mut self, now: Instant, settings: &Settings) {
        if self.p_drop > 0.0 && now.since(self.blue_timer) > settings.target {
            self.p_drop = (self.p_drop - DECREMENT).max(0.0);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.is_due(now) {
            self.count_to(self.count - 1, settings);
        }
    }

    /// Whether the state has decayed to rest.
    pub(super) fn is_at_rest(&self, now: Instant) -> bool {
        self.p_drop == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// Judges a packet that leaves: marks it, or returns whether to drop it
    /// (`cobalt_should_drop`). `bulk_flows`: the flows whose packets may be dropped behind the
    /// bottleneck, or 0 before it.
    pub(super) fn should_drop<P: Packet>(
        &mut self,
        now: Instant,
        settings: &Settings,
        packet: &mut P,
        bulk_flows: u64,
        random: &mut Random,
    ) -> bool {
        let is_due = self.is_due(now);
        let mut is_past = now > self.drop_next;
        self.follow_target(now, settings, now.since(packet.enqueued_at()), bulk_flows);
        let mut drop = false;
        if is_due && self.dropping {
            drop = !packet.ecn().is_capable();
            if !drop {
                packet.mark_ce();
            }
            self.count_to(self.count.saturating_add(1), settings);
            is_past = now > self.drop_next;
        } else if is_due {
            while self.is_due(now) {
                self.count_to(self.count - 1, settings);
            }
            is_past = now > self.drop_next;
        }
        // BLUE drops ECN-capable packets too.
        drop |= self.p_drop > 0.0 && random.rolls(self.p_drop);
        if self.count == 0 {
            self.drop_next = now + settings.interval;
        } else if is_past && !drop {
            self.drop_next = now;
        }
        drop
    }

    /// Enters or leaves the dropping state.
    fn follow_target(
        &mut self,
        now: Instant,
        settings: &Settings,
        sojourn: Duration,
        bulk_flows: u64,
    ) {
        let is_over = sojourn > settings.target
            && sojourn > settings.mtu_time * (bulk_flows * 2)
            && sojourn > settings.mtu_time * 4;
        if is_over && !self.dropping {
            self.schedule(now, settings);
        }
        if is_over {
            self.count = self.count.max(1);
        }
        self.dropping = is_over;
    }

    fn is_due(&self, now: Instant) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Changes `count`, and schedules the next signal after the last one.
    fn count_to(&mut self, count: u32, settings: &Settings) {
        self.count = count;
        if count < EXACT {
            let inverse = 4_294_967_296.0 / libm::sqrt(f64::from(count.max(1)));
            self.rec_inv_sqrt = (inverse as u64).min(u64::from(u32::MAX)) as u32;
        } else {
            self.rec_inv_sqrt = newton_step(self.rec_inv_sqrt, count);
        }
        self.schedule(self.drop_next, settings);
    }

    /// CoDel's control law from `since` (`cobalt_control`).
    fn schedule(&mut self, since: Instant, settings: &Settings) {
        let gap = u128::from(settings.interval.0) * u128::from(self.rec_inv_sqrt);
        self.drop_next = since + Duration((gap >> 32) as u64);
    }
}
