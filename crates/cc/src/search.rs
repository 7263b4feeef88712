//! SEARCH (slow start exit at the right chokepoint): ends slow start when deliveries stop doubling
//! (draft-chung-ccwg-search; Linux "tcp_cubic: add SEARCH", as published for review).
//!
//! Deviation (draft-chung-ccwg-search, later versions): this is version 3.1 of the authors'
//! repository (maryam-ataei/TCP_SS_SEARCH_ALG), which compares deliveries with those of a round
//! trip ago. Later versions compare them with the bytes sent a round trip earlier, with a threshold
//! of 0.26.
//!
//! In slow start, each round trip delivers twice as much as the one before, until the path is full.
//! SEARCH compares the bytes delivered in a window of 3.5 initial round trips with those of the
//! window one round trip earlier. Since it needs no bound of delay, jitter does not end slow start
//! early.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{Feedback, Setup};
use crate::window::Window;

/// Bins of a window (`W`).
const BINS: u64 = 10;
/// Bins beyond a window, for a look back by the round-trip time (`EXTRA_BINS`).
const EXTRA: u64 = 15;
const TOTAL: usize = (BINS + EXTRA) as usize;
/// Bins without an acknowledgement after which SEARCH starts again (`MISSED_BINS_THRESHOLD`).
const MISSED: u64 = 2;
/// Length of the window in tenths of the initial round-trip time (`WINDOW_SIZE_FACTOR`, 3.5).
const WINDOW_TENTHS: u64 = 35;

keys! {
    /// share of twice the earlier deliveries whose lack ends SEARCH's slow start
    pub(crate) const THRESH = search_thresh: Kind::Number(0.35, 0.01, 0.99),
        "draft-chung-ccwg-search, THRESH";
    /// at the end of SEARCH's slow start, take the deliveries of the last two initial round trips
    /// off the window, which then overshot the path
    pub(crate) const ROLLBACK = search_rollback: Kind::Switch(false),
        "draft-chung-ccwg-search; Linux cwnd_rollback";
}

/// The state of the first slow start, or of one after a timeout.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    thresh: f64,
    rollback: bool,
    /// Bytes acknowledged so far.
    acked: u64,
    initial: Bytes,
    bins: Option<Bins>,
}

/// Bytes acknowledged by the end of each bin, the newest at `index`.
///
/// Deviation (SEARCH's Linux patch): bins count bytes in 64 bits; the patch scales them to 16 bits.
#[derive(Clone, Debug)]
struct Bins {
    initial_rtt: Duration,
    duration: u64,
    end: Instant,
    index: u64,
    acked: [u64; TOTAL],
}

impl Search {
    pub(crate) fn new(setup: &Setup) -> Search {
        Search {
            thresh: setup.params.number(THRESH.name),
            rollback: setup.params.switch(ROLLBACK.name),
            acked: 0,
            initial: setup.initial_window,
            bins: None,
        }
    }

    /// Starts again.
    pub(crate) fn restart(&mut self) {
        (self.acked, self.bins) = (0, None);
    }

    /// Processes one feedback of slow start; at its end, sets `ssthresh` to the window.
    pub(crate) fn observe(&mut self, now: Instant, feedback: &Feedback<'_>, window: &mut Window) {
        self.acked += feedback.acked.0;
        let Some(rtt) = feedback.rtt.filter(|rtt| *rtt > Duration::ZERO) else { return };
        let Some(bins) = &mut self.bins else {
            self.bins = Some(Bins::new(now, rtt, self.acked));
            return;
        };
        if now <= bins.end {
            return;
        }
        if !bins.advance(now, self.acked) {
            self.bins = Some(Bins::new(now, rtt, self.acked));
            return;
        }
        if bins.shortfall(rtt).is_some_and(|lack| lack >= self.thresh) {
            if self.rollback {
                let overshoot = Bytes(bins.overshoot());
                window.cwnd = window.cwnd.saturating_sub(overshoot).max(self.initial);
            }
            window.ssthresh = window.cwnd;
        }
    }
}

impl Bins {
    fn new(now: Instant, rtt: Duration, acked: u64) -> Bins {
        let duration = (rtt.0 / (10 * BINS) * WINDOW_TENTHS).max(1);
        let (initial_rtt, end) = (rtt, now + Duration(duration));
        Bins { initial_rtt, duration, end, index: 0, acked: [acked; TOTAL] }
    }

    /// Closes the bins that have ended. Returns false if too many have.
    fn advance(&mut self, now: Instant, acked: u64) -> bool {
        let passed = now.since(self.end).0 / self.duration + 1;
        if passed > MISSED {
            return false;
        }
        let before = self.at(self.index);
        for _ in 0..passed {
            self.index += 1;
            self.acked[self.index as usize % TOTAL] = before;
        }
        self.acked[self.index as usize % TOTAL] = acked;
        self.end += Duration(self.duration * passed);
        true
    }

    fn at(&self, index: u64) -> u64 {
        self.acked[index as usize % TOTAL]
    }

    /// Bytes delivered by the time `back` bins before the newest bin, whose parts count in proportion.
    fn delivered(&self, back: f64) -> f64 {
        let whole = back as u64;
        let (newer, older) = (self.at(self.index - whole), self.at(self.index - whole - 1));
        newer as f64 - (newer - older) as f64 * (back - whole as f64)
    }

    /// Bytes delivered in the window that ends `back` bins before the newest bin.
    fn window(&self, back: f64) -> f64 {
        self.delivered(back) - self.delivered(back + BINS as f64)
    }

    /// The lack of the deliveries in the current window, as a share of twice those of the window a
    /// round trip earlier. `None` if the bins do not reach back so far.
    fn shortfall(&self, rtt: Duration) -> Option<f64> {
        let back = rtt.0 as f64 / self.duration as f64;
        let reaches = self.index as f64 >= back + BINS as f64 + 1.0;
        if !reaches || back >= (EXTRA - 1) as f64 {
            return None;
        }
        let (current, expected) = (self.window(0.0), 2.0 * self.window(back));
        (expected > 0.0).then(|| (expected - current) / expected)
    }

    /// Bytes delivered in the last two initial round trips, in which the window was too large.
    ///
    /// Deviation (SEARCH's Linux patch, `cwnd_rollback`): a part of a bin counts in proportion; the
    /// patch counts whole bins, 1.75 round trips.
    fn overshoot(&self) -> u64 {
        let back = 2.0 * self.initial_rtt.0 as f64 / self.duration as f64;
        (self.delivered(0.0) - self.delivered(back)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Bins;
    use sojourn_units::{Duration, Instant};

    const RTT: Duration = Duration::from_millis(100);
    /// Bytes delivered in the first round trip: so many that fractions of a byte have no effect.
    const FIRST: f64 = 1e9;

    /// The shortfall after deliveries that grow by `factor` in a round trip, sampled at each bin.
    fn shortfall(factor: f64) -> f64 {
        let delivered = |t: f64| (FIRST * (factor.powf(t) - 1.0) / (factor - 1.0)) as u64;
        let mut bins = Bins::new(Instant::ZERO, RTT, delivered(0.0));
        for bin in 1..=24_u32 {
            // Bins of 35 ms.
            let now = Instant::ZERO + Duration::from_millis(35 * u64::from(bin) + 1);
            assert!(bins.advance(now, delivered(0.35 * f64::from(bin))));
        }
        bins.shortfall(RTT).expect("the bins reach back")
    }

    /// Section 3: norm = (2 prev - curr) / (2 prev): 0 while deliveries double, 0.5 once they are constant,
    /// and THRESH = 0.35 for a growth of 1.3.
    #[test]
    fn the_shortfall_is_that_of_the_draft() {
        for (factor, expected) in [(2.0, 0.0), (1.5, 0.25), (1.3, 0.35), (1.000_001, 0.5)] {
            let found = shortfall(factor);
            // Deliveries between two bins count in proportion, which is not exact as they grow.
            assert!((found - expected).abs() < 0.01, "{factor}: {found}");
        }
    }

    /// More than two bins without an acknowledgement start SEARCH again.
    #[test]
    fn missed_bins_start_again() {
        let mut bins = Bins::new(Instant::ZERO, RTT, 0);
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        assert!(bins.advance(at(36), 1) && bins.advance(at(35 * 3 + 1), 2));
        assert!(!bins.advance(at(35 * 7), 3));
    }
}
