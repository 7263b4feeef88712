//! The state of a flow, shared by its threads and the record.

use std::sync::{Arc, Mutex, PoisonError};

use sojourn_scenario::source::SizedTransfer;
use sojourn_sim::{Remote, RemoteState};
use sojourn_units::Duration;

use crate::endpoints::application::Application;

/// The state of the two ends, shared by their threads and the bottleneck.
#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<RemoteState>,
    rtts: Mutex<Vec<Duration>>,
    /// The application, unless its source does not wait for deliveries.
    application: Option<Application>,
}

impl Shared {
    /// The state of a flow with this application.
    pub(crate) fn of(application: Application) -> Shared {
        Shared { application: Some(application), ..Shared::default() }
    }

    /// Its application, of a flow that [`Shared::of`] made.
    pub(crate) fn application(&self) -> &Application {
        self.application.as_ref().expect("the flow has an application here")
    }

    /// The sender has measured a round-trip time.
    pub(crate) fn on_rtt(&self, rtt: Duration) {
        if let Ok(mut rtts) = self.rtts.lock() {
            rtts.push(rtt);
        }
    }

    /// Changes the state of the two ends.
    pub(crate) fn update(&self, change: impl FnOnce(&mut RemoteState)) {
        if let Ok(mut state) = self.state.lock() {
            change(&mut state);
        }
    }
}

/// The view of the record. It never waits, since its caller is the bottleneck.
pub(crate) struct View {
    shared: Arc<Shared>,
    /// Last state, for the moment at which a thread writes the next.
    last: Mutex<RemoteState>,
}

impl View {
    pub(crate) fn new(shared: &Arc<Shared>) -> View {
        View { shared: Arc::clone(shared), last: Mutex::default() }
    }
}

impl Remote for View {
    fn state(&self) -> RemoteState {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let transfers = last.transfers;
        if let Ok(state) = self.shared.state.try_lock() {
            *last = *state;
        }
        if let Some(application) = &self.shared.application {
            // A gap keeps the application from data that its sender may know to be delivered.
            last.received_bytes = last.received_bytes.max(application.received());
            last.transfers = application.transfers().unwrap_or(transfers);
        }
        *last
    }

    fn take_responses(&self, take: &mut dyn FnMut(Duration)) {
        if let Some(application) = &self.shared.application {
            application.take_responses(take);
        }
    }

    fn sized_transfers(&self) -> Vec<SizedTransfer> {
        self.shared.application.as_ref().map(Application::sized_transfers).unwrap_or_default()
    }

    fn take_rtts(&self, take: &mut dyn FnMut(Duration)) {
        if let Ok(mut rtts) = self.shared.rtts.try_lock() {
            rtts.drain(..).for_each(take);
        }
    }
}
