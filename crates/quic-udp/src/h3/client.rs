//! The client's end of a connection of HTTP/3: the same request a number of times, in sequence.

use std::io;

use noq_proto::{Connection, Dir, Event, StreamEvent, StreamId};
use sojourn_quic::{Held, Reassembly};
use sojourn_units::Instant;

use super::connection::{Common, fault, write_some};
use super::frame::{self, Frames, Part, code, kind};
use super::qpack::{self, DecodeError};
use crate::driver::{Application, Closing};
use crate::reader::{held, read_stream};

/// Takes the body of a response.
pub type Sink = Box<dyn FnMut(&[u8]) -> io::Result<()> + Send>;

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Bytes of its body.
    pub bytes: u64,
    /// The length that the server announced.
    pub length: Option<u64>,
    /// The request was passed to the stack.
    pub asked_at: Instant,
    /// The first byte of the response arrived.
    pub began_at: Instant,
    /// The last one did.
    pub ended_at: Instant,
    /// The server ended it before its length.
    pub is_cut: bool,
}

/// A connection that requests a path.
pub struct Get {
    authority: String,
    path: String,
    /// Requests that are still to be made.
    left: u32,
    sink: Sink,
    sink_error: Option<io::Error>,
    common: Common,
    connected_at: Option<Instant>,
    open: Option<Exchange>,
    responses: Vec<Response>,
    closing: Option<Closing>,
}

/// A request whose response is incomplete.
struct Exchange {
    id: StreamId,
    /// The part of the request that the stack has not taken.
    unsent: Vec<u8>,
    order: Reassembly,
    frames: Frames,
    kind: u64,
    section: Vec<u8>,
    left: u64,
    response: Response,
}

impl std::fmt::Debug for Get {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Get").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Get {
    /// Requests `path` of `authority` as often as `count` says. `sink` takes the bodies.
    pub fn new(authority: &str, path: &str, count: u32, sink: Sink) -> Get {
        Get {
            authority: authority.to_owned(),
            path: path.to_owned(),
            left: count,
            sink,
            sink_error: None,
            common: Common::new(true),
            connected_at: None,
            open: None,
            responses: Vec::new(),
            closing: None,
        }
    }

    /// The end of the handshake.
    pub fn connected_at(&self) -> Option<Instant> {
        self.connected_at
    }

    /// The complete responses.
    pub fn responses(&self) -> &[Response] {
        &self.responses
    }

    /// Bytes of all bodies so far.
    pub fn received(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, |exchange| exchange.response.bytes);
        self.responses.iter().map(|response| response.bytes).sum::<u64>() + open
    }

    /// The length of a body, as the server has announced it in the first response.
    pub fn length(&self) -> Option<u64> {
        let open = self.open.as_ref().map(|exchange| &exchange.response);
        self.responses.first().or(open).and_then(|response| response.length)
    }

    /// The fault of the sink that ended the connection.
    pub fn take_sink_error(&mut self) -> Option<io::Error> {
        self.sink_error.take()
    }

    /// Makes the next request, if the one before has its response.
    fn ask(&mut self, now: Instant, connection: &mut Connection) {
        if self.open.is_some() || self.connected_at.is_none() {
            return;
        }
        if self.left == 0 || self.common.is_going_away() {
            self.closing = self.closing.or(Some(Closing { code: code::NO_ERROR, reason: "" }));
            return;
        }
        // The server may allow no stream at present.
        let Some(id) = connection.streams().open(Dir::Bi) else { return };
        let section = qpack::encode(&[
            (":method", "GET"),
            (":scheme", "https"),
            (":authority", &self.authority),
            (":path", &self.path),
            ("user-agent", concat!("sojourn/", env!("CARGO_PKG_VERSION"))),
        ]);
        let unsent = frame::frame(kind::HEADERS, &section);
        self.left -= 1;
        let response = Response {
            status: 0,
            bytes: 0,
            length: None,
            asked_at: now,
            began_at: now,
            ended_at: now,
            is_cut: false,
        };
        let (order, frames, section) = Default::default();
        let exchange = Exchange { id, unsent, order, frames, kind: 0, section, left: 0, response };
        self.open = Some(exchange);
        self.write(connection);
    }

    /// Writes the request as far as flow control allows.
    fn write(&mut self, connection: &mut Connection) {
        let Some(exchange) = self.open.as_mut().filter(|open| !open.unsent.is_empty()) else {
            return;
        };
        let mut stream = connection.send_stream(exchange.id);
        write_some(&mut stream, &mut exchange.unsent);
        if exchange.unsent.is_empty() {
            let _ = stream.finish();
        }
    }

    fn read(
        &mut self,
        now: Instant,
        id: StreamId,
        connection: &mut Connection,
    ) -> Result<(), Closing> {
        if id.dir() == Dir::Uni {
            return self.common.read(id, connection);
        }
        let Some(mut exchange) = self.open.take_if(|exchange| exchange.id == id) else {
            return Ok(());
        };
        let (mut order, mut done) = (std::mem::take(&mut exchange.order), Ok(()));
        let is_open = read_stream(id, connection, &mut order, |bytes| {
            done = exchange.read(now, bytes, &mut |body| {
                let sunk = (self.sink)(body);
                let has_failed = sunk.is_err();
                self.sink_error = self.sink_error.take().or(sunk.err());
                !has_failed
            });
            done.is_ok()
        });
        done?;
        exchange.order = order;
        if is_open {
            self.open = Some(exchange);
            return Ok(());
        }
        let mut response = exchange.response;
        response.ended_at = now;
        let is_short = response.length.is_some_and(|length| length != response.bytes);
        response.is_cut = is_short || response.status == 0 || !exchange.frames.is_whole();
        self.left = if response.is_cut { 0 } else { self.left };
        self.responses.push(response);
        self.ask(now, connection);
        Ok(())
    }
}

impl Exchange {
    fn read(
        &mut self,
        now: Instant,
        mut bytes: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Closing> {
        if self.response.began_at == self.response.asked_at {
            self.response.began_at = now;
        }
        while let Some(part) = self.frames.next(&mut bytes) {
            match part {
                Part::Begins { kind, len } => self.begin(kind, len)?,
                Part::Payload(payload) if self.kind == kind::HEADERS => {
                    self.section.extend_from_slice(payload);
                    self.left -= payload.len() as u64;
                }
                Part::Payload(payload) if self.kind == kind::DATA => {
                    self.response.bytes += payload.len() as u64;
                    if !sink(payload) {
                        return fault(code::INTERNAL_ERROR, "the body cannot be written");
                    }
                }
                Part::Payload(_) => {}
            }
            if self.kind == kind::HEADERS && self.left == 0 {
                self.take_fields()?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, kind: u64, len: u64) -> Result<(), Closing> {
        (self.kind, self.left) = (kind, len);
        match kind {
            kind::HEADERS if len > frame::LARGEST => {
                fault(code::EXCESSIVE_LOAD, "a field section is too long")
            }
            kind::DATA if self.response.status == 0 => {
                fault(code::FRAME_UNEXPECTED, "DATA before the field section of a response")
            }
            // RFC 9114 section 7.2.5: this client sends no MAX_PUSH_ID.
            kind::PUSH_PROMISE => fault(code::ID_ERROR, "push was not allowed"),
            other if kind::CONTROL.contains(&other) => {
                fault(code::FRAME_UNEXPECTED, "a frame on the stream of a response")
            }
            other if kind::FORBIDDEN.contains(&other) => {
                fault(code::FRAME_UNEXPECTED, "a frame of HTTP/2")
            }
            _ => Ok(()),
        }
    }

    /// The field section of a response, an interim one (status 1xx), or trailers.
    fn take_fields(&mut self) -> Result<(), Closing> {
        let fields = match qpack::decode(&std::mem::take(&mut self.section)) {
            Ok(fields) => fields,
            Err(DecodeError::TooLarge) => {
                return fault(code::EXCESSIVE_LOAD, "a field section is too long");
            }
            Err(DecodeError::Malformed) => {
                return fault(code::DECOMPRESSION_FAILED, "a field section cannot be decoded");
            }
        };
        if self.response.status != 0 {
            return Ok(());
        }
        let number = |name: &str| {
            let (_, value) = fields.iter().find(|(known, _)| known == name.as_bytes())?;
            std::str::from_utf8(value).ok()?.parse::<u64>().ok()
        };
        match number(":status").and_then(|status| u16::try_from(status).ok()) {
            Some(100..200) => {}
            Some(status @ 200..600) => {
                (self.response.status, self.response.length) = (status, number("content-length"));
            }
            _ => return fault(code::MESSAGE_ERROR, "a response without status"),
        }
        Ok(())
    }
}

impl Application for Get {
    fn on_event(&mut self, now: Instant, event: Event, connection: &mut Connection) {
        let done = match event {
            Event::Connected => {
                self.connected_at = Some(now);
                self.common.begin(connection);
                Ok(())
            }
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => self.common.accept(connection),
            Event::Stream(StreamEvent::Readable { id }) => self.read(now, id, connection),
            _ => Ok(()),
        };
        self.closing = self.closing.or(done.err());
    }

    fn run(&mut self, now: Instant, connection: &mut Connection) -> Option<Closing> {
        self.common.write(connection);
        self.write(connection);
        self.ask(now, connection);
        self.closing
    }

    fn held(&self) -> Held {
        held(self.common.orders().chain(self.open.as_ref().map(|open| &open.order)))
    }

    fn is_app_limited(&self) -> bool {
        true
    }
}
