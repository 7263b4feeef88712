//! The readings of a link, for an observer in another thread.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sojourn_units::{Duration, Instant};

/// Number of flows whose payload a [`LinkState`] has: the first ones of the scenario.
pub const WATCHED_FLOWS: usize = 8;
/// Time between two readings for a live line.
const LINE: Duration = Duration::from_millis(100);
/// Least and greatest time between two readings for charts.
const LEAST: Duration = Duration::from_millis(10);
const GREATEST: Duration = Duration::from_millis(150);
/// Readings that charts keep until the observer takes them.
const ROOM: usize = 1024;

/// The state of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkState {
    /// Time of the reading.
    pub at: Instant,
    /// Bits sent since the start.
    pub sent_bits: f64,
    /// Bits that the link could have sent since the start; `None` without a rate.
    pub could_send_bits: Option<f64>,
    /// Packets dropped or lost since the start.
    pub dropped: u64,
    /// Packets marked since the start.
    pub marked: u64,
    /// Greatest queueing delay since the previous reading; `None` without a packet.
    pub longest_wait: Option<Duration>,
    /// Payload of the first flows delivered since the start, each byte once.
    pub received_bytes: [u64; WATCHED_FLOWS],
}

/// The readings of a link, shared by the bottleneck and an observer.
#[derive(Clone, Debug)]
pub struct Readings {
    latest: Arc<Mutex<Vec<LinkState>>>,
    interval: Duration,
    /// Readings that are kept. If there are more, the last one replaces them.
    room: usize,
}

impl Readings {
    /// Readings for charts of a run of this duration, or of its last minute: a few hundred.
    pub fn of_run(duration: Duration) -> Readings {
        Readings::new(Duration(duration.0 / 400).clamp(LEAST, GREATEST), ROOM)
    }

    /// The latest reading, for a live line.
    pub(crate) fn latest_only() -> Readings {
        Readings::new(LINE, 1)
    }

    fn new(interval: Duration, room: usize) -> Readings {
        Readings { latest: Arc::new(Mutex::new(Vec::with_capacity(room))), interval, room }
    }

    /// Takes the readings since the last call.
    pub fn take(&self) -> Vec<LinkState> {
        // Memory for the next ones, so that the bottleneck does not allocate.
        let empty = Vec::with_capacity(self.room);
        mem::replace(&mut *self.lock(), empty)
    }

    /// The latest reading. Its greatest queueing delay is that since the last call.
    pub(crate) fn latest(&self) -> LinkState {
        let mut readings = self.lock();
        let Some(last) = readings.last_mut() else { return LinkState::default() };
        let seen = *last;
        last.longest_wait = None;
        seen
    }

    /// Adds a reading, and returns the time until the next one; `None` while the observer takes them:
    /// a late reading is better than a bottleneck that waits for its observer.
    pub(crate) fn add(&self, read: impl FnOnce() -> LinkState) -> Option<Duration> {
        let mut readings = self.latest.try_lock().ok()?;
        let mut state = read();
        if readings.len() >= self.room
            && let Some(last) = readings.pop()
        {
            state.longest_wait = state.longest_wait.max(last.longest_wait);
        }
        readings.push(state);
        Some(self.interval)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<LinkState>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
