//! Listening at the hosts: what a run tells of the packets that pass them.
//!
//! A run to which nobody listens has the tap `()`, and what would tell it compiles to
//! nothing.

use sojourn_cc::EcnUse;
use sojourn_scenario::{Control, Scenario};
use sojourn_transport::{Ack, Data, LossCause, Vitals};
use sojourn_units::Instant;

use crate::connection::Connection;
use crate::engine::Simulation;
use crate::meter::{Metering, Tapped};
use crate::packet::{Packet, PacketKind};

/// Where a packet is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It leaves its host.
    Sent,
    /// It arrives at its host.
    Received,
    /// A queue dropped it, or a wire lost it: neither host sees that.
    Gone,
    /// A wire made a copy of it, and both travel on: neither host sees that yet.
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
    /// How ECN is used.
    pub ecn: EcnUse,
}

/// An acknowledgement under way.
#[derive(Clone, Copy, Debug)]
pub struct Carried<'a> {
    /// By this it is known again: no other under way has the same but its copies.
    pub place: usize,
    /// What it says.
    pub ack: &'a Ack,
    /// Where it is sent: packets that have arrived and are still held back (`gro`).
    pub held: usize,
}

/// An ICMP echo request, or its reply.
#[derive(Clone, Copy, Debug)]
pub struct Ping {
    /// Counts the requests of its flow from 1, modulo 2^32; the reply has its request's.
    pub number: u32,
    /// Whether it is the reply.
    pub is_reply: bool,
    /// The IP packet in bytes.
    pub size: u32,
}

/// Somebody who listens at the hosts. `connection` counts the connections given to
/// [`Tap::begin`], `flow` the flows of the scenario.
pub trait Tap: 'static {
    /// Whether it listens at all.
    const LISTENS: bool = true;

    /// The run begins. A flow without control has no connection, one that asks has two.
    fn begin(&mut self, scenario: &Scenario, connections: &[Wiring]);

    /// A packet of data passes.
    fn data(&mut self, now: Instant, connection: usize, passage: Passage, data: &Data);

    /// An acknowledgement passes, against the connection's direction.
    fn ack(&mut self, now: Instant, connection: usize, passage: Passage, carried: &Carried<'_>);

    /// A datagram of a flow without control passes: its number, modulo 2^32, and the size of
    /// the IP packet in bytes.
    fn datagram(&mut self, now: Instant, flow: usize, passage: Passage, number: u32, size: u32);

    /// An echo request passes, or its reply, which goes against the flow's direction.
    fn ping(&mut self, now: Instant, flow: usize, passage: Passage, ping: &Ping);

    /// A connection's sender deems a packet lost.
    fn lost(&mut self, now: Instant, connection: usize, number: u64, cause: LossCause);

    /// How a connection's sender stands, once it has sent all that it may.
    fn vitals(&mut self, now: Instant, connection: usize, vitals: &Vitals);
}

/// Nobody listens.
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
    /// The same run, with the same outcome, at whose hosts `tap` listens.
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

    /// What listens.
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

    /// What became of a packet inside a link.
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
