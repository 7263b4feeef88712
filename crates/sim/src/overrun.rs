//! Senders that have more in flight than their way can hold.

use sojourn_units::{Bytes, Instant};

use crate::engine::Simulation;
use crate::meter::Metering;

/// A user's own controller let a sender have far more in flight than its way can hold: all
/// else was dropped, but the sender remembers each packet. The run ended there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// The flow.
    pub flow: String,
    /// Its controller.
    pub control: String,
    /// When.
    pub at: Instant,
    /// What was in flight.
    pub in_flight: Bytes,
    /// What may be: four times what the queues and wires of the flow's way hold, and its
    /// initial window.
    pub limit: Bytes,
}

impl std::fmt::Display for Overrun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Overrun { flow, control, at, in_flight, limit } = self;
        write!(
            f,
            "controller `{control}` had {} bytes of flow `{flow}` in flight at {} s of the \
             scenario; the limit is {}, four times what the queues and wires on its way hold; \
             limits() must ask for less, or flow.{flow}.transport.receive_window bound it",
            in_flight.0,
            at.as_secs_f64(),
            limit.0,
        )
    }
}

impl<M: Metering> Simulation<M> {
    /// Why the run ended before its time, if it did.
    pub fn overrun(&self) -> Option<&Overrun> {
        self.overrun.as_deref()
    }

    /// Ends the run where a connection has too much in flight. Whether it does.
    #[cold]
    pub(crate) fn has_overrun(&mut self, id: usize) -> bool {
        let connection = &mut self.connections[id];
        let in_flight = connection.sender.in_flight();
        if in_flight <= connection.most_in_flight {
            return false;
        }
        connection.sender.stop();
        let flow = &self.flows[connection.flow];
        self.overrun.get_or_insert_with(|| {
            Box::new(Overrun {
                flow: flow.name.clone(),
                control: flow.control.clone(),
                at: self.clock.now,
                in_flight,
                limit: connection.most_in_flight,
            })
        });
        self.events.stop();
        true
    }
}
