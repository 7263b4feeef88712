//! The application of a flow: it writes what the scenario's source decides, when it decides it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sojourn_source::{Action, Source, Transfers};
use sojourn_units::Instant;

use crate::clock::Clock;

/// The application at both ends of a flow.
#[derive(Debug)]
pub(crate) struct Application {
    state: Mutex<State>,
    /// Signalled when the source may act earlier than it was to.
    changed: Condvar,
    /// Payload that the receiver has read.
    received: AtomicU64,
    /// Payload whose delivery the source waits for; the maximum if it does not wait.
    target: AtomicU64,
}

#[derive(Debug)]
struct State {
    source: Box<dyn Source>,
    has_ended: bool,
}

impl Application {
    pub(crate) fn new(source: Box<dyn Source>) -> Application {
        Application {
            state: Mutex::new(State { source, has_ended: false }),
            changed: Condvar::new(),
            received: AtomicU64::new(0),
            target: AtomicU64::new(u64::MAX),
        }
    }

    /// Waits until the source writes, and returns how many bytes; `None` after the end.
    pub(crate) fn next_write(&self, clock: Clock) -> Option<u64> {
        let mut state = self.lock();
        while !state.has_ended {
            let (now, at) = (clock.now(), state.source.next_at());
            if at > now {
                state = self.wait(state, now, at);
            } else if let Action::Write(bytes) = self.act(&mut state, now) {
                return Some(bytes);
            }
        }
        None
    }

    /// The receiver has read `bytes` more.
    pub(crate) fn on_received(&self, bytes: u64, clock: Clock) {
        let total = self.received.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if total < self.target.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.lock();
        while state.source.target().is_some_and(|target| total >= target) {
            state.source.on_delivered(clock.now());
        }
        self.set_target(&state);
        self.changed.notify_all();
    }

    /// The flow ends: [`Application::next_write`] returns `None`.
    pub(crate) fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    /// Payload delivered so far.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Transfers delivered so far; `None` while another thread changes them.
    pub(crate) fn transfers(&self) -> Option<Transfers> {
        self.state.try_lock().ok().map(|state| state.source.transfers())
    }

    fn act(&self, state: &mut State, now: Instant) -> Action {
        let action = state.source.act(now);
        self.set_target(state);
        action
    }

    fn set_target(&self, state: &State) {
        self.target.store(state.source.target().unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        now: Instant,
        until: Instant,
    ) -> MutexGuard<'a, State> {
        let span = Duration::from_nanos(until.since(now).0);
        let waited = self.changed.wait_timeout(state, span);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
