//! Hosts, which send and receive the packets of a flow, in virtual time.
//!
//! A [`Endpoint`] acts at its own times, receives datagrams, and puts those that it sends into a list.
//! To add a kind of endpoint: write its file, and add its line to [`Endpoints::add`].
//!
//! Sojourn's own transport is an endpoint too. Almost all packets are its data and acknowledgements, so
//! the engine calls it directly, without a virtual call: see [`transport`].

mod counts;
mod datagrams;
mod echo;
mod fate;
mod labels;
pub(crate) mod media;
pub(crate) mod outside;
mod stack;
pub(crate) mod transport;

use sojourn_scenario::source::{Carrier, Transfers};
use sojourn_scenario::{Control, Flow as Spec, Scenario};
use sojourn_trace::Histogram;
use sojourn_units::{Duration, Instant};

use crate::events::Kind;
use crate::link::network::Network;
use crate::link::packet::{Datagram, Packet, PacketKind};
use crate::meter::Metering;
use crate::seed::{Stream, seed};
use crate::tap::{Passage, Tap, Wiring};
use counts::Counts;
use outside::{Outside, Remote, RemoteState};
use transport::{AckSlab, Connection, InFlight, Overrun, TransportEndpoint};

/// The two ends of a flow.
pub(crate) trait Endpoint: Send {
    /// Time of its next action; [`Instant::MAX`] for none.
    fn next_at(&self) -> Instant;

    /// Acts at its time. It adds the datagrams that it sends to `out`.
    fn act(&mut self, now: Instant, out: &mut Vec<Datagram>);

    /// A datagram has arrived.
    fn receive(&mut self, now: Instant, datagram: &Datagram, out: &mut Vec<Datagram>);

    /// Counts a datagram that a queue dropped or a wire lost. The two ends must not react to it.
    fn on_dropped(&mut self, datagram: &Datagram);

    /// The flow stops: [`Host::act`] is not called again.
    fn stop(&mut self, _now: Instant) {}

    /// Its counts and samples so far.
    fn report(&self) -> Report<'_>;

    /// The state of its sender and its controller, if it has one.
    fn state(&self) -> Option<RemoteState> {
        None
    }

    /// Greatest response time since the last call: of media, the greatest delay of a frame.
    fn take_longest_response(&mut self) -> Option<Duration> {
        None
    }

    /// Greatest round-trip time since the last call, if it measures them.
    fn take_longest_rtt(&mut self) -> Option<Duration> {
        None
    }

    /// Ends the warm-up: forget the round-trip times measured so far.
    fn begin_measuring(&mut self) {}

    /// Keep the times at which it begins and stops to send, for [`Host::take_transitions`].
    fn record_transitions(&mut self) {}

    /// Moves the decided transitions to the end of `transitions`: the time, and whether it begins
    /// to send.
    fn take_transitions(&mut self, _: &mut Vec<(Instant, bool)>) {}
}

/// Counts and samples of an endpoint so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report<'a> {
    /// Payload delivered, each byte once.
    pub(crate) received_bytes: u64,
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
    /// Datagrams that arrived with CE.
    pub(crate) marked: u64,
    pub(crate) transfers: Transfers,
    pub(crate) rtts: Option<&'a Histogram>,
    /// Frames of media, in the order of their capture.
    pub(crate) frames: Option<&'a [media::FrameRow]>,
}

impl Report<'_> {
    fn of(counts: &Counts) -> Self {
        Report {
            received_bytes: counts.received_bytes,
            sent: counts.sent,
            dropped: counts.dropped,
            ..Report::default()
        }
    }
}

/// Any endpoint.
pub(crate) enum AnyEndpoint {
    /// Sojourn's own transport.
    Transport(TransportEndpoint),
    /// Hosts whose packets the simulator does not make: outside the simulation, or of a real stack.
    Outside(Outside),
    /// Any other.
    Other(Box<dyn Endpoint>),
}

impl AnyEndpoint {
    /// Whether the scenario's hosts are simulated, and not outside the simulation.
    pub(crate) fn is_simulated(&self) -> bool {
        !matches!(self, AnyEndpoint::Outside(outside) if outside.is_remote())
    }
}

/// A flow, during the run.
pub(crate) struct Flow {
    pub(crate) name: String,
    pub(crate) control: String,
    pub(crate) start: Instant,
    pub(crate) stop: Option<Instant>,
    pub(crate) started: bool,
    pub(crate) stopped: bool,
    /// Payload delivered before it stopped.
    pub(crate) received_at_stop: Option<u64>,
    /// Payload delivered in the warm-up.
    pub(crate) received_before: u64,
    pub(crate) endpoint: AnyEndpoint,
    /// Starts of the routes of its datagrams: in its direction, and against it.
    pub(super) routes: [u32; 2],
}

/// The endpoints of a run.
pub(crate) struct Endpoints<M: Metering, T: Tap> {
    /// The links between them.
    pub(crate) net: Network<M>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) connections: Vec<Connection<M>>,
    pub(crate) acks: AckSlab,
    pub(crate) in_flight: InFlight,
    pub(crate) overrun: Option<Box<Overrun>>,
    /// Buffer for the datagrams that one call of an endpoint sends, kept to reuse its memory.
    out: Vec<Datagram>,
    pub(crate) tap: T,
}

/// Inputs to build the endpoint of a flow.
pub(crate) struct Setup<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) spec: &'a Spec,
    /// Place of the flow in the scenario.
    pub(crate) index: usize,
    /// Start of the flow in this run.
    pub(crate) start: Instant,
    pub(crate) run_seed: u64,
    /// The controller of the flow.
    pub(crate) control: &'a Control,
    /// Whether the run's limit of packets in flight counts the flow's.
    pub(crate) is_limited: bool,
}

impl Setup<'_> {
    /// The source of the flow.
    fn source(&self) -> Box<dyn sojourn_scenario::source::Source> {
        let seed = seed(self.run_seed, Stream::Source, &self.spec.name);
        self.spec.source.build(self.start, self.spec.transport.mss, seed)
    }

    /// Whether a link on this way may copy packets.
    fn may_copy(&self, way: &[usize]) -> bool {
        way.iter().any(|link| self.scenario.links[*link].duplicate.probability > 0.0)
    }
}

impl<M: Metering, T: Tap> Endpoints<M, T> {
    pub(crate) fn new(net: Network<M>, tap: T) -> Endpoints<M, T> {
        Endpoints {
            net,
            flows: Vec::new(),
            connections: Vec::new(),
            acks: AckSlab::default(),
            in_flight: InFlight::default(),
            overrun: None,
            out: Vec::new(),
            tap,
        }
    }

    /// Adds a flow with its endpoint: outside the simulation if `remote` reports its state.
    pub(crate) fn add(&mut self, setup: &Setup<'_>, remote: Option<Box<dyn Remote>>) {
        let routes = [self.net.routes.add(&setup.spec.path), self.net.routes.add(&setup.spec.back)];
        let endpoint = match remote {
            Some(remote) => AnyEndpoint::Outside(Outside::new(remote)),
            None => self.inside(setup, routes),
        };
        self.flows.push(Flow {
            name: setup.spec.name.clone(),
            control: setup.control.name().to_owned(),
            start: setup.start,
            stop: None,
            started: false,
            stopped: false,
            received_at_stop: None,
            received_before: 0,
            endpoint,
            routes,
        });
    }

    /// An endpoint inside the simulation.
    fn inside(&mut self, setup: &Setup<'_>, routes: [u32; 2]) -> AnyEndpoint {
        if let Some(stack) = stack::StackEndpoint::new(setup, T::LISTENS) {
            return AnyEndpoint::Outside(Outside::of_stack(stack));
        }
        match (setup.spec.source.carrier(), setup.control) {
            (Carrier::Media, _) => AnyEndpoint::Other(Box::new(media::Media::new(setup))),
            (Carrier::Echo, _) => AnyEndpoint::Other(Box::new(echo::Echo::new(setup))),
            (_, Control::None) => AnyEndpoint::Other(Box::new(datagrams::Datagrams::new(setup))),
            (_, Control::Algorithm { kind, params, .. }) => AnyEndpoint::Transport(
                transport::build(&mut self.connections, routes, setup, (kind, params)),
            ),
        }
    }

    /// A packet arrives from a link.
    #[inline(always)]
    pub(crate) fn on_arrival(&mut self, link: usize) {
        if !self.net.links[link].is_plain() {
            return self.on_arrival_reordering(link);
        }
        let packet = self.net.links[link].take_arrival(self.net.clock, &mut self.net.events);
        self.collect_notices(link);
        let Some(packet) = packet else { return };
        match self.net.routes.link(packet.next()) {
            Some(link) => self.enter(link, packet),
            None => self.deliver(&packet),
        }
    }

    /// Separate, so that packets of plain links stay in registers.
    #[inline(never)]
    fn on_arrival_reordering(&mut self, link: usize) {
        let packet =
            self.net.links[link].take_arrival_reordering(self.net.clock, &mut self.net.events);
        self.collect_notices(link);
        if let Some(packet) = packet {
            self.forward(packet);
        }
    }

    /// Processes the departures of a link up to now.
    pub(crate) fn catch_up(&mut self, link: usize) {
        self.net.catch_up(link);
        self.collect_notices(link);
    }

    /// Ends the warm-up of all links and flows: their percentiles, utilisations and goodputs leave
    /// out the time before.
    pub(crate) fn begin_measuring(&mut self) {
        self.catch_up_all();
        let now = self.net.clock.now;
        self.net.links.iter_mut().for_each(|link| link.begin_measuring(now));
        for index in 0..self.flows.len() {
            self.flows[index].received_before = self.received_bytes(index);
            match &mut self.flows[index].endpoint {
                AnyEndpoint::Transport(endpoint) => {
                    endpoint.responses = Histogram::default();
                    self.connections[endpoint.data].rtts = Histogram::default();
                }
                AnyEndpoint::Outside(endpoint) => endpoint.begin_measuring(),
                AnyEndpoint::Other(endpoint) => endpoint.begin_measuring(),
            }
        }
    }

    /// Processes the departures of all links up to now, before an observer reads them.
    pub(crate) fn catch_up_all(&mut self) {
        for link in 0..self.net.links.len() {
            self.catch_up(link);
        }
    }

    /// Sends a packet onto its next link, or delivers it to its host.
    #[inline(always)]
    fn forward(&mut self, packet: Packet) {
        match self.net.routes.link(packet.next()) {
            Some(link) => self.enter(link, packet),
            // Out of line: see `sojourn_queue`'s `slow_path.rs`.
            None => self.deliver_slow(&Delivered(packet)),
        }
    }

    #[inline(always)]
    fn enter(&mut self, link: usize, packet: Packet) {
        self.net.links[link].arrive(self.net.clock, packet, &mut self.net.events);
        self.collect_notices(link);
    }

    /// Accounts for packets that a link dropped, lost or copied.
    #[inline]
    fn collect_notices(&mut self, link: usize) {
        if !self.net.links[link].notices.is_empty() {
            self.account_for_notices(link);
        }
    }

    /// As [`Endpoints::deliver`], but not inlined.
    #[inline(never)]
    fn deliver_slow(&mut self, Delivered(packet): &Delivered) {
        self.deliver(packet);
    }

    /// Inlined into the event loop together with the handling of data and acknowledgements, so that
    /// the packet stays in registers.
    #[inline(always)]
    fn deliver(&mut self, packet: &Packet) {
        let owner = packet.connection as usize;
        match packet.kind() {
            PacketKind::Data => self.on_data(owner, packet),
            PacketKind::Ack => self.on_ack(owner, packet.number as usize),
            PacketKind::Datagram | PacketKind::Reply => self.on_datagram(owner, packet),
            PacketKind::Opening | PacketKind::Answer => self.on_handshake(packet),
            PacketKind::Outside | PacketKind::OutsideReply => self.on_outside(packet),
        }
    }

    /// Starts or stops a flow, or performs the next action of its source or endpoint.
    pub(crate) fn on_source(&mut self, index: usize) {
        let now = self.net.clock.now;
        let flow = &mut self.flows[index];
        if flow.stop.is_some_and(|stop| stop <= now) {
            return self.stop(now, index);
        }
        let begins = !std::mem::replace(&mut flow.started, true);
        match &mut flow.endpoint {
            AnyEndpoint::Outside(_) => self.on_stack_event(index),
            AnyEndpoint::Transport(endpoint) if endpoint.source().next_at() == now => {
                self.act(index, begins)
            }
            AnyEndpoint::Other(endpoint) if endpoint.next_at() == now => {
                let mut out = std::mem::take(&mut self.out);
                endpoint.act(now, &mut out);
                self.net.events.push(endpoint.next_at(), Kind::Source, index);
                self.send_all(index, out);
            }
            // A stale event.
            AnyEndpoint::Transport(_) | AnyEndpoint::Other(_) => {}
        }
    }

    fn stop(&mut self, now: Instant, index: usize) {
        if std::mem::replace(&mut self.flows[index].stopped, true) {
            return;
        }
        self.flows[index].received_at_stop = Some(self.received_bytes(index));
        match &mut self.flows[index].endpoint {
            AnyEndpoint::Transport(endpoint) => endpoint.stop(&mut self.connections),
            AnyEndpoint::Outside(_) => self.stop_stack(index),
            AnyEndpoint::Other(endpoint) => endpoint.stop(now),
        }
    }

    fn on_datagram(&mut self, index: usize, packet: &Packet) {
        let datagram = packet.as_datagram();
        if T::LISTENS {
            self.tap.datagram(self.net.clock.now, index, Passage::Received, &datagram);
        }
        let mut out = std::mem::take(&mut self.out);
        if let AnyEndpoint::Other(endpoint) = &mut self.flows[index].endpoint {
            let before = endpoint.next_at();
            endpoint.receive(self.net.clock.now, &datagram, &mut out);
            // The event of a time that has moved is stale.
            let after = endpoint.next_at();
            if after != before {
                self.net.events.push(after, Kind::Source, index);
            }
        }
        self.send_all(index, out);
    }

    /// Sends the datagrams of a flow.
    fn send_all(&mut self, index: usize, mut out: Vec<Datagram>) {
        for datagram in out.drain(..) {
            if T::LISTENS {
                self.tap.datagram(self.net.clock.now, index, Passage::Sent, &datagram);
            }
            let route = self.flows[index].routes[usize::from(datagram.is_reply)];
            self.forward(Packet::datagram(index, route, &datagram));
        }
        self.out = out;
    }

    /// Moves the decided transitions of a flow's endpoint to `transitions`.
    pub(crate) fn take_transitions(
        &mut self,
        index: usize,
        transitions: &mut Vec<(Instant, bool)>,
    ) {
        if let AnyEndpoint::Other(endpoint) = &mut self.flows[index].endpoint {
            endpoint.take_transitions(transitions);
        }
    }

    /// Notifies the tap of the start of the run.
    pub(crate) fn begin_tap(&mut self, scenario: &Scenario) {
        let wirings: Vec<Wiring> = self.connections.iter().map(Connection::wiring).collect();
        self.connections.iter_mut().for_each(|connection| connection.sender.watch());
        self.tap.begin(scenario, &wirings);
    }

    /// Payload of a flow delivered so far, each byte once.
    pub(crate) fn received_bytes(&self, index: usize) -> u64 {
        match &self.flows[index].endpoint {
            AnyEndpoint::Transport(endpoint) => {
                self.connections[endpoint.data].receiver.received_bytes()
            }
            AnyEndpoint::Outside(endpoint) => endpoint.state().received_bytes,
            AnyEndpoint::Other(endpoint) => endpoint.report().received_bytes,
        }
    }

    /// Index of the byte count of a flow's data; `None` for datagrams.
    pub(crate) fn data_account(&self, index: usize) -> Option<usize> {
        match &self.flows[index].endpoint {
            AnyEndpoint::Outside(_) => Some(Packet::account_of(index, true)),
            AnyEndpoint::Transport(_) | AnyEndpoint::Other(_) => {
                self.data_connection(index).map(|id| Packet::account_of(id, false))
            }
        }
    }

    /// Number of byte counts.
    pub(crate) fn accounts(&self) -> usize {
        let is_outside = |flow: &Flow| matches!(flow.endpoint, AnyEndpoint::Outside(_));
        let flows = if self.flows.iter().any(is_outside) { self.flows.len() } else { 0 };
        Packet::account_of(self.connections.len().max(flows), false)
    }

    /// The connection of a flow's data; `None` for datagrams and for hosts outside the simulation.
    pub(crate) fn data_connection(&self, index: usize) -> Option<usize> {
        match &self.flows[index].endpoint {
            AnyEndpoint::Transport(endpoint) => Some(endpoint.data),
            AnyEndpoint::Outside(_) | AnyEndpoint::Other(_) => None,
        }
    }
}

/// A packet that has reached its destination.
struct Delivered(Packet);
