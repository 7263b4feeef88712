//! Taps at the hosts, which observe packets as they pass.
//!
//! A run without a tap has the tap `()`, whose calls compile to nothing.

use sojourn_cc::EcnUse;
use sojourn_scenario::{Control, Scenario};
use sojourn_transport::{Ack, Data, LossCause, Vitals};
use sojourn_units::Instant;

use crate::connection::Connection;
use crate::engine::Simulation;
use crate::meter::{Metering, Tapped};
use crate::packet::{Packet, PacketKind};

/// The point at which a packet is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It leaves its host.
    Sent,
    /// It arrives at its host.
    Received,
    /// A queue dropped it, or a wire lost it; neither host observes that.
    Gone,
    /// A wire copied it, and both packets travel on; neither host observes that yet.
    Copied,
}

impl Passage {
    /// Whether a host sees the packet.
    pub fn is_at_host(self) -> bool {
        matches!(self, Passage::Sent | Passage::Received)
    }
}

/// A connection of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// The flow, as its place in the scenario.
    pub flow: usize,
    /// Whether it carries the flow's requests, against the flow's direction.
    pub is_request: bool,
    /// The use of ECN.
    pub ecn: EcnUse,
}

/// An acknowledgement in flight.
#[derive(Clone, Copy, Debug)]
pub struct Carried<'a> {
    /// Identifies the acknowledgement: only its copies in flight have the same slot.
    pub place: usize,
    /// Its content.
    pub ack: &'a Ack,
    /// At its departure: packets that have arrived and are still held back (`gro`).
    pub held: usize,
}

/// An ICMP echo request, or its reply.
#[derive(Clone, Copy, Debug)]
pub struct Ping {
    /// Number of the request within its flow, from 1, modulo 2^32. A reply has its request's
    /// number.
    pub number: u32,
    /// Whether it is the reply.
    pub is_reply: bool,
    /// Size of the IP packet in bytes.
    pub size: u32,
}

/// An observer at the hosts. `connection` is an index into the connections given to [`Tap::begin`],
/// `flow` one into the flows of the scenario.
pub trait Tap: 'static {
    /// Whether it observes any packets.
    const LISTENS: bool = true;

    /// The run begins. A flow without control has no connection, a flow with requests has two.
    fn begin(&mut self, scenario: &Scenario, connections: &[Wiring]);

    /// A packet of data passes.
    fn data(&mut self, now: Instant, connection: usize, passage: Passage, data: &Data);

    /// An acknowledgement passes, against the connection's direction.
    fn ack(&mut self, now: Instant, connection: usize, passage: Passage, carried: &Carried<'_>);

    /// A datagram of a flow without control passes. `number` counts modulo 2^32; `size` is that of
    /// the IP packet in bytes.
    fn datagram(&mut self, now: Instant, flow: usize, passage: Passage, number: u32, size: u32);

    /// An echo request passes, or its reply, which goes against the flow's direction.
    fn ping(&mut self, now: Instant, flow: usize, passage: Passage, ping: &Ping);

    /// A connection's sender deems a packet lost.
    fn lost(&mut self, now: Instant, connection: usize, number: u64, cause: LossCause);

    /// The state of a connection's sender, after it has sent all that it may.
    fn vitals(&mut self, now: Instant, connection: usize, vitals: &Vitals);
}

/// No tap.
impl Tap for () {
    const LISTENS: bool = false;

    fn begin(&mut self, _: &Scenario, _: &[Wiring]) {}
    fn data(&mut self, _: Instant, _: usize, _: Passage, _: &Data) {}
    fn ack(&mut self, _: Instant, _: usize, _: Passage, _: &Carried<'_>) {}
    fn datagram(&mut self, _: Instant, _: usize, _: Passage, _: u32, _: u32) {}
    fn ping(&mut self, _: Instant, _: usize, _: Passage, _: &Ping) {}
    fn lost(&mut self, _: Instant, _: usize, _: u64, _: LossCause) {}
    fn vitals(&mut self, _: Instant, _: usize, _: &Vitals) {}
}

impl<T: Tap> Simulation<Tapped<T>> {
    /// The same run with the same outcome, observed by `tap` at its hosts.
    pub fn tapped(
        scenario: &Scenario,
        control: Option<&Control>,
        seed: u64,
        tap: T,
    ) -> Simulation<Tapped<T>> {
        let mut simulation: Simulation<Tapped<T>> = Simulation::build(scenario, control, seed, tap);
        let wirings: Vec<Wiring> = simulation.connections.iter().map(Connection::wiring).collect();
        simulation.connections.iter_mut().for_each(|connection| connection.sender.watch());
        simulation.tap.begin(scenario, &wirings);
        simulation
    }

    /// The tap.
    pub fn tap(&mut self) -> &mut T {
        &mut self.tap
    }
}

impl<M: Metering> Simulation<M> {
    pub(crate) fn tell_of_ack(&mut self, id: usize, passage: Passage, place: usize, held: usize) {
        let ack = self.acks.get(place);
        self.tap.ack(self.clock.now, id, passage, &Carried { place, ack, held });
    }

    pub(crate) fn tell_of_datagram(&mut self, flow: usize, passage: Passage, packet: &Packet) {
        let (now, number, size) = (self.clock.now, packet.number, packet.ip_size);
        if self.flows[flow].echo.is_some() {
            let is_reply = packet.kind() == PacketKind::Reply;
            return self.tap.ping(now, flow, passage, &Ping { number, is_reply, size });
        }
        self.tap.datagram(now, flow, passage, number, size);
    }

    /// Reports a packet's loss or copy inside a link to the tap.
    pub(crate) fn tell_of_fate(&mut self, passage: Passage, packet: &Packet) {
        let owner = packet.connection as usize;
        match packet.kind() {
            PacketKind::Data => {
                let connection = &self.connections[owner];
                let data = packet.as_data(connection.header, connection.receiver.expects());
                self.tap.data(self.clock.now, owner, passage, &data);
            }
            PacketKind::Ack => self.tell_of_ack(owner, passage, packet.number as usize, 0),
            PacketKind::Datagram | PacketKind::Reply => {
                self.tell_of_datagram(owner, passage, packet);
            }
            PacketKind::Opening | PacketKind::Answer => {}
        }
    }

    pub(crate) fn tell_of_losses(&mut self, id: usize) {
        for (number, cause) in self.connections[id].sender.take_lost() {
            self.tap.lost(self.clock.now, id, number, cause);
        }
    }

    pub(crate) fn tell_of_vitals(&mut self, id: usize) {
        let vitals = self.connections[id].sender.vitals();
        self.tap.vitals(self.clock.now, id, &vitals);
    }
}
