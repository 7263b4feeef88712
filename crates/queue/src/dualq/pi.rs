//! The PI controller of the base probability p' (`dualpi2_update` of RFC 9332
//! appendix A).

use sojourn_units::params::Params;
use sojourn_units::{Duration, Instant};

/// Most updates that are made up for at once: 25 minutes without any packet, at
/// 15 ms from one to the next. Those beyond are left out, but for the last.
pub(crate) const MOST_UPDATES: u64 = 100_000;

/// The base probability, updated at every multiple of `tupdate`. There is no
/// timer: what comes or goes brings it up to date first, which is the same
/// since delays between two events follow from who waits.
pub(crate) struct Pi {
    target: f64,
    tupdate: Duration,
    /// In Hz, as `beta`.
    alpha: f64,
    beta: f64,
    /// Most that `p` may be.
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
        // Where nothing is to be dropped for overload, the L queue's marking
        // ends at 1 and the C queue's at 1/k^2, so that they stay coupled
        // (Linux's calculate_probability).
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

    /// All updates that were due by `now`, while the packet that came at
    /// `oldest` has been the first to wait.
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

    /// Whether no update changes p' until something comes or goes: without a queue
    /// at the bottom, or where that is the target; or at the top with a queue that is
    /// beyond target and grows older.
    fn is_settled(&self, oldest: Option<Instant>) -> bool {
        match oldest {
            None => (self.p <= 0.0 || self.target <= 0.0) && self.prevq <= 0.0,
            Some(_) => {
                let curq = self.delay(oldest);
                self.p >= self.most && curq >= self.target && curq >= self.prevq
            }
        }
    }

    /// Leaves out all updates by `now` but the last.
    fn skip_to_last(&mut self, now: Instant) {
        let steps = now.since(self.next_update).0 / self.tupdate.0;
        self.next_update += self.tupdate * steps;
    }
}
