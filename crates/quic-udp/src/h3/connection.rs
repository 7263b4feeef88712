//! The part of a connection that both ends share: control and QPACK streams (RFC 9114 section 6.2).

use std::collections::BTreeMap;

use noq_proto::{Connection, Dir, SendStream, StreamId, VarInt, WriteError};
use sojourn_quic::Reassembly;

use super::frame::{Frames, Part, code, frame, kind, put_varint, varint};
use crate::driver::Closing;
use crate::reader::read_stream;

/// Largest setting that is read, in bytes of payload.
const SETTINGS_MOST: usize = 1 << 10;

/// Types of unidirectional streams.
const CONTROL: u64 = 0;
const PUSH: u64 = 1;
const ENCODER: u64 = 2;
const DECODER: u64 = 3;

/// Settings: the greatest field section (RFC 9114 section 7.2.4.1).
const MAX_FIELD_SECTION_SIZE: u64 = 0x06;
/// Settings of HTTP/2 that HTTP/3 forbids (section 7.2.4.1).
const FORBIDDEN_SETTINGS: [u64; 4] = [0x02, 0x03, 0x04, 0x05];

/// Ends a connection for a fault of the peer.
pub(super) fn fault<T>(code: u32, reason: &'static str) -> Result<T, Closing> {
    Err(Closing { code, reason })
}

/// The peer's unidirectional streams, and the own control stream.
#[derive(Debug)]
pub(super) struct Common {
    is_client: bool,
    control: Option<StreamId>,
    /// The beginning of the own control stream that the stack has not taken.
    unsent: Vec<u8>,
    goaway: Option<u64>,
    incoming: BTreeMap<StreamId, (Incoming, Reassembly)>,
    /// Kinds of critical streams that the peer has opened.
    opened: [bool; 4],
}

#[derive(Debug)]
enum Incoming {
    /// The beginning of its type.
    Typed(Vec<u8>),
    Control(Control),
    Encoder,
    Decoder,
}

#[derive(Debug, Default)]
struct Control {
    frames: Frames,
    kind: u64,
    has_settings: bool,
    /// Payload of SETTINGS or GOAWAY.
    payload: Vec<u8>,
    /// Payload that is still to come.
    left: u64,
    is_client: bool,
    /// The identifier of the last GOAWAY.
    goaway: Option<u64>,
}

impl Common {
    pub(super) fn new(is_client: bool) -> Common {
        Common {
            is_client,
            control: None,
            unsent: Vec::new(),
            goaway: None,
            incoming: BTreeMap::new(),
            opened: [false; 4],
        }
    }

    /// The handshake has ended: the own control stream begins with the settings.
    pub(super) fn begin(&mut self, connection: &mut Connection) {
        let mut settings = Vec::new();
        put_varint(&mut settings, MAX_FIELD_SECTION_SIZE);
        put_varint(&mut settings, super::frame::LARGEST);
        self.unsent = vec![CONTROL as u8];
        self.unsent.extend_from_slice(&frame(kind::SETTINGS, &settings));
        self.write(connection);
    }

    /// Opens the own control stream and writes its beginning. The peer may allow no stream at
    /// present, or no more data.
    pub(super) fn write(&mut self, connection: &mut Connection) {
        if self.unsent.is_empty() {
            return;
        }
        self.control = self.control.or_else(|| connection.streams().open(Dir::Uni));
        if let Some(id) = self.control {
            write_some(&mut connection.send_stream(id), &mut self.unsent);
        }
    }

    /// Whether the peer makes an end: it takes no new requests (RFC 9114 section 5.2).
    pub(super) fn is_going_away(&self) -> bool {
        self.goaway.is_some()
    }

    /// The order of the data of each stream.
    pub(super) fn orders(&self) -> impl Iterator<Item = &Reassembly> {
        self.incoming.values().map(|(_, order)| order)
    }

    /// Accepts the unidirectional streams that the peer has opened.
    pub(super) fn accept(&mut self, connection: &mut Connection) -> Result<(), Closing> {
        while let Some(id) = connection.streams().accept(Dir::Uni) {
            self.incoming.insert(id, (Incoming::Typed(Vec::new()), Reassembly::default()));
            self.read(id, connection)?;
        }
        Ok(())
    }

    /// Reads a unidirectional stream of the peer.
    pub(super) fn read(
        &mut self,
        id: StreamId,
        connection: &mut Connection,
    ) -> Result<(), Closing> {
        let Some((mut incoming, mut order)) = self.incoming.remove(&id) else { return Ok(()) };
        let mut bytes = Vec::new();
        let is_open = read_stream(id, connection, &mut order, |chunk| {
            bytes.extend_from_slice(chunk);
            true
        });
        let mut rest = &bytes[..];
        if let Incoming::Typed(head) = &mut incoming {
            while let Some((byte, after)) = rest.split_first() {
                head.push(*byte);
                rest = after;
                let Some(kind) = varint(&mut &head[..]) else { continue };
                match self.typed(kind)? {
                    Some(known) => incoming = known,
                    None => {
                        let _ = connection
                            .recv_stream(id)
                            .stop(VarInt::from_u32(code::STREAM_CREATION_ERROR));
                        return Ok(());
                    }
                }
                break;
            }
        }
        incoming.read(rest)?;
        if let Incoming::Control(control) = &incoming {
            self.goaway = control.goaway;
        }
        match (&incoming, is_open) {
            (_, true) => {
                self.incoming.insert(id, (incoming, order));
            }
            (Incoming::Typed(_), false) => {}
            _ => {
                let reason = "a control or QPACK stream was closed";
                return fault(code::CLOSED_CRITICAL_STREAM, reason);
            }
        }
        Ok(())
    }

    /// A stream of this type begins; `None` for an unknown type, which is ignored.
    fn typed(&mut self, kind: u64) -> Result<Option<Incoming>, Closing> {
        let incoming = match kind {
            CONTROL => {
                Incoming::Control(Control { is_client: self.is_client, ..Control::default() })
            }
            ENCODER => Incoming::Encoder,
            DECODER => Incoming::Decoder,
            // RFC 9114 section 4.6: this client sends no MAX_PUSH_ID. Section 6.2.2: clients
            // cannot push.
            PUSH if self.is_client => return fault(code::ID_ERROR, "push was not allowed"),
            PUSH => return fault(code::STREAM_CREATION_ERROR, "a push stream of a client"),
            _ => return Ok(None),
        };
        if std::mem::replace(&mut self.opened[kind as usize], true) {
            let reason = "a second control or QPACK stream";
            return fault(code::STREAM_CREATION_ERROR, reason);
        }
        Ok(Some(incoming))
    }
}

impl Incoming {
    fn read(&mut self, bytes: &[u8]) -> Result<(), Closing> {
        match self {
            Incoming::Control(control) => control.read(bytes),
            // RFC 9204 section 4.3.1: without capacity, the only instruction is a capacity of zero.
            Incoming::Encoder if bytes.iter().any(|byte| *byte != 0x20) => {
                fault(code::ENCODER_STREAM_ERROR, "the dynamic table has no capacity")
            }
            // Its instructions concern a dynamic table alone.
            Incoming::Typed(_) | Incoming::Encoder | Incoming::Decoder => Ok(()),
        }
    }
}

impl Control {
    fn read(&mut self, mut bytes: &[u8]) -> Result<(), Closing> {
        while let Some(part) = self.frames.next(&mut bytes) {
            match part {
                Part::Begins { kind, len } => self.begin(kind, len)?,
                Part::Payload(payload) if [kind::SETTINGS, kind::GOAWAY].contains(&self.kind) => {
                    self.payload.extend_from_slice(payload);
                    self.left -= payload.len() as u64;
                }
                Part::Payload(_) => {}
            }
            if self.left == 0 {
                let payload = std::mem::take(&mut self.payload);
                match self.kind {
                    kind::SETTINGS => check_settings(&payload)?,
                    kind::GOAWAY => self.go_away(&payload)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, kind: u64, len: u64) -> Result<(), Closing> {
        self.kind = kind;
        if !self.has_settings && kind != kind::SETTINGS {
            return fault(code::MISSING_SETTINGS, "the first frame is not SETTINGS");
        }
        let is_second = kind == kind::SETTINGS && std::mem::replace(&mut self.has_settings, true);
        let is_foreign = [kind::DATA, kind::HEADERS, kind::PUSH_PROMISE].contains(&kind)
            || kind::FORBIDDEN.contains(&kind);
        // RFC 9114 section 7.2.7.
        let is_of_clients = kind == kind::MAX_PUSH_ID && self.is_client;
        if is_second || is_foreign || is_of_clients {
            return fault(code::FRAME_UNEXPECTED, "a frame on the control stream");
        }
        if kind == kind::SETTINGS && len > SETTINGS_MOST as u64 {
            return fault(code::EXCESSIVE_LOAD, "the settings are too long");
        }
        // Section 7.2.3: no push was allowed or promised.
        if kind == kind::CANCEL_PUSH {
            return fault(code::ID_ERROR, "CANCEL_PUSH of an unknown push");
        }
        if kind == kind::GOAWAY && len > 8 {
            return fault(code::FRAME_ERROR, "GOAWAY is too long");
        }
        self.left = len;
        Ok(())
    }

    /// RFC 9114 section 5.2: a server names a client's bidirectional stream, and no GOAWAY names
    /// more than the one before.
    fn go_away(&mut self, mut payload: &[u8]) -> Result<(), Closing> {
        let Some(id) = varint(&mut payload).filter(|_| payload.is_empty()) else {
            return fault(code::FRAME_ERROR, "GOAWAY has another length");
        };
        if self.is_client && id % 4 != 0 || self.goaway.is_some_and(|last| id > last) {
            return fault(code::ID_ERROR, "GOAWAY with a wrong identifier");
        }
        self.goaway = Some(id);
        Ok(())
    }
}

/// Writes bytes as long as the stack takes them, and keeps the rest. The peer needs nothing of a
/// stream that it has stopped.
pub(super) fn write_some(stream: &mut SendStream<'_>, bytes: &mut Vec<u8>) {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(count) => drop(bytes.drain(..count)),
            Err(WriteError::Blocked) => return,
            Err(_) => bytes.clear(),
        }
    }
}

fn check_settings(mut payload: &[u8]) -> Result<(), Closing> {
    while !payload.is_empty() {
        let (Some(id), Some(_)) = (varint(&mut payload), varint(&mut payload)) else {
            return fault(code::FRAME_ERROR, "the settings are cut");
        };
        if FORBIDDEN_SETTINGS.contains(&id) {
            return fault(code::SETTINGS_ERROR, "a setting of HTTP/2");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a control stream with these frames after the settings.
    fn control(is_client: bool, frames: &[(u64, &[u8])]) -> Result<Option<u64>, u32> {
        let mut control = Control { is_client, ..Control::default() };
        let mut bytes = frame(kind::SETTINGS, &[]);
        bytes.extend(frames.iter().flat_map(|(kind, payload)| frame(*kind, payload)));
        for byte in bytes {
            control.read(&[byte]).map_err(|closing| closing.code)?;
        }
        Ok(control.goaway)
    }

    #[test]
    fn frames_of_pushes_are_refused() {
        assert_eq!(control(true, &[(kind::MAX_PUSH_ID, &[1])]), Err(code::FRAME_UNEXPECTED));
        assert_eq!(control(false, &[(kind::MAX_PUSH_ID, &[1])]), Ok(None));
        assert_eq!(control(true, &[(kind::CANCEL_PUSH, &[1])]), Err(code::ID_ERROR));
        let code = |is_client| Common::new(is_client).typed(PUSH).expect_err("refused").code;
        assert_eq!((code(true), code(false)), (code::ID_ERROR, code::STREAM_CREATION_ERROR));
    }

    #[test]
    fn goaway_is_read_and_checked() {
        const GOAWAY: u64 = kind::GOAWAY;
        assert_eq!(control(true, &[(GOAWAY, &[0x40, 8]), (GOAWAY, &[4])]), Ok(Some(4)));
        assert_eq!(control(true, &[(GOAWAY, &[4]), (GOAWAY, &[8])]), Err(code::ID_ERROR));
        assert_eq!(control(true, &[(GOAWAY, &[3])]), Err(code::ID_ERROR), "no request's stream");
        assert_eq!(control(false, &[(GOAWAY, &[3])]), Ok(Some(3)), "a push");
        for payload in [&[][..], &[4, 4], &[0x40], &[0; 9]] {
            assert_eq!(control(true, &[(GOAWAY, payload)]), Err(code::FRAME_ERROR));
        }
    }
}
