//! The PI controller of the base probability p' (`dualpi2_update` of RFC 9332
//! appendix A).

use sojourn_units::params::Params;
use sojourn_units::{Duration, Instant};

/// Maximum number of missed updates to catch up on: 25 minutes without packets, at 15 ms
/// per update. The controller skips any more of them, except the last.
pub(crate) const MOST_UPDATES: u64 = 100_000;

/// The rule by which an update computes p' from the queueing delay.
pub trait Law: Send {
    /// Reads the queue's parameters.
    fn new(params: &Params) -> Self;
    /// p', from 0 to 1.
    fn p(&self) -> f64;
    /// Performs an update.
    fn step(&mut self, delay: Duration);
    /// Whether further updates leave p' unchanged until the next enqueue or dequeue. This
    /// holds for an empty queue with p' at its minimum. It also holds with p' at its maximum and a
    /// sojourn time, which grows, that is above target.
    fn is_settled(&self, delay: Option<Duration>) -> bool;
}

/// The RFC's law, in real numbers.
pub struct Real {
    target: f64,
    /// In Hz, as `beta`.
    alpha: f64,
    beta: f64,
    /// Maximum of `p`.
    most: f64,
    /// p'.
    p: f64,
    /// The queueing delay at the last update, in seconds.
    prevq: f64,
}

impl Law for Real {
    fn new(params: &Params) -> Real {
        // Without overload drops, the L queue's marking probability ends at 1 and the C
        // queue's at 1/k^2, so that they stay coupled (Linux's calculate_probability).
        let k = params.number("k");
        let most = if params.switch("drop_on_overload") { 1.0 } else { 1.0 / k };
        Real {
            target: params.time("target").as_secs_f64(),
            alpha: params.number("alpha"),
            beta: params.number("beta"),
            most,
            p: 0.0,
            prevq: 0.0,
        }
    }

    #[inline]
    fn p(&self) -> f64 {
        self.p
    }

    fn step(&mut self, delay: Duration) {
        let curq = delay.as_secs_f64();
        let p = self.p + self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        self.p = p.clamp(0.0, self.most);
        self.prevq = curq;
    }

    fn is_settled(&self, delay: Option<Duration>) -> bool {
        match delay.map(|delay| delay.as_secs_f64()) {
            None => (self.p <= 0.0 || self.target <= 0.0) && self.prevq <= 0.0,
            Some(curq) => self.p >= self.most && curq >= self.target && curq >= self.prevq,
        }
    }
}

/// The base probability, and the times of its updates.
///
/// Deviation (RFC 9332 appendix A.1): updates are at multiples of `tupdate` from the beginning of
/// the run, also of an empty queue. The next enqueue or dequeue catches up on missed updates, without
/// a timer. The result is the same (for up to 100,000 of them, 25 minutes), because the head
/// packet alone determines the delay between two events.
pub(crate) struct Pi<L> {
    law: L,
    tupdate: Duration,
    next_update: Instant,
}

impl<L: Law> Pi<L> {
    pub(crate) fn new(params: &Params) -> Pi<L> {
        let tupdate = params.time("tupdate");
        Pi { law: L::new(params), tupdate, next_update: Instant::ZERO + tupdate }
    }

    /// p'.
    #[inline]
    pub(crate) fn p(&self) -> f64 {
        self.law.p()
    }

    #[inline]
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next_update <= now
    }

    /// Performs all updates due by `now`; the head packet arrived at `oldest`.
    pub(crate) fn update(&mut self, now: Instant, oldest: Option<Instant>) {
        for made in 1..=MOST_UPDATES {
            if !self.is_due(now) {
                return;
            }
            if self.law.is_settled(self.delay(oldest)) || made == MOST_UPDATES {
                self.skip_to_last(now);
            }
            self.law.step(self.delay(oldest).unwrap_or(Duration::ZERO));
            self.next_update += self.tupdate;
            if self.next_update == Instant::MAX {
                return;
            }
        }
    }

    /// The delay of the head packet at the next update.
    fn delay(&self, oldest: Option<Instant>) -> Option<Duration> {
        oldest.map(|oldest| self.next_update.since(oldest))
    }

    /// Skips all updates due by `now` except the last.
    fn skip_to_last(&mut self, now: Instant) {
        let steps = now.since(self.next_update).0 / self.tupdate.0;
        self.next_update += self.tupdate * steps;
    }
}
