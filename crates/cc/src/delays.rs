//! The delay filters of RFC 6817, for LEDBAT's one-way delays and LEDBAT++'s round-trip times, in
//! nanoseconds. A one-way delay is negative if the receiver's clock is behind.

use std::collections::VecDeque;

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Duration, Instant};

use crate::contract::Setup;

/// RFC 6817 section 2.4.2: the base delay's history has one entry per minute.
const HISTORY_STEP: Duration = Duration::from_secs(60);

keys! {
    /// number of minutes whose minimum is the round-trip time without a queue
    pub(crate) const BASE_HISTORY = base_history: Kind::Integer(10, 1, 1_000),
        "RFC 6817 section 2.5, BASE_HISTORY";
}

/// The filters of the current and of the base delay.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    /// The newest samples (`CURRENT_FILTER`) and their times.
    current: VecDeque<(Instant, i128)>,
    current_filter: usize,
    /// The minimum of each minute (`BASE_HISTORY`), the newest last.
    base: VecDeque<i128>,
    base_history: usize,
    minute: Instant,
}

impl Delays {
    /// Filters with the controller's parameters `current_filter` and `base_history`.
    pub(crate) fn new(setup: &Setup) -> Delays {
        Delays {
            current: VecDeque::new(),
            current_filter: setup.params.integer("current_filter") as usize,
            base: VecDeque::new(),
            base_history: setup.params.integer("base_history") as usize,
            minute: Instant::ZERO,
        }
    }

    /// RFC 6817 section 2.4.2: samples of the current delay must not be older than a round trip.
    pub(crate) fn forget_older(&mut self, now: Instant, rtt: Duration) {
        while self.current.front().is_some_and(|(at, _)| now.since(*at) > rtt) {
            self.current.pop_front();
        }
    }

    /// RFC 6817 section 2.4.2: `update_base_delay`, `update_current_delay`.
    ///
    /// Deviation (RFC 6817 section 2.4.2): a minute of the base delay's history begins with its
    /// first sample, and not with the clock's minute.
    pub(crate) fn sample(&mut self, now: Instant, delay: i128) {
        if self.current.len() == self.current_filter {
            self.current.pop_front();
        }
        self.current.push_back((now, delay));
        match self.base.back_mut() {
            Some(least) if now.since(self.minute) < HISTORY_STEP => *least = (*least).min(delay),
            _ => {
                self.minute = now;
                self.base.push_back(delay);
            }
        }
        if self.base.len() > self.base_history {
            self.base.pop_front();
        }
    }

    /// The base delay, if there is a sample.
    pub(crate) fn base(&self) -> Option<i128> {
        self.base.iter().min().copied()
    }

    /// The queueing delay, if there is a sample that is not too old.
    pub(crate) fn queueing(&self) -> Option<Duration> {
        let current = self.current.iter().map(|(_, delay)| *delay).min()?;
        // A current sample may be older than the history of the base.
        Some(Duration((current - self.base()?).max(0) as u64))
    }
}
