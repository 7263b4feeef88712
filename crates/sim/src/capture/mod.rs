//! What passes the hosts of a run, written as captures that other tools read.

mod events;
mod packets;
mod place;
mod quic;
mod stream;
mod tcp;

use std::io;

use sojourn_scenario::Scenario;
use sojourn_transport::{Data, LossCause, Vitals};
use sojourn_units::Instant;

use crate::tap::{Carried, Passage, Ping, Tap, Wiring};
use events::Events;
use packets::Packets;

/// Where the files of a capture go, piece by piece.
pub trait Sink: Send + 'static {
    /// Appends to the file of this name.
    ///
    /// # Errors
    /// Where that is not possible: nothing more is written then.
    fn append(&mut self, file: &str, bytes: &[u8]) -> io::Result<()>;
}

/// Listens, and writes.
pub struct Capture {
    packets: Option<Packets>,
    events: Option<Events>,
    outlet: Outlet,
}

/// A sink, and what went wrong with it.
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

/// Bytes that wait before they are handed on.
const PIECE: usize = 1 << 18;

impl Capture {
    /// One that writes nothing yet.
    pub fn new(sink: impl Sink) -> Capture {
        Capture {
            packets: None,
            events: None,
            outlet: Outlet { sink: Box::new(sink), failed: None },
        }
    }

    /// Writes every packet as pcapng, to `PREFIX.sender.pcapng` where it passes the sender of
    /// its flow, to `PREFIX.receiver.pcapng` where it passes the receiver.
    pub fn pcapng(mut self, prefix: &str) -> Capture {
        self.packets = Some(Packets::new(prefix));
        self
    }

    /// Writes what each connection's transport does as qlog, to `PREFIX.FLOW.server.sqlog`
    /// for the host that sends the data of its flow, and to `PREFIX.FLOW.client.sqlog` for the
    /// other; requests are of a connection called `FLOW-requests`.
    pub fn qlog(mut self, prefix: &str) -> Capture {
        self.events = Some(Events::new(prefix));
        self
    }

    /// Hands on all that waits.
    ///
    /// # Errors
    /// The first that the sink gave.
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

    fn datagram(&mut self, now: Instant, flow: usize, passage: Passage, number: u32, size: u32) {
        if let Some(packets) = &mut self.packets {
            packets.datagram(now, flow, passage, number, size);
            packets.hand_on(&mut self.outlet);
        }
    }

    fn ping(&mut self, now: Instant, flow: usize, passage: Passage, ping: &Ping) {
        if let Some(packets) = &mut self.packets {
            packets.ping(now, flow, passage, ping);
            packets.hand_on(&mut self.outlet);
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
