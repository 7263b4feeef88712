//! The state of a link during a run, for an observer in another thread.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sojourn_scenario::{Capacity, Flow, Scenario};
use sojourn_sim::{Off, Simulation};
use sojourn_units::{Duration, Instant};

use crate::port::Port;

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

    fn lock(&self) -> MutexGuard<'_, Vec<LinkState>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a link at regular times.
#[derive(Debug)]
pub(crate) struct Watch {
    link: usize,
    next_at: Instant,
    readings: Readings,
}

impl Watch {
    pub(crate) fn new(link: usize, readings: Readings) -> Watch {
        Watch { link, next_at: Instant::ZERO, readings }
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
        let Ok(mut readings) = self.readings.latest.try_lock() else { return };
        let mut state = read(self.link, now, simulation);
        if readings.len() >= self.readings.room
            && let Some(last) = readings.pop()
        {
            state.longest_wait = state.longest_wait.max(last.longest_wait);
        }
        readings.push(state);
        self.next_at = now + self.readings.interval;
    }
}

fn read(link: usize, at: Instant, simulation: &mut Simulation<Off, Port>) -> LinkState {
    let mut received_bytes = [0; WATCHED_FLOWS];
    for (flow, bytes) in received_bytes.iter_mut().enumerate().take(simulation.flows()) {
        *bytes = simulation.received_bytes(flow);
    }
    let link = simulation.read_link(link);
    LinkState {
        at,
        sent_bits: link.sent_bits,
        could_send_bits: link.could_send_bits,
        dropped: link.dropped,
        marked: link.marked,
        longest_wait: link.longest_wait,
        received_bytes,
    }
}

/// The first link with a limited rate on the paths of these flows, or on their ways back, or else their
/// first link, as its place in the scenario.
pub(crate) fn bottleneck_of(scenario: &Scenario, flows: &[Flow]) -> usize {
    let paths = || flows.iter().flat_map(|flow| &flow.path);
    let backs = flows.iter().flat_map(|flow| &flow.back);
    let is_limited = |link: &&usize| scenario.links[**link].rate != Capacity::Unlimited;
    // Each path has a link.
    paths().chain(backs).find(is_limited).or(paths().next()).copied().unwrap_or_default()
}

/// Name of the link that a run with [`Options::readings`](crate::Options) reads: the first one with
/// a limited rate on the flows' paths or their ways back, or their first link.
pub fn bottleneck(scenario: &Scenario) -> &str {
    &scenario.links[bottleneck_of(scenario, &scenario.flows)].name
}
