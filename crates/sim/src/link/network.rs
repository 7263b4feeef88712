//! The links and the events of a run, on which endpoints act.

use sojourn_units::Duration;

use super::Link;
use super::route::Routes;
use crate::events::{Clock, EventQueue};
use crate::meter::Metering;

/// The links of a run, the routes over them, the time, and the pending events.
pub(crate) struct Network<M> {
    pub(crate) clock: Clock,
    pub(crate) events: EventQueue,
    pub(crate) links: Vec<Link<M>>,
    pub(crate) routes: Routes,
}

impl<M: Metering> Network<M> {
    /// The wait of a packet that arrives now at a link.
    pub(crate) fn wait(&self, link: usize) -> Duration {
        self.links[link].wait(self.clock.now)
    }

    /// Processes the departures of a link up to now.
    pub(crate) fn catch_up(&mut self, link: usize) {
        self.links[link].catch_up(self.clock, &mut self.events);
    }
}
