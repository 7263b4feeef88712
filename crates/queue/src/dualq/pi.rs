//! The PI controller of the base probability p' (`dualpi2_update` of RFC 9332
//! appendix A).

use sojourn_params::Params;
use sojourn_units::{Duration, Instant};

/// Maximum number of missed updates to catch up on: 25 minutes without packets, at 15 ms
/// per update. The controller skips any more of them, except the last.
pub(crate) const MOST_UPDATES: u64 = 100_000;

/// The base probability.
///
/// Deviation (RFC 9332 appendix A.1): updates are at multiples of `tupdate` from the beginning of
/// the run, also of an empty queue. There is no timer: the next enqueue or dequeue catches up on
/// missed updates. The result is the same (for up to 100,000 of them, 25 minutes), because the head
/// packet alone determines the delay between two events.
pub(crate) struct Pi {
    target: f64,
    tupdate: Duration,
    /// In Hz, as `beta`.
    alpha: f64,
    beta: f64,
    /// Maximum of `p`.
    most: f64,
    /// p'.
    p: f64,
    /// The queueing delay at the last update, in seconds.
    prevq: f64,
    next_update: Instant,
}

impl Pi {
    pub(crate) fn new(params: &Params) -> Pi {
        let tupdate = params.time("tupdate");
        // Without overload drops, the L queue's marking probability ends at 1 and the C
        // queue's at 1/k^2, so that they stay coupled (Linux's calculate_probability).
        let k = params.number("k");
        let most = if params.switch("drop_on_overload") { 1.0 } else { 1.0 / k };
        Pi {
            target: params.time("target").as_secs_f64(),
            tupdate,
            alpha: params.number("alpha"),
            beta: params.number("beta"),
            most,
            p: 0.0,
            prevq: 0.0,
            next_update: Instant::ZERO + tupdate,
        }
    }

    /// p'.
    #[inline]
    pub(crate) fn p(&self) -> f64 {
        self.p
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
            if self.is_settled(oldest) || made == MOST_UPDATES {
                self.skip_to_last(now);
            }
            self.step(oldest);
            if self.next_update == Instant::MAX {
                return;
            }
        }
    }

    fn delay(&self, oldest: Option<Instant>) -> f64 {
        oldest.map_or(0.0, |oldest| self.next_update.since(oldest).as_secs_f64())
    }

    fn step(&mut self, oldest: Option<Instant>) {
        let curq = self.delay(oldest);
        let p = self.p + self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        self.p = p.clamp(0.0, self.most);
        self.prevq = curq;
        self.next_update += self.tupdate;
    }

    /// Whether further updates leave p' unchanged until the next enqueue or dequeue. This
    /// holds for an empty queue with p' at its minimum or a target of zero. It also holds
    /// with p' at its maximum and a sojourn time that is above target and growing.
    fn is_settled(&self, oldest: Option<Instant>) -> bool {
        match oldest {
            None => (self.p <= 0.0 || self.target <= 0.0) && self.prevq <= 0.0,
            Some(_) => {
                let curq = self.delay(oldest);
                self.p >= self.most && curq >= self.target && curq >= self.prevq
            }
        }
    }

    /// Skips all updates due by `now` except the last.
    fn skip_to_last(&mut self, now: Instant) {
        let steps = now.since(self.next_update).0 / self.tupdate.0;
        self.next_update += self.tupdate * steps;
    }
}
