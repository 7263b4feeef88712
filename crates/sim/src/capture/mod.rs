//! Captures of a run's packets and events, in formats that other tools read.

mod events;
mod named;
mod packets;
mod place;
mod quic;
mod sender_log;
mod stack_events;
mod stack_log;
mod stream;
mod tcp;

use std::io;

use sojourn_scenario::Scenario;
use sojourn_transport::{Data, Direction, LossCause, StackEvent, Vitals};
use sojourn_units::Instant;

use crate::tap::{Carried, Datagram, OutsidePacket, Passage, Tap, Wiring};
use events::Events;
use packets::Packets;
pub use sender_log::{Names, SenderLog, connection_name, sqlog_name};
pub use stack_log::StackLog;

/// Destination of a capture's files, written in pieces.
pub trait Sink: Send + 'static {
    /// Appends to the file of this name.
    ///
    /// # Errors
    /// If the write fails. The capture then stops writing.
    fn append(&mut self, file: &str, bytes: &[u8]) -> io::Result<()>;
}

/// A tap that writes captures.
pub struct Capture {
    packets: Option<Packets>,
    events: Option<Events>,
    outlet: Outlet,
}

/// A sink and its first error.
struct Outlet {
    sink: Box<dyn Sink>,
    failed: Option<io::Error>,
}

impl Outlet {
    fn append(&mut self, file: &str, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.sink.append(file, bytes).err();
        }
    }
}

/// Bytes buffered before they are written.
const PIECE: usize = 1 << 18;

impl Capture {
    /// A capture without files.
    pub fn new(sink: impl Sink) -> Capture {
        Capture {
            packets: None,
            events: None,
            outlet: Outlet { sink: Box::new(sink), failed: None },
        }
    }

    /// Writes every packet as pcapng: to `PREFIX.sender.pcapng` as it passes the sender of its
    /// flow, and to `PREFIX.receiver.pcapng` as it passes the receiver. The TLS secrets of real
    /// stacks are in both, and in `PREFIX.keys.log`.
    pub fn pcapng(mut self, prefix: &str) -> Capture {
        self.packets = Some(Packets::new(prefix));
        self
    }

    /// Writes each connection's transport events as qlog: to `PREFIX.FLOW.sender.sqlog` for the
    /// host that sends the flow's data, and to `PREFIX.FLOW.receiver.sqlog` for the other. Requests
    /// belong to a connection called `FLOW-requests`; a real stack has one connection for both.
    pub fn qlog(mut self, prefix: &str) -> Capture {
        self.events = Some(Events::new(prefix));
        self
    }

    /// Writes all buffered bytes.
    ///
    /// # Errors
    /// The first error of the sink.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(packets) = &mut self.packets {
            packets.flush(&mut self.outlet);
        }
        if let Some(events) = &mut self.events {
            events.flush(&mut self.outlet);
        }
        self.outlet.failed.take().map_or(Ok(()), Err)
    }
}

impl Tap for Capture {
    fn begin(&mut self, scenario: &Scenario, connections: &[Wiring]) {
        if let Some(packets) = &mut self.packets {
            packets.begin(scenario, connections);
        }
        if let Some(events) = &mut self.events {
            events.begin(scenario, connections);
        }
    }

    fn data(&mut self, now: Instant, connection: usize, passage: Passage, data: &Data) {
        if let Some(packets) = &mut self.packets {
            packets.data(now, connection, passage, data);
            packets.hand_on(&mut self.outlet);
        }
        if let Some(events) = &mut self.events {
            events.data(now, connection, passage, data);
            events.hand_on(connection, &mut self.outlet);
        }
    }

    fn ack(&mut self, now: Instant, connection: usize, passage: Passage, carried: &Carried<'_>) {
        if let Some(packets) = &mut self.packets {
            packets.ack(now, connection, passage, carried);
            packets.hand_on(&mut self.outlet);
        }
        if let Some(events) = &mut self.events {
            events.ack(now, connection, passage, carried);
            events.hand_on(connection, &mut self.outlet);
        }
    }

    fn datagram(&mut self, now: Instant, flow: usize, passage: Passage, datagram: &Datagram) {
        if let Some(packets) = &mut self.packets {
            packets.datagram(now, flow, passage, datagram);
            packets.hand_on(&mut self.outlet);
        }
    }

    fn stack_datagram(
        &mut self,
        now: Instant,
        passage: Passage,
        packet: &OutsidePacket,
        payload: &[u8],
    ) {
        if let Some(packets) = &mut self.packets {
            packets.stack(now, passage, packet, payload);
            packets.hand_on(&mut self.outlet);
        }
    }

    fn stack_event(
        &mut self,
        now: Instant,
        flow: usize,
        direction: Direction,
        opens: Direction,
        event: &StackEvent,
    ) {
        if let Some(events) = &mut self.events {
            events.stack.event(now, flow, (direction, opens), event, &mut self.outlet);
        }
    }

    fn secrets(&mut self, lines: &str) {
        if let Some(packets) = self.packets.as_mut().filter(|_| !lines.is_empty()) {
            packets.secrets(lines, &mut self.outlet);
        }
    }

    fn lost(&mut self, now: Instant, connection: usize, number: u64, cause: LossCause) {
        if let Some(events) = &mut self.events {
            events.lost(now, connection, number, cause);
        }
    }

    fn vitals(&mut self, now: Instant, connection: usize, vitals: &Vitals) {
        if let Some(events) = &mut self.events {
            events.vitals(now, connection, vitals);
        }
    }
}
