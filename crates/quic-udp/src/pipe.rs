//! The application of a flow: bytes in one stream each way, as in virtual time.

use std::collections::BTreeMap;

use bytes::Bytes;
use noq_proto::{Connection, Dir, Event, StreamEvent, StreamId};
use sojourn_quic::{Held, Reassembly};
use sojourn_udp::io::Writer;
use sojourn_units::Instant;

use crate::Closing;
use crate::reader::{held, read_stream};

/// Data that the application writes at once.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Follows the data of a [`Pipe`].
pub trait PipeObserver {
    /// `bytes` more have arrived, in order.
    fn received(&mut self, now: Instant, bytes: u64);
}

/// One end of a flow: it sends the bytes that a [`Writer`] writes, and reads all that arrive.
pub struct Pipe<O> {
    writer: Writer,
    observer: O,
    is_connected: bool,
    stream: Option<StreamId>,
    incoming: BTreeMap<StreamId, Reassembly>,
    /// Bytes that the stack has not taken yet.
    unwritten: u64,
}

impl<O> std::fmt::Debug for Pipe<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipe").field("unwritten", &self.unwritten).finish_non_exhaustive()
    }
}

impl<O: PipeObserver> Pipe<O> {
    /// An end that sends the bytes of `writer`.
    pub fn new(writer: Writer, observer: O) -> Pipe<O> {
        Pipe {
            writer,
            observer,
            is_connected: false,
            stream: None,
            incoming: BTreeMap::new(),
            unwritten: 0,
        }
    }

    /// Streams that the peer may still send on.
    #[cfg(test)]
    pub(crate) fn streams(&self) -> usize {
        self.incoming.len()
    }

    fn read(&mut self, now: Instant, id: StreamId, connection: &mut Connection) {
        let (order, mut read) = (self.incoming.entry(id).or_default(), 0);
        let is_open = read_stream(id, connection, order, |bytes| {
            read += bytes.len() as u64;
            true
        });
        if !is_open {
            // Data behind a gap of a stream that was reset are of no use.
            self.incoming.remove(&id);
        }
        if read > 0 {
            self.observer.received(now, read);
        }
    }

    fn write(&mut self, connection: &mut Connection) {
        self.writer.wait_again();
        self.unwritten += self.writer.take();
        if !self.is_connected || self.unwritten == 0 {
            return;
        }
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(id) = self.stream else { return };
        while self.unwritten > 0 {
            let len = self.unwritten.min(ZEROS.len() as u64) as usize;
            let mut chunk = [Bytes::from_static(&ZEROS[..len])];
            let Ok(written) = connection.send_stream(id).write_chunks(&mut &mut chunk[..]) else {
                return;
            };
            self.unwritten -= written as u64;
        }
    }
}

impl<O: PipeObserver> crate::Application for Pipe<O> {
    fn on_event(&mut self, now: Instant, event: Event, connection: &mut Connection) {
        match event {
            Event::Connected => self.is_connected = true,
            Event::Stream(StreamEvent::Opened { dir }) => {
                while let Some(id) = connection.streams().accept(dir) {
                    self.read(now, id, connection);
                }
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(now, id, connection),
            _ => {}
        }
    }

    fn run(&mut self, _: Instant, connection: &mut Connection) -> Option<Closing> {
        self.write(connection);
        None
    }

    fn held(&self) -> Held {
        held(self.incoming.values())
    }

    fn is_app_limited(&self) -> bool {
        self.is_connected && self.unwritten == 0
    }
}
