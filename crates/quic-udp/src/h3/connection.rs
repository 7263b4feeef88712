//! The part of a connection that both ends share: control and QPACK streams (RFC 9114 section 6.2).

use std::collections::BTreeMap;

use noq_proto::{Connection, Dir, ReadError, StreamId, VarInt};

use super::frame::{Frames, Part, code, frame, kind, put_varint, varint};
use crate::driver::Closing;

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
#[derive(Debug, Default)]
pub(super) struct Common {
    control: Option<StreamId>,
    incoming: BTreeMap<StreamId, Incoming>,
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
    settings: Vec<u8>,
    /// Payload of the settings that is still to come.
    left: u64,
}

impl Common {
    /// Opens the own control stream with the settings.
    pub(super) fn open(&mut self, connection: &mut Connection) {
        let Some(id) = connection.streams().open(Dir::Uni) else { return };
        let mut settings = Vec::new();
        put_varint(&mut settings, MAX_FIELD_SECTION_SIZE);
        put_varint(&mut settings, super::frame::LARGEST);
        let mut bytes = vec![CONTROL as u8];
        bytes.extend_from_slice(&frame(kind::SETTINGS, &settings));
        // Flow control of a new connection has room for them.
        let _ = connection.send_stream(id).write(&bytes);
        self.control = Some(id);
    }

    /// Accepts the unidirectional streams that the peer has opened.
    pub(super) fn accept(&mut self, connection: &mut Connection) -> Result<(), Closing> {
        while let Some(id) = connection.streams().accept(Dir::Uni) {
            self.incoming.insert(id, Incoming::Typed(Vec::new()));
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
        let Some(mut incoming) = self.incoming.remove(&id) else { return Ok(()) };
        let mut bytes = Vec::new();
        let is_open = read_stream(id, connection, |chunk| {
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
        match (&incoming, is_open) {
            (_, true) => {
                self.incoming.insert(id, incoming);
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
            CONTROL => Incoming::Control(Control::default()),
            ENCODER => Incoming::Encoder,
            DECODER => Incoming::Decoder,
            PUSH => return fault(code::STREAM_CREATION_ERROR, "push was not allowed"),
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
                Part::Payload(payload) if self.kind == kind::SETTINGS => {
                    self.settings.extend_from_slice(payload);
                    self.left -= payload.len() as u64;
                }
                Part::Payload(_) => {}
            }
            if self.kind == kind::SETTINGS && self.left == 0 {
                check_settings(&std::mem::take(&mut self.settings))?;
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
        if is_second || is_foreign {
            return fault(code::FRAME_UNEXPECTED, "a frame on the control stream");
        }
        if kind == kind::SETTINGS && len > SETTINGS_MOST as u64 {
            return fault(code::EXCESSIVE_LOAD, "the settings are too long");
        }
        self.left = len;
        Ok(())
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

/// Passes the bytes of a stream to `take`, as long as it wants more. Returns whether more may come.
pub(super) fn read_stream(
    id: StreamId,
    connection: &mut Connection,
    mut take: impl FnMut(&[u8]) -> bool,
) -> bool {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return false };
    // Flow control limits the bytes that have arrived.
    let is_open = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) if take(&chunk.bytes) => {}
            Ok(Some(_)) => break true,
            Ok(None) | Err(ReadError::Reset(_)) => break false,
            Err(ReadError::Blocked) => break true,
        }
    };
    // The next poll sends the new flow control credit.
    let _ = chunks.finalize();
    is_open
}
