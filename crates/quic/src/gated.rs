//! The gate of one connection, for a caller that polls the stack itself.

use std::sync::MutexGuard;

use sojourn_cc::Probe;
use sojourn_transport::{StackEvent, StackState};
use sojourn_units::{Duration, Instant};

use crate::kit::{Dialect, Kit};
use crate::ledger::Ledger;
use crate::link::Link;
use crate::lock::lock;

/// The gate and the state of one connection.
///
/// A caller that polls the stack itself paces by it exactly: [`Gated::open`] before each
/// `poll_transmit`, and the next poll at [`Gated::open_at`] or earlier. Before the connection
/// exists, the gate is open.
#[derive(Clone)]
pub struct Gated(Link);

impl std::fmt::Debug for Gated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gated").finish_non_exhaustive()
    }
}

impl<S: Dialect> Kit<S> {
    /// A kit for one connection, and its gate. Time begins at `epoch`.
    pub fn gated(&self, epoch: std::time::Instant) -> (Kit<S>, Gated) {
        let (kit, link) = self.linked(epoch);
        (kit, Gated(link))
    }
}

impl Gated {
    fn with<T>(&self, read: impl FnOnce(MutexGuard<'_, Ledger>) -> T) -> Option<T> {
        self.0.ledger().map(|ledger| read(lock(&ledger)))
    }

    /// Sets the time, before the stack is polled.
    pub fn open(&self, now: Instant) {
        self.with(|mut ledger| ledger.gate().open(now));
    }

    /// The time at which the gate opens for data that wait now; `None` if none wait for it.
    pub fn open_at(&self) -> Option<Instant> {
        self.with(|mut ledger| ledger.gate().open_at()).flatten()
    }

    /// Whether the stack had data since the last [`Gated::open`] that the window or the gate
    /// stopped.
    pub fn was_blocked(&self) -> bool {
        self.with(|mut ledger| ledger.gate().was_blocked()).unwrap_or_default()
    }

    /// The application has no data to send.
    pub fn on_app_limited(&self) {
        self.with(|mut ledger| ledger.on_app_limited());
    }

    /// Keeps the schedule if a packet leaves up to `span` late.
    pub fn catch_up(&self, span: Duration) {
        self.with(|mut ledger| ledger.gate().catch_up(span));
    }

    /// Counts the packets that repeat data from now on. Call it before the connection begins.
    pub fn count_retransmissions(&self) {
        self.0.count_retransmissions();
    }

    /// The state of the sending end. `closed` is always `None`: the connection's events report its
    /// end. `retransmitted` is 0 without [`Gated::count_retransmissions`].
    pub fn state(&self) -> StackState {
        self.with(|ledger| ledger.state()).unwrap_or_default()
    }

    /// [`Gated::state`] without `probe`: calls no function of the controller, which may be broken.
    pub fn state_without_probe(&self) -> StackState {
        self.with(|ledger| ledger.state_with(Probe::default())).unwrap_or_default()
    }

    /// Keeps events from now on, for [`Gated::take_events`]. Call it before the connection begins.
    pub fn observe(&self) {
        self.0.observe();
    }

    /// Passes on the events of this end since the last call, then its state if there were any.
    pub fn take_events(&self, take: &mut dyn FnMut(StackEvent)) {
        self.0.take_events(take);
    }

    /// Passes on the round-trip times measured since the last call.
    pub fn take_rtts(&self, take: &mut dyn FnMut(Duration)) {
        self.with(|mut ledger| ledger.take_rtts(take));
    }
}
