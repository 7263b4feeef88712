//! The application of a flow: it writes what the scenario's source decides, when it decides it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sojourn_scenario::source::{Action, SizedTransfer, Source, Transfers};
use sojourn_units::{Duration as Span, Instant};

use sojourn_udp::io::Clock;

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
    /// Payload of requests that the responding host has read, and its responses.
    requested: u64,
    answered: u64,
    /// Response times that the record does not have yet.
    responses: Vec<Span>,
    has_ended: bool,
}

impl Application {
    pub(crate) fn new(source: Box<dyn Source>) -> Application {
        Application {
            state: Mutex::new(State {
                source,
                requested: 0,
                answered: 0,
                responses: Vec::new(),
                has_ended: false,
            }),
            changed: Condvar::new(),
            received: AtomicU64::new(0),
            target: AtomicU64::new(u64::MAX),
        }
    }

    /// Waits until the source writes data, or a request if it has requests, and returns how many
    /// bytes; `None` after the end.
    pub(crate) fn next_write(&self, clock: Clock) -> Option<u64> {
        let mut state = self.lock();
        while !state.has_ended {
            let (now, at) = (clock.now(), state.source.next_at());
            if at > now {
                state = self.wait(state, now, at);
            } else {
                let (Action::Write(bytes)
                | Action::Request(bytes)
                | Action::Transfer(bytes)
                | Action::Frame { bytes, .. }) = self.act(&mut state, now);
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
            let response = state.source.on_delivered(clock.now());
            state.responses.extend(response);
        }
        self.set_target(&state);
        self.changed.notify_all();
    }

    /// The responding host has read `bytes` of requests. Returns the bytes of its responses.
    pub(crate) fn on_requested(&self, bytes: u64) -> u64 {
        let mut state = self.lock();
        state.requested += bytes;
        let mut due = 0;
        while state.source.request_target(state.answered).is_some_and(|at| state.requested >= at) {
            state.answered += 1;
            due += state.source.response();
        }
        due
    }

    /// Passes on the response times since the last call, unless another thread is adding one.
    pub(crate) fn take_responses(&self, take: &mut dyn FnMut(Span)) {
        if let Ok(mut state) = self.state.try_lock() {
            state.responses.drain(..).for_each(take);
        }
    }

    /// The flow ends: [`Application::next_write`] returns `None`.
    pub(crate) fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().has_ended
    }

    /// Payload delivered so far.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Transfers delivered so far; `None` while another thread changes them.
    pub(crate) fn transfers(&self) -> Option<Transfers> {
        self.state.try_lock().ok().map(|state| state.source.transfers())
    }

    /// Its transfers, if its source lists them. It waits: call it after the flow.
    pub(crate) fn sized_transfers(&self) -> Vec<SizedTransfer> {
        self.lock().source.sized_transfers()
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
