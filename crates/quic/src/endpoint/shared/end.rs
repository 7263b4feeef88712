//! One end of a connection.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant as StdInstant;

use bytes::{Bytes, BytesMut};
use sojourn_units::{Ecn, Instant};

use super::dialect::{self, proto};
use super::kit::codepoint;
use crate::ledger::{Clock, Ledger};
use crate::link::Link;
use crate::lock::lock;
use crate::{Held, Reassembly, ReceiveWindow};
use proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, Event, ReadError, StreamEvent,
    StreamId, VarInt,
};

/// Data that may wait in the stack for their acknowledgement, and those that the peer may send ahead
/// of the application: a round trip of 100 ms at 5 Gbit/s. The congestion window limits a connection
/// before.
pub(super) const WINDOW: u32 = 64 << 20;
/// Data that the application writes at once.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A datagram that leaves.
pub(super) struct Leaving {
    pub(super) bytes: BytesMut,
    pub(super) is_ecn_capable: bool,
}

/// One end.
pub(super) struct End {
    pub(super) endpoint: Endpoint,
    pub(super) connection: Option<(ConnectionHandle, Connection)>,
    pub(super) link: Link,
    ledger: Option<Arc<Mutex<Ledger>>>,
    /// The time that counts as zero.
    epoch: StdInstant,
    is_connected: bool,
    /// The stream of its data.
    stream: Option<StreamId>,
    /// Bytes that the application has not yet passed to the stack.
    unwritten: u64,
    /// Time of the stack's next timer.
    timer: Instant,
    /// Bytes that the application has read in order.
    pub(super) read: u64,
    incoming: BTreeMap<StreamId, Reassembly>,
    window: ReceiveWindow,
    buffer: Vec<u8>,
    pub(super) closed: Option<String>,
}

impl End {
    pub(super) fn new(endpoint: Endpoint, link: Link, epoch: StdInstant) -> End {
        End {
            endpoint,
            connection: None,
            link,
            ledger: None,
            epoch,
            is_connected: false,
            stream: None,
            unwritten: 0,
            timer: Instant::MAX,
            read: 0,
            incoming: BTreeMap::new(),
            window: ReceiveWindow::new(WINDOW.into()),
            buffer: Vec::new(),
            closed: None,
        }
    }

    /// The stack's time.
    pub(super) fn time(&self, now: Instant) -> StdInstant {
        self.epoch + std::time::Duration::from_nanos(now.0)
    }

    pub(super) fn write(&mut self, bytes: u64) {
        self.unwritten = self.unwritten.saturating_add(bytes);
    }

    /// Drops the data that the stack does not have yet.
    pub(super) fn stop(&mut self) {
        self.unwritten = 0;
    }

    /// Takes a new connection.
    pub(super) fn set(&mut self, (handle, connection): (ConnectionHandle, Connection)) {
        self.connection = Some((handle, connection));
        self.ledger = self.link.ledger();
    }

    pub(super) fn ledger(&self) -> Option<&Mutex<Ledger>> {
        self.ledger.as_deref()
    }

    /// Time of the next timer or departure.
    pub(super) fn next_at(&self) -> Instant {
        let departure = self.ledger().and_then(|ledger| lock(ledger).gate().open_at());
        self.timer.min(departure.unwrap_or(Instant::MAX))
    }

    /// Runs the timers that are due.
    pub(super) fn on_timer(&mut self, now: Instant) {
        let time = self.time(now);
        if let Some((_, connection)) = &mut self.connection
            && self.timer <= now
        {
            connection.handle_timeout(time);
        }
    }

    /// A datagram arrives. Returns the endpoint's event if no connection has the datagram's ID.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        from: SocketAddr,
        bytes: BytesMut,
        ecn: Ecn,
    ) -> Option<DatagramEvent> {
        let ecn = codepoint(ecn);
        let time = self.time(now);
        let mut answer = std::mem::take(&mut self.buffer);
        answer.clear();
        let event = dialect::handle(&mut self.endpoint, time, from, ecn, bytes, &mut answer);
        self.buffer = answer;
        match (event?, &mut self.connection) {
            (DatagramEvent::ConnectionEvent(_, event), Some((_, connection))) => {
                connection.handle_event(event);
                None
            }
            (event, _) => Some(event),
        }
    }

    /// Lets the application act and the stack send, until both have finished.
    pub(super) fn drive(&mut self, now: Instant, send: &mut dyn FnMut(Leaving)) {
        self.exchange_events();
        self.run_application(now);
        self.transmit(now, send);
        self.exchange_events();
        if let Some((_, connection)) = &mut self.connection {
            let timer = connection.poll_timeout();
            self.timer = timer.map_or(Instant::MAX, |at| Clock(self.epoch).time(at));
        }
    }

    fn exchange_events(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
    }

    fn run_application(&mut self, now: Instant) {
        let Some((_, connection)) = &mut self.connection else { return };
        let mut readable = Vec::new();
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::ConnectionLost { reason } => self.closed = Some(reason.to_string()),
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = connection.streams().accept(dir) {
                        readable.push(id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => readable.push(id),
                _ => {}
            }
        }
        for id in readable {
            self.read_all(id);
        }
        self.limit_window(now);
        self.write_more();
    }

    fn read_all(&mut self, id: StreamId) {
        let Some((_, connection)) = &mut self.connection else { return };
        let (mut stream, read) = (connection.recv_stream(id), &mut self.read);
        let Ok(mut chunks) = stream.read(false) else { return };
        let order = self.incoming.entry(id).or_default();
        let is_open = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    order.insert(chunk.offset, chunk.bytes, |bytes| *read += bytes.len() as u64);
                }
                Ok(None) | Err(ReadError::Reset(_)) => break false,
                Err(ReadError::Blocked) => break true,
            }
        };
        // The next poll sends the new flow control credit.
        let _ = chunks.finalize();
        if !is_open {
            self.incoming.remove(&id);
        }
    }

    /// Grants no credit for the data that wait for earlier ones, and ends a connection whose pieces
    /// are too many.
    fn limit_window(&mut self, now: Instant) {
        let time = self.time(now);
        let Some((_, connection)) = &mut self.connection else { return };
        let held: Held = self.incoming.values().map(Reassembly::held).sum();
        if held.has_too_many_pieces() && self.closed.is_none() {
            connection.close(time, VarInt::from_u32(0), Bytes::new());
            self.closed = Some("too many pieces of streams wait for missing data".to_owned());
        }
        let window = self.window.update(held).and_then(|window| VarInt::from_u64(window).ok());
        if let Some(window) = window {
            connection.set_receive_window(window);
        }
    }

    /// Passes data to the stack, as long as it takes them.
    fn write_more(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        if !self.is_connected || self.unwritten == 0 {
            return;
        }
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(id) = self.stream else { return };
        while self.unwritten > 0 {
            let len = self.unwritten.min(ZEROS.len() as u64) as usize;
            let mut stream = connection.send_stream(id);
            let Some(written) = dialect::write(&mut stream, &ZEROS[..len]) else { return };
            self.unwritten -= written as u64;
        }
    }

    fn transmit(&mut self, now: Instant, send: &mut dyn FnMut(Leaving)) {
        let time = self.time(now);
        let Some((_, connection)) = &mut self.connection else { return };
        let Some(ledger) = &self.ledger else { return };
        loop {
            lock(ledger).gate().open(now);
            self.buffer.clear();
            let transmit = dialect::poll_transmit(connection, time, &mut self.buffer);
            let Some(transmit) = transmit else { break };
            let bytes = BytesMut::from(&self.buffer[..transmit.size]);
            send(Leaving { bytes, is_ecn_capable: transmit.ecn.is_some() });
        }
        let mut ledger = lock(ledger);
        if self.is_connected && self.unwritten == 0 && !ledger.gate().was_blocked() {
            ledger.on_app_limited();
        }
    }
}
