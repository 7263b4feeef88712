//! User-defined controllers that have more packets in flight than the path's capacity.

use sojourn_units::Instant;

use crate::endpoint::Endpoints;
use crate::meter::Metering;
use crate::tap::Tap;

/// The host looks at a flow once in so many packets.
pub(crate) const CHECK_EVERY: u64 = 64;

/// The end of a run whose user-defined controllers had far more packets in flight than the links
/// of their paths can carry and queue. The links dropped the rest, but the senders keep state of
/// each packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// The flow with the most packets in flight.
    pub flow: String,
    /// Its controller.
    pub control: String,
    /// Time at which the run ended.
    pub at: Instant,
    /// Its packets in flight.
    pub of_flow: u64,
    /// Packets in flight of all flows with user-defined controllers.
    pub in_flight: u64,
    /// Limit of `in_flight`: four times the packets that fit into the queues and wires of their
    /// paths, at least 100,000, plus their initial windows.
    pub limit: u64,
}

impl std::fmt::Display for Overrun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Overrun { flow, control, at, of_flow, in_flight, limit } = self;
        write!(
            f,
            "controller `{control}` had {of_flow} packets of flow `{flow}` in flight at {} s of \
             the scenario, and all user-defined controllers {in_flight}: more in flight than the \
             path's capacity; the limit is {limit}; limits() must ask for less, or set \
             flow.{flow}.host.receive_window",
            at.as_secs_f64(),
        )
    }
}

/// The limit of packets in flight for user-defined controllers.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    limit: u64,
    /// The connections to which it applies, each with the payload of its full packets.
    connections: Vec<(usize, u64)>,
    /// Packets sent since all of them were counted.
    unchecked: u64,
}

impl InFlight {
    pub(crate) fn new(limit: u64, connections: Vec<(usize, u64)>) -> InFlight {
        InFlight { limit, connections, unchecked: 0 }
    }

    /// Whether it is time to count: once in as many packets as there are connections, so that
    /// counting takes constant time per packet.
    fn is_due(&mut self) -> bool {
        self.unchecked += CHECK_EVERY;
        let is_due = self.unchecked >= self.connections.len() as u64;
        if is_due {
            self.unchecked = 0;
        }
        is_due
    }
}

impl<M: Metering, T: Tap> Endpoints<M, T> {
    /// Ends the run if too many packets are in flight, as connection `id` sends. Whether it
    /// does.
    #[cold]
    pub(super) fn has_overrun(&mut self, id: usize) -> bool {
        if !self.connections[id].is_limited || !self.in_flight.is_due() {
            return false;
        }
        let mut in_flight = 0;
        let mut most = (0, id);
        for &(id, mss) in &self.in_flight.connections {
            let packets = self.connections[id].sender.in_flight().0.div_ceil(mss);
            in_flight += packets;
            most = most.max((packets, id));
        }
        if in_flight <= self.in_flight.limit {
            return false;
        }
        self.connections[id].sender.stop();
        let (of_flow, most) = most;
        let flow = &self.flows[self.connections[most].flow];
        self.overrun.get_or_insert_with(|| {
            Box::new(Overrun {
                flow: flow.name.clone(),
                control: flow.control.clone(),
                at: self.net.clock.now,
                of_flow,
                in_flight,
                limit: self.in_flight.limit,
            })
        });
        self.net.events.stop();
        true
    }
}
