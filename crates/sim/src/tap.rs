//! Listening at the hosts: what a run tells of the packets that pass them.
//!
//! A run to which nobody listens has the tap `()`, and what would tell it compiles to
//! nothing.

use sojourn_cc::EcnUse;
use sojourn_scenario::Scenario;
use sojourn_transport::{Ack, Data};
use sojourn_units::Instant;

/// Where a packet is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It leaves its host.
    Sent,
    /// It arrives at its host.
    Received,
    /// A queue dropped it, or a wire lost it: neither host sees that.
    Gone,
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
    /// By this it is known again: no other under way has the same.
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
}

/// Nobody listens.
impl Tap for () {
    const LISTENS: bool = false;

    fn begin(&mut self, _: &Scenario, _: &[Wiring]) {}
    fn data(&mut self, _: Instant, _: usize, _: Passage, _: &Data) {}
    fn ack(&mut self, _: Instant, _: usize, _: Passage, _: &Carried<'_>) {}
    fn datagram(&mut self, _: Instant, _: usize, _: Passage, _: u32, _: u32) {}
    fn ping(&mut self, _: Instant, _: usize, _: Passage, _: &Ping) {}
}
