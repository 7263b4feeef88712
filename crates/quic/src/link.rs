//! The link between a connection's controller and the caller that polls its stack.

use std::sync::{Arc, Mutex};

use sojourn_transport::StackEvent;

use crate::ledger::Ledger;
use crate::lock::lock;
use crate::tally::Tally;

/// The ledger of a connection, shared by its adapter and the caller that polls it.
#[derive(Clone, Default)]
pub(crate) struct Link {
    pub(crate) tally: Arc<Tally>,
    ledger: Arc<Mutex<Option<Arc<Mutex<Ledger>>>>>,
}

impl Link {
    pub(crate) fn set(&self, ledger: Arc<Mutex<Ledger>>) {
        *lock(&self.ledger) = Some(ledger);
    }

    /// Keeps events from now on. Called before the connection begins, if at all.
    pub(crate) fn observe(&self) {
        self.tally.observe();
    }

    /// Counts retransmissions from now on. Called before the connection begins, if at all.
    pub(crate) fn count_retransmissions(&self) {
        self.tally.count_retransmissions();
    }

    /// Passes on the events since the last call, then the state of the sender if there were any.
    pub(crate) fn take_events(&self, take: &mut dyn FnMut(StackEvent)) {
        let events = self.tally.take_log();
        let is_changed = !events.is_empty();
        events.into_iter().for_each(&mut *take);
        if is_changed && let Some(ledger) = self.ledger() {
            take(StackEvent::State(lock(&ledger).vitals()));
        }
    }

    /// The ledger, once the connection exists.
    pub(crate) fn ledger(&self) -> Option<Arc<Mutex<Ledger>>> {
        lock(&self.ledger).clone()
    }
}
