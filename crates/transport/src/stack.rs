//! The contract of a real transport stack in virtual time, and the stacks available by name.
//!
//! A [`Stack`] has both ends of one connection. It carries bytes between them in datagrams of its
//! own, which the caller delivers. It reads no clock and opens no socket.

use std::fmt;
use std::sync::Arc;

use sojourn_cc::{Catalogue, Needs, Probe};
use sojourn_units::params::{Key, Kind, Params};
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

use crate::Vitals;

/// A direction between the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the flow's sender to its receiver.
    Forward,
    /// From the receiver to the sender.
    Backward,
}

impl Direction {
    /// The index of this direction in an array of both.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A datagram that a stack sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackDatagram {
    /// Its direction.
    pub direction: Direction,
    /// Identifies its bytes, which the stack keeps until [`Stack::receive`] or [`Stack::on_gone`].
    pub handle: u32,
    /// Size of the IP packet in bytes.
    pub size: u32,
    /// The ECN field.
    pub ecn: Ecn,
}

/// Both ends of a connection of a real stack.
pub trait Stack: Send {
    /// The application at the source of `direction` writes `bytes` more. The first call opens the
    /// connection.
    fn write(&mut self, now: Instant, direction: Direction, bytes: u64);

    /// Bytes that the application at the destination of `direction` has read, in order.
    fn delivered(&self, direction: Direction) -> u64;

    /// Time of its next timer or departure; [`Instant::MAX`] for none.
    fn next_at(&self) -> Instant;

    /// Acts at its time.
    fn act(&mut self, now: Instant);

    /// The datagram of this handle arrives in this direction, with this ECN field.
    fn receive(&mut self, now: Instant, direction: Direction, handle: u32, ecn: Ecn);

    /// A datagram was dropped on its way; neither end must react to it.
    fn on_gone(&mut self, handle: u32);

    /// A wire copied a datagram: it arrives, or is dropped, once more.
    fn on_copied(&mut self, handle: u32);

    /// Moves the datagrams that leave now to the end of `out`.
    fn take_datagrams(&mut self, out: &mut Vec<StackDatagram>);

    /// The source stops writing.
    fn stop(&mut self);

    /// State of the end that sends in the flow's direction.
    fn state(&self) -> StackState;

    /// Passes on the round-trip times that this end has measured since the last call.
    fn take_rtts(&mut self, take: &mut dyn FnMut(Duration));

    /// Keeps events and secrets from now on, for [`Stack::take_events`] and
    /// [`Stack::take_secrets`]. Called before the connection opens, if at all.
    fn observe(&mut self);

    /// Passes on the events since the last call, each with the direction of its end's data.
    fn take_events(&mut self, take: &mut dyn FnMut(Direction, StackEvent));

    /// The secrets since the last call: lines of a TLS key log (RFC 9850). Empty without TLS.
    fn take_secrets(&mut self) -> String;

    /// The UDP payload of a datagram in flight.
    fn bytes(&self, handle: u32) -> &[u8];
}

/// An event at one end of an observed stack.
#[derive(Clone, Debug, PartialEq)]
pub enum StackEvent {
    /// The end sent or received a packet.
    Packet {
        /// Whether it sent the packet.
        is_sent: bool,
        /// The packet's type, as qlog names it.
        kind: &'static str,
        /// Packet number.
        number: u64,
        /// Size in bytes, without the headers of UDP and IP.
        length: u32,
        /// The frames, as qlog's array of JSON objects.
        frames: String,
    },
    /// The end deemed a packet of this type and number lost.
    Lost(&'static str, u64),
    /// The end deemed packets with these bytes lost, whose numbers its stack does not report.
    LostBytes(u64),
    /// The sender's state. The stacks report neither variations nor timeouts.
    State(Vitals),
}

/// The state of a sending end.
#[derive(Clone, Debug, Default)]
pub struct StackState {
    /// Congestion window.
    pub cwnd: Bytes,
    /// Pacing rate, if the controller has one.
    pub pacing: Option<Rate>,
    /// Bytes in flight, as the stack counts them.
    pub in_flight: Bytes,
    /// Smoothed and minimum round-trip time; `None` before the first sample.
    pub rtts: Option<(Duration, Duration)>,
    /// The controller's internal state.
    pub probe: Probe,
    /// Packets deemed lost.
    pub lost: u64,
    /// Packets with data of which some was sent before. A QUIC packet is not repeated itself.
    pub retransmitted: u64,
    /// Reductions of the window that were undone, because the packets were late and not lost.
    pub undone_reductions: u64,
    /// Packets that the controller knows to have been marked.
    pub marked: u64,
    /// Reason of the connection's end, if it has ended.
    pub closed: Option<String>,
}

/// Inputs that a stack cannot give to a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lacks {
    /// Numbers of single packets ([`Needs::every_packet`]).
    pub every_packet: bool,
    /// Receive times of single packets ([`Needs::receive_times`]).
    pub receive_times: bool,
}

impl Lacks {
    /// The input that a controller of these needs requires and the stack lacks.
    pub fn of(&self, needs: &Needs) -> Option<&'static str> {
        // No stack meets a simulated bottleneck.
        let signal = needs.signal.then_some("signals of the bottleneck");
        let times = needs.receive_times && self.receive_times;
        let packets = needs.every_packet && self.every_packet;
        let media = needs.media.then_some("a media source");
        signal
            .or(media)
            .or(times.then_some("receive times of single packets"))
            .or(packets.then_some("numbers of single packets"))
    }
}

/// Registry entry of a stack.
#[derive(Clone, Copy, Debug)]
pub struct StackInfo {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Description in one line.
    pub title: &'static str,
    /// Its settings, with [`StackInfo::MTU`] among them.
    pub params: &'static [Key],
    /// Inputs that it cannot give to a controller.
    pub lacks: Lacks,
}

impl StackInfo {
    /// The size of its full packets, which each stack has as a setting. QUIC's datagrams have at
    /// least 1200 bytes beside the headers of IPv4 and UDP.
    pub const MTU: Key = Key::new(
        "mtu",
        Kind::Data(Bytes(1475), Bytes(1228), Bytes(65_000)),
        "size of a full packet, IP included; without path MTU discovery",
    )
    .from("as the host `quic`; RFC 9000 section 14");
}

/// Inputs to build a stack's connection.
#[derive(Clone, Copy, Debug)]
pub struct StackSetup<'a> {
    /// Values of all its settings.
    pub params: &'a Params,
    /// The controllers by name.
    pub controllers: &'a Catalogue,
    /// The controller of both ends, with the values of all its parameters.
    pub control: (&'a str, &'a Params),
    /// The direction of the end that opens the connection.
    pub opening: Direction,
    /// Seed of all random numbers.
    pub seed: u64,
}

type Build = dyn Fn(&StackSetup<'_>) -> Box<dyn Stack> + Send + Sync;

/// The stacks available by name.
#[derive(Clone, Default)]
pub struct Stacks(Vec<(StackInfo, Arc<Build>)>);

impl Stacks {
    /// No stacks.
    pub const fn none() -> Stacks {
        Stacks(Vec::new())
    }

    /// Adds a stack; `build` makes a connection for each flow.
    pub fn with(
        mut self,
        info: StackInfo,
        build: impl Fn(&StackSetup<'_>) -> Box<dyn Stack> + Send + Sync + 'static,
    ) -> Stacks {
        self.0.push((info, Arc::new(build)));
        self
    }

    /// Their registry entries.
    pub fn infos(&self) -> impl Iterator<Item = &StackInfo> {
        self.0.iter().map(|(info, _)| info)
    }

    /// Registry entry of the stack of this name.
    pub fn find(&self, name: &str) -> Option<&StackInfo> {
        self.infos().find(|info| info.name == name)
    }

    /// Builds a connection of the stack of this name; `None` if the name is unknown.
    pub fn build(&self, name: &str, setup: &StackSetup<'_>) -> Option<Box<dyn Stack>> {
        self.0.iter().find(|(info, _)| info.name == name).map(|(_, build)| build(setup))
    }
}

impl fmt::Debug for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.infos().map(|info| info.name)).finish()
    }
}

/// Equal if they hold the very same stacks.
impl PartialEq for Stacks {
    fn eq(&self, other: &Stacks) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        self.0.len() == other.0.len()
            && pairs.all(|((one, build), (two, other))| {
                one.name == two.name && Arc::ptr_eq(build, other)
            })
    }
}
