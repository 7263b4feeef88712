//! The state of a link during a run, for an observer in another thread.

use std::sync::{Arc, Mutex, PoisonError};

use sojourn_sim::{Off, Simulation};
use sojourn_units::{Duration, Instant};

use crate::port::Port;

/// Time between two readings.
const INTERVAL: Duration = Duration::from_millis(100);

/// The state of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    /// Time of the reading.
    pub at: Instant,
    /// Bits sent since the start.
    pub sent_bits: u64,
    /// Packets dropped or lost since the start.
    pub dropped: u64,
    /// Packets marked since the start.
    pub marked: u64,
    /// Greatest queueing delay since the observer's last look; `None` without a packet.
    pub longest_wait: Option<Duration>,
}

/// The latest state, shared with the observer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown(Arc<Mutex<LinkState>>);

impl Shown {
    /// The latest state. The greatest queueing delay starts anew.
    pub(crate) fn look(&self) -> LinkState {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = *state;
        state.longest_wait = None;
        seen
    }
}

/// Reads a link at regular times.
#[derive(Debug)]
pub(crate) struct Watch {
    link: usize,
    next_at: Instant,
    shown: Shown,
}

impl Watch {
    pub(crate) fn new(link: usize, shown: Shown) -> Watch {
        Watch { link, next_at: Instant::ZERO, shown }
    }

    /// Time of the next reading.
    pub(crate) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Shows the state of the link if it is time.
    pub(crate) fn show(&mut self, now: Instant, simulation: &mut Simulation<Off, Port>) {
        if now < self.next_at {
            return;
        }
        // A late reading is better than a bottleneck that waits for its observer.
        let Ok(mut state) = self.shown.0.try_lock() else { return };
        let link = simulation.read_link(self.link);
        *state = LinkState {
            at: now,
            sent_bits: link.sent_bits,
            dropped: link.dropped,
            marked: link.marked,
            longest_wait: state.longest_wait.max(link.longest_wait),
        };
        self.next_at = now + INTERVAL;
    }
}
