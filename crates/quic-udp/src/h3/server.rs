//! The server's end of a connection of HTTP/3.

use std::collections::BTreeMap;

use bytes::Bytes;
use noq_proto::{Connection, Dir, Event, SendStream, StreamEvent, StreamId, VarInt, WriteError};
use sojourn_quic::{Held, Reassembly};
use sojourn_units::Instant;

use super::connection::{Common, fault};
use super::content::{Body, Content, Piece, Pool, Share, text};
use super::frame::{self, Frames, Part, code, kind, put_varint};
use super::qpack::{self, DecodeError, Field};
use crate::driver::{Application, Closing};
use crate::reader::{held, read_stream};

/// The requests of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Requests answered, errors among them.
    pub requests: u64,
    /// Bytes of bodies that the stack has taken.
    pub body_bytes: u64,
}

/// A connection that answers requests.
#[derive(Debug)]
pub struct Server {
    content: Content,
    share: Share,
    common: Common,
    requests: BTreeMap<StreamId, Request>,
    responses: BTreeMap<StreamId, Response>,
    closing: Option<Closing>,
    served: Served,
}

/// A request that is incomplete.
#[derive(Debug, Default)]
struct Request {
    order: Reassembly,
    frames: Frames,
    kind: u64,
    section: Vec<u8>,
    /// Payload of the field section that is still to come.
    left: u64,
}

/// A response that the stack has not taken completely.
#[derive(Debug)]
struct Response {
    head: Bytes,
    body: Body,
    /// A piece of the body that the stack has not taken.
    piece: Bytes,
}

/// The result of a turn of writing.
enum Turn {
    Done,
    Blocked,
}

impl Server {
    /// The end of a new connection.
    pub fn new(content: Content, pool: &Pool) -> Server {
        Server {
            content,
            share: pool.share(),
            common: Common::new(false),
            requests: BTreeMap::new(),
            responses: BTreeMap::new(),
            closing: None,
            served: Served::default(),
        }
    }

    /// The requests so far.
    pub fn served(&self) -> Served {
        self.served
    }

    fn read(&mut self, id: StreamId, connection: &mut Connection) -> Result<(), Closing> {
        if id.dir() == Dir::Uni {
            return self.common.read(id, connection);
        }
        let Some(mut request) = self.requests.remove(&id) else { return Ok(()) };
        let (mut order, mut found) = (std::mem::take(&mut request.order), None);
        let is_open = read_stream(id, connection, &mut order, |bytes| {
            found = request.read(bytes).transpose();
            found.is_none()
        });
        request.order = order;
        match found {
            Some(Ok(section)) => {
                // RFC 9114 section 4.1: the rest of the request is of no importance.
                let _ = connection.recv_stream(id).stop(VarInt::from_u32(code::NO_ERROR));
                self.respond(id, &section, connection)
            }
            Some(Err(Refusal::Connection(closing))) => Err(closing),
            Some(Err(Refusal::Stream(code))) => refuse(id, code, connection),
            None if is_open => {
                self.requests.insert(id, request);
                Ok(())
            }
            None => refuse(id, code::REQUEST_INCOMPLETE, connection),
        }
    }

    /// Answers a request with this field section.
    fn respond(
        &mut self,
        id: StreamId,
        section: &[u8],
        connection: &mut Connection,
    ) -> Result<(), Closing> {
        let fields = match qpack::decode(section) {
            Ok(fields) => fields,
            Err(DecodeError::TooLarge) => return refuse(id, code::EXCESSIVE_LOAD, connection),
            Err(DecodeError::Malformed) => {
                return fault(code::DECOMPRESSION_FAILED, "a field section cannot be decoded");
            }
        };
        if !is_well_formed(&fields) {
            return refuse(id, code::MESSAGE_ERROR, connection);
        }
        let method = value(&fields, ":method").unwrap_or_default();
        let path = value(&fields, ":path").unwrap_or_default();
        let (status, body) = match method {
            b"GET" | b"HEAD" => self.content.find(path, &self.share),
            _ => ("405", text("the methods are GET and HEAD\n")),
        };
        let length = body.len().to_string();
        let mut fields = vec![(":status", status), ("content-length", length.as_str())];
        if let Body::Text(_) = body {
            fields.push(("content-type", "text/plain;charset=utf-8"));
        }
        if status == "405" {
            fields.push(("allow", "GET, HEAD"));
        }
        let mut head = frame::frame(kind::HEADERS, &qpack::encode(&fields));
        let has_body = method != b"HEAD" && body.len() > 0;
        if has_body {
            put_varint(&mut head, kind::DATA);
            put_varint(&mut head, body.len());
        }
        let body = if has_body { body } else { Body::Zeros(0) };
        self.served.requests += 1;
        self.responses.insert(id, Response { head: head.into(), body, piece: Bytes::new() });
        Ok(())
    }

    fn write(&mut self, connection: &mut Connection) {
        let Server { responses, share, served, .. } = self;
        responses.retain(|id, response| {
            let mut stream = connection.send_stream(*id);
            match response.write(&mut stream, share, served) {
                Ok(Turn::Blocked) => true,
                Ok(Turn::Done) => {
                    let _ = stream.finish();
                    false
                }
                Err(()) => {
                    let _ = stream.reset(VarInt::from_u32(code::INTERNAL_ERROR));
                    false
                }
            }
        });
    }

    fn accept(&mut self, dir: Dir, connection: &mut Connection) -> Result<(), Closing> {
        if dir == Dir::Uni {
            return self.common.accept(connection);
        }
        while let Some(id) = connection.streams().accept(Dir::Bi) {
            self.requests.insert(id, Request::default());
            self.read(id, connection)?;
        }
        Ok(())
    }
}

/// The first value of a field.
fn value<'a>(fields: &'a [Field], name: &str) -> Option<&'a [u8]> {
    fields.iter().find(|(known, _)| known == name.as_bytes()).map(|(_, value)| &value[..])
}

/// Pseudo-header fields of requests (RFC 9114 section 4.3.1).
const PSEUDO: [&str; 4] = [":method", ":scheme", ":authority", ":path"];
/// Fields that concern a connection of HTTP/1.1 (section 4.2).
const OF_CONNECTION: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// Whether the fields are those of a request (RFC 9114 sections 4.2, 4.3, 4.3.1 and 4.4).
fn is_well_formed(fields: &[Field]) -> bool {
    let count = |name: &str| fields.iter().filter(|(known, _)| known == name.as_bytes()).count();
    let is_among = |name: &[u8], names: &[&str]| names.iter().any(|one| one.as_bytes() == name);
    let pseudo = fields.iter().take_while(|(name, _)| name.starts_with(b":")).count();
    let (pseudo, plain) = fields.split_at(pseudo);
    let are_known = pseudo.iter().all(|(name, _)| is_among(name, &PSEUDO));
    let are_plain = plain.iter().all(|(name, value)| {
        let is_name =
            !name.is_empty() && !name.iter().any(|byte| b':' == *byte || byte.is_ascii_uppercase());
        let is_te = name != b"te" || value == b"trailers";
        is_name && is_te && !is_among(name, &OF_CONNECTION)
    });
    let are_single = PSEUDO.iter().all(|name| count(name) <= 1);
    let has_target = if value(fields, ":method") == Some(b"CONNECT") {
        count(":authority") == 1 && count(":scheme") + count(":path") == 0
    } else {
        let has_host = count(":authority") + count("host") > 0;
        let has_path = value(fields, ":path").is_some_and(|path| !path.is_empty());
        count(":method") + count(":scheme") == 2 && has_path && has_host
    };
    are_known && are_plain && are_single && has_target
}

/// A fault of a request.
enum Refusal {
    /// It ends the connection.
    Connection(Closing),
    /// It ends the stream, with this code.
    Stream(u32),
}

impl Request {
    /// Reads a piece. Returns the field section once it is complete.
    fn read(&mut self, mut bytes: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
        while let Some(part) = self.frames.next(&mut bytes) {
            match part {
                Part::Begins { kind, len } => self.begin(kind, len)?,
                Part::Payload(payload) if self.kind == kind::HEADERS => {
                    self.section.extend_from_slice(payload);
                    self.left -= payload.len() as u64;
                }
                Part::Payload(_) => {}
            }
            if self.kind == kind::HEADERS && self.left == 0 {
                return Ok(Some(std::mem::take(&mut self.section)));
            }
        }
        Ok(None)
    }

    fn begin(&mut self, kind: u64, len: u64) -> Result<(), Refusal> {
        (self.kind, self.left) = (kind, len);
        match kind {
            kind::HEADERS if len > frame::LARGEST => Err(Refusal::Stream(code::EXCESSIVE_LOAD)),
            kind::HEADERS => Ok(()),
            kind::DATA | kind::PUSH_PROMISE => unexpected(),
            other if kind::CONTROL.contains(&other) => unexpected(),
            other if kind::FORBIDDEN.contains(&other) => unexpected(),
            // RFC 9114 section 9: unknown frames are ignored.
            _ => Ok(()),
        }
    }
}

fn unexpected() -> Result<(), Refusal> {
    let reason = "a frame before the field section of a request";
    Err(Refusal::Connection(Closing { code: code::FRAME_UNEXPECTED, reason }))
}

fn refuse(id: StreamId, code: u32, connection: &mut Connection) -> Result<(), Closing> {
    let _ = connection.recv_stream(id).stop(VarInt::from_u32(code));
    let _ = connection.send_stream(id).reset(VarInt::from_u32(code));
    Ok(())
}

impl Response {
    /// Passes data to the stack as long as it takes them. An error: the file cannot be read, or
    /// the peer wants no more.
    fn write(
        &mut self,
        stream: &mut SendStream<'_>,
        share: &Share,
        served: &mut Served,
    ) -> Result<Turn, ()> {
        if let Turn::Blocked = pass(stream, &mut self.head)? {
            return Ok(Turn::Blocked);
        }
        loop {
            let before = self.piece.len();
            let turn = pass(stream, &mut self.piece)?;
            served.body_bytes += (before - self.piece.len()) as u64;
            if let Turn::Blocked = turn {
                return Ok(turn);
            }
            match self.body.next(share).map_err(|_| ())? {
                Piece::Bytes(bytes) => self.piece = bytes,
                Piece::End => return Ok(Turn::Done),
                Piece::Wait => return Ok(Turn::Blocked),
            }
        }
    }
}

fn pass(stream: &mut SendStream<'_>, bytes: &mut Bytes) -> Result<Turn, ()> {
    while !bytes.is_empty() {
        match stream.write_chunks(&mut std::slice::from_mut(bytes)) {
            Ok(_) => {}
            Err(WriteError::Blocked) => return Ok(Turn::Blocked),
            Err(_) => return Err(()),
        }
    }
    Ok(Turn::Done)
}

impl Application for Server {
    fn on_event(&mut self, _: Instant, event: Event, connection: &mut Connection) {
        let done = match event {
            Event::Connected => {
                self.common.begin(connection);
                Ok(())
            }
            Event::Stream(StreamEvent::Opened { dir }) => self.accept(dir, connection),
            Event::Stream(StreamEvent::Readable { id }) => self.read(id, connection),
            Event::Stream(StreamEvent::Stopped { id, .. }) => {
                self.responses.remove(&id);
                let _ = connection.send_stream(id).reset(VarInt::from_u32(code::NO_ERROR));
                Ok(())
            }
            _ => Ok(()),
        };
        self.closing = self.closing.or(done.err());
    }

    fn run(&mut self, _: Instant, connection: &mut Connection) -> Option<Closing> {
        self.common.write(connection);
        self.write(connection);
        self.closing
    }

    fn held(&self) -> Held {
        held(self.common.orders().chain(self.requests.values().map(|request| &request.order)))
    }

    fn is_app_limited(&self) -> bool {
        self.responses.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_requests_are_recognized() {
        let is_good = |extra: &[(&str, &str)], without: &str| {
            let whole =
                [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/")];
            let fields = whole.iter().filter(|(name, _)| *name != without).chain(extra);
            let bytes = |(name, value): &(&str, &str)| (name.as_bytes().into(), (*value).into());
            is_well_formed(&fields.map(bytes).collect::<Vec<_>>())
        };
        assert!(is_good(&[], ""));
        assert!(is_good(&[("te", "trailers"), ("accept", "X")], ""));
        assert!(is_good(&[("host", "a")], ":authority"));
        for without in PSEUDO {
            assert!(!is_good(&[], without), "{without}");
        }
        for extra in [
            (":path", "/"),
            (":status", "200"),
            ("Accept", "x"),
            ("", "x"),
            ("connection", "close"),
            ("te", "gzip"),
        ] {
            assert!(!is_good(&[extra], ""), "{extra:?}");
        }
        assert!(!is_good(&[("accept", "x"), (":path", "/")], ":path"), "a pseudo-header last");
    }

    #[test]
    fn frames_of_the_control_stream_end_a_connection() {
        for kind in kind::CONTROL.into_iter().chain([kind::DATA, kind::PUSH_PROMISE, 0x06]) {
            let read = Request::default().read(&frame::frame(kind, &[0]));
            let Err(Refusal::Connection(closing)) = read else { panic!("kind {kind} is read") };
            assert_eq!(closing.code, code::FRAME_UNEXPECTED);
        }
        assert!(Request::default().read(&frame::frame(0x21, &[0])).is_ok(), "an unknown kind");
    }
}
