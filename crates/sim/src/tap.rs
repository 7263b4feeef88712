//! Taps at the hosts, which observe packets as they pass.
//!
//! A run without a tap has the tap `()`, whose calls compile to no code.

use sojourn_cc::EcnUse;
use sojourn_scenario::Scenario;
use sojourn_transport::{Ack, Data, Direction, LossCause, StackEvent, Vitals};
use sojourn_units::Instant;

pub use crate::link::packet::{Datagram, OutsidePacket};

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

    /// A datagram of a flow without connections passes.
    fn datagram(&mut self, now: Instant, flow: usize, passage: Passage, datagram: &Datagram);

    /// A packet of a host outside the simulation passes. If it was received, the host outside has
    /// to be given it now.
    fn outside(&mut self, _now: Instant, _passage: Passage, _packet: &OutsidePacket) {}

    /// A datagram of a real stack passes, with its UDP payload.
    fn stack_datagram(&mut self, _: Instant, _: Passage, _: &OutsidePacket, _payload: &[u8]) {}

    /// An event at the end of a real stack that sends in `direction`. `opens`: the direction of the
    /// end that opens the connection.
    fn stack_event(
        &mut self,
        _now: Instant,
        _flow: usize,
        _direction: Direction,
        _opens: Direction,
        _event: &StackEvent,
    ) {
    }

    /// Lines of a TLS key log, before the first packet that they decrypt.
    fn secrets(&mut self, _lines: &str) {}

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
    fn datagram(&mut self, _: Instant, _: usize, _: Passage, _: &Datagram) {}
    fn lost(&mut self, _: Instant, _: usize, _: u64, _: LossCause) {}
    fn vitals(&mut self, _: Instant, _: usize, _: &Vitals) {}
}
