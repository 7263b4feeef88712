//! Sojourn's own transport as an endpoint: its connections, their source, and the handshake.
//!
//! The engine calls it directly for data and acknowledgements, which are almost all packets.

mod connection;
mod handshake;
mod overrun;
mod small_queues;

use sojourn_cc::Signal;
use sojourn_scenario::Profile;
use sojourn_scenario::source::{Action, Source};
use sojourn_trace::Histogram;
use sojourn_transport::{Data, Poll, Seen};
use sojourn_units::Instant;
use sojourn_units::params::Params;

use super::{AnyEndpoint, Endpoints, Setup};
use crate::events::Kind;
use crate::link::packet::{AckFields, Packet};
use crate::meter::{Metering, Part};
use crate::peak::Peak;
use crate::seed::{Stream, seed};
use crate::tap::{Carried, Passage, Tap};
use connection::Chosen;
pub(crate) use connection::{AckSlab, Connection};
use handshake::Opening;
pub use overrun::Overrun;
pub(crate) use overrun::{CHECK_EVERY, InFlight};

/// The endpoint of a flow with a congestion controller.
pub(crate) struct TransportEndpoint {
    source: Box<dyn Source>,
    /// The connection of its data, and the one of its requests, if it has requests.
    pub(crate) data: usize,
    pub(crate) requests: Option<usize>,
    /// The handshake of its connections; `None` if they are open from the start.
    opening: Option<Box<Opening>>,
    /// Requests that have arrived at the responding host.
    answered: u64,
    /// Response times, and the greatest since the last sample.
    pub(crate) responses: Histogram,
    pub(crate) longest_response: Peak,
}

/// Adds the connections of a flow, and returns its endpoint. `routes`: the starts of the routes in its
/// direction and against it.
pub(super) fn build<M: Metering>(
    connections: &mut Vec<Connection<M>>,
    routes: [u32; 2],
    setup: &Setup<'_>,
    (kind, params): (&str, &Params),
) -> TransportEndpoint {
    let (spec, catalogue) = (setup.spec, &setup.scenario.controllers);
    let chosen = Chosen {
        catalogue,
        info: catalogue.find(kind).expect("the scenario was validated"),
        needs: setup.control.needs(catalogue).expect("the scenario was validated"),
        params,
        is_limited: setup.is_limited,
    };
    let [out, back] = routes;
    let may_copy = |way: &[usize]| spec.transport.profile == Profile::Quic && setup.may_copy(way);
    let mut add = |seed, is_request, [out, back]: [u32; 2], way: &[usize]| {
        let mut new = connection::connect(spec, setup.index, &chosen, seed, is_request);
        (new.out, new.back) = (out, back);
        new.seen = may_copy(way).then(|| Box::new(Seen::new()));
        new.has_extras |= new.seen.is_some();
        connections.push(new);
        connections.len() - 1
    };
    let source = setup.source();
    let seed = seed(setup.run_seed, Stream::Controller, &spec.name);
    let data = add(seed, false, [out, back], &spec.path);
    let has_requests = source.request_target(0).is_some();
    let requests = has_requests.then(|| add(seed ^ 1, true, [back, out], &spec.back));
    TransportEndpoint {
        source,
        data,
        requests,
        opening: Opening::new(&spec.transport, (data, requests), connections),
        answered: 0,
        responses: Histogram::default(),
        longest_response: Peak::default(),
    }
}

impl TransportEndpoint {
    /// Its source.
    pub(crate) fn source(&self) -> &dyn Source {
        &*self.source
    }

    pub(super) fn stop<M: Metering>(&self, connections: &mut [Connection<M>]) {
        for id in [Some(self.data), self.requests].into_iter().flatten() {
            connections[id].sender.stop();
        }
    }

    /// Bytes of requests after which the next response is due.
    fn next_request_target(&self) -> u64 {
        self.source.request_target(self.answered).unwrap_or(u64::MAX)
    }
}

impl<M: Metering, T: Tap> Endpoints<M, T> {
    #[inline(always)]
    pub(super) fn on_data(&mut self, id: usize, packet: &Packet) {
        let connection = &mut self.connections[id];
        M::enter(Part::Transport);
        let data = packet.as_data(connection.header, connection.receiver.expects());
        if T::LISTENS {
            self.tap.data(self.net.clock.now, id, Passage::Received, &data);
        }
        if connection.has_extras {
            return self.on_data_with_extras(id, packet, &data);
        }
        connection.receiver.on_data(self.net.clock.now, &data);
        self.answer(id);
    }

    /// As above, for a connection whose receiver has more work.
    #[inline(never)]
    fn on_data_with_extras(&mut self, id: usize, packet: &Packet, data: &Data) {
        let now = self.net.clock.now;
        let connection = &mut self.connections[id];
        if !connection.pass_extras(now, packet, data) {
            return;
        }
        connection.receiver.on_data(now, data);
        self.answer(id);
        // The packet may have begun a batch after it ended another, which is acknowledged now.
        let connection = &mut self.connections[id];
        connection.schedule_timer(id, connection.receiver.timer(), &mut self.net.events);
    }

    /// Sends the receiver's acknowledgement, if one is due.
    #[inline(always)]
    fn answer(&mut self, id: usize) {
        let connection = &mut self.connections[id];
        M::enter(Part::Transport);
        let is_delivered = connection.receiver.in_order_bytes() >= connection.watch;
        let ack_due = connection.receiver.ack_due(self.net.clock.now);
        M::enter(Part::Engine);
        if !ack_due {
            connection.schedule_timer(id, connection.receiver.timer(), &mut self.net.events);
        }
        if is_delivered {
            self.on_delivered(id);
        }
        if ack_due && self.send_ack(id) {
            self.send_another_ack(id);
        }
    }

    #[cold]
    fn send_another_ack(&mut self, id: usize) {
        self.send_ack(id);
    }

    /// Returns whether another one is due.
    #[inline(always)]
    fn send_ack(&mut self, id: usize) -> bool {
        let connection = &mut self.connections[id];
        let place = self.acks.take();
        M::enter(Part::Transport);
        let ack = self.acks.get(place);
        let owes_another = connection.receiver.take_ack(self.net.clock.now, ack);
        M::enter(Part::Engine);
        let fields = AckFields {
            slot: place,
            cumulative: ack.cumulative,
            is_distinct: ack.is_distinct(),
            is_echo: ack.ece,
            is_opaque: connection.is_opaque,
        };
        let (route, size) = (connection.back, connection.ack_size);
        if T::LISTENS {
            let held = connection.receiver.held();
            self.trace_ack(id, Passage::Sent, place, held);
        }
        self.forward(Packet::ack(id, route, size, fields));
        owes_another
    }

    #[inline(always)]
    pub(super) fn on_ack(&mut self, id: usize, place: usize) {
        if T::LISTENS {
            self.trace_ack(id, Passage::Received, place, 0);
        }
        let connection = &mut self.connections[id];
        M::enter(Part::Transport);
        if let Some(rtt) = connection.sender.on_ack(self.net.clock.now, self.acks.get(place)) {
            M::enter(Part::Recording);
            connection.rtts.record(rtt.0);
            connection.longest_rtt.note(rtt);
        }
        M::enter(Part::Engine);
        self.acks.free(place);
        if T::LISTENS {
            self.trace_losses(id);
        }
        self.transmit(id);
    }

    /// Sends all packets that the sender may send now.
    pub(crate) fn transmit(&mut self, id: usize) {
        if self.connections[id].own_queue.is_some() {
            self.send_within_queue(id);
        } else {
            self.send_ready::<false>(id);
        }
        if T::LISTENS {
            self.tap.vitals(self.net.clock.now, id, &self.connections[id].sender.vitals());
        }
        let connection = &mut self.connections[id];
        let due = M::of(Part::Transport, || connection.sender.timer());
        connection.schedule_timer(id, due, &mut self.net.events);
    }

    #[inline(never)]
    fn send_within_queue(&mut self, id: usize) {
        self.send_ready::<true>(id);
    }

    /// `LIMITED`: the connection limits its part of the queue of its first link.
    #[inline(always)]
    fn send_ready<const LIMITED: bool>(&mut self, id: usize) {
        loop {
            if LIMITED && self.is_held_by_queue(id) {
                self.connections[id].sender.end_batch(self.net.clock.now);
                break;
            }
            let mut connection = &mut self.connections[id];
            M::enter(Part::Transport);
            let poll = connection.sender.poll_transmit(self.net.clock.now);
            M::enter(Part::Engine);
            match poll {
                Poll::Packet(data) => {
                    // Checked only now and then, since thousands may leave at one moment.
                    if data.number % CHECK_EVERY == CHECK_EVERY - 1 {
                        if self.has_overrun(id) {
                            break;
                        }
                        connection = &mut self.connections[id];
                    }
                    if T::LISTENS {
                        self.tap.data(self.net.clock.now, id, Passage::Sent, &data);
                    }
                    let packet = Packet::data(id, connection.out, &data, connection.header);
                    if LIMITED {
                        self.note_entry(id, packet.ip_size);
                    }
                    self.forward(packet);
                }
                Poll::Wait(at) => {
                    if connection.pace_at != at {
                        connection.pace_at = at;
                        self.net.events.push(at, Kind::Pace, id);
                    }
                    break;
                }
                Poll::Blocked => break,
            }
        }
    }

    /// The timer of a connection.
    pub(crate) fn on_timer(&mut self, id: usize) {
        let now = self.net.clock.now;
        let connection = &mut self.connections[id];
        if connection.timer_at != now {
            return;
        }
        connection.timer_at = Instant::MAX;
        if connection.receiver.timer() <= now {
            M::of(Part::Transport, || connection.receiver.on_timer(now));
            self.answer(id);
        }
        let connection = &mut self.connections[id];
        if connection.sender.timer() <= now {
            M::of(Part::Transport, || connection.sender.on_timer(now));
            if T::LISTENS {
                self.trace_losses(id);
            }
            self.transmit(id);
        }
        if self.connections[id].opening_due <= now {
            self.on_handshake_timer(id);
        }
        let connection = &mut self.connections[id];
        let due = M::of(Part::Transport, || connection.deadline());
        connection.schedule_timer(id, due, &mut self.net.events);
    }

    /// The pacer of a connection.
    pub(crate) fn on_pace(&mut self, id: usize) {
        if self.connections[id].pace_at == self.net.clock.now {
            self.connections[id].pace_at = Instant::MAX;
            self.transmit(id);
        }
    }

    /// The source of a flow acts. `begins`: for the first time.
    pub(super) fn act(&mut self, index: usize, begins: bool) {
        let AnyEndpoint::Transport(endpoint) = &mut self.flows[index].endpoint else { return };
        let action = endpoint.source.act(self.net.clock.now);
        let target = endpoint.source.target().unwrap_or(u64::MAX);
        let (data, requests) = (endpoint.data, endpoint.requests);
        let request_target = endpoint.next_request_target();
        self.net.events.push(endpoint.source.next_at(), Kind::Source, index);
        self.connections[data].watch = target;
        match (action, requests) {
            (Action::Write(bytes), _) => self.write(data, bytes),
            (Action::Request(bytes), Some(requests)) => {
                self.connections[requests].watch = request_target;
                self.write(requests, bytes);
            }
            (Action::Request(_), None) => unreachable!("a flow with requests has a connection"),
            (Action::Transfer(_), _) => unreachable!("each transfer is a flow of its own"),
            (Action::Frame { .. }, _) => unreachable!("media has a host of its own"),
        }
        if begins {
            self.open(index);
        }
    }

    fn write(&mut self, id: usize, bytes: u64) {
        M::of(Part::Transport, || self.connections[id].sender.write(bytes));
        self.transmit(id);
    }

    /// The bytes that a connection's source waited for were delivered.
    fn on_delivered(&mut self, id: usize) {
        let (flow, is_request) = (self.connections[id].flow, self.connections[id].is_request);
        if is_request {
            return self.on_request(id, flow);
        }
        let AnyEndpoint::Transport(endpoint) = &mut self.flows[flow].endpoint else { return };
        if let Some(response) = endpoint.source.on_delivered(self.net.clock.now) {
            endpoint.responses.record(response.0);
            endpoint.longest_response.note(response);
        }
        self.connections[id].watch = u64::MAX;
        self.net.events.push(endpoint.source.next_at(), Kind::Source, flow);
    }

    /// A request has arrived at the responding host.
    fn on_request(&mut self, id: usize, flow: usize) {
        let AnyEndpoint::Transport(endpoint) = &mut self.flows[flow].endpoint else { return };
        endpoint.answered += 1;
        let (data, response) = (endpoint.data, endpoint.source.response());
        self.connections[id].watch = endpoint.next_request_target();
        self.confirm_by_request(flow);
        self.write(data, response);
    }

    /// The bottleneck signals the rate at which a flow may send.
    pub(crate) fn on_signal(&mut self, flow: usize, signal: Signal) {
        let Some(data) = self.data_connection(flow) else { return };
        let sender = &mut self.connections[data].sender;
        M::of(Part::Transport, || sender.on_signal(self.net.clock.now, signal));
        self.transmit(data);
    }

    pub(super) fn trace_ack(&mut self, id: usize, passage: Passage, place: usize, held: usize) {
        let ack = self.acks.get(place);
        self.tap.ack(self.net.clock.now, id, passage, &Carried { place, ack, held });
    }

    fn trace_losses(&mut self, id: usize) {
        for (number, cause) in self.connections[id].sender.take_lost() {
            self.tap.lost(self.net.clock.now, id, number, cause);
        }
    }
}
