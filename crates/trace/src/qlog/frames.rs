//! The frames of a packet: its number space, its data, and what it acknowledges.

use serde_json::Value;

use super::json::{count, first};

/// Encryption level, which has a packet number space and a CRYPTO stream of its own (RFC 9000
/// sections 12.3 and 19.6). 0-RTT and 1-RTT packets share both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Initial,
    Handshake,
    Application,
}

/// The stream of some data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stream {
    /// A STREAM frame's (RFC 9000 section 19.8); the greatest number for an unknown stream.
    Bytes(u64),
    Crypto(Level),
    /// None: DATAGRAM frames have no offset and are never retransmitted (RFC 9221 section 5).
    Datagram,
}

/// Data in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) stream: Stream,
    /// Offset in the stream, in bytes.
    pub(super) start: u64,
    /// Length in bytes; 0 if the log omits it.
    pub(super) len: u64,
}

/// An acknowledgement.
pub(super) struct Ack<'a> {
    frame: &'a Value,
}

/// The encryption level of a packet.
pub(super) fn level(data: &Value) -> Level {
    match packet_type(data) {
        Some(kind) if kind.eq_ignore_ascii_case("initial") => Level::Initial,
        Some(kind) if kind.eq_ignore_ascii_case("handshake") => Level::Handshake,
        _ => Level::Application,
    }
}

fn packet_type(data: &Value) -> Option<&str> {
    let kinds = [&data["header"]["packet_type"], &data["packet_type"], &data["type"]];
    kinds.into_iter().find(|kind| !kind.is_null()).and_then(Value::as_str)
}

/// Packets without frames (RFC 9000 sections 10.3, 17.2.1 and 17.2.5).
const WITHOUT_FRAMES: [&str; 3] = ["retry", "version_negotiation", "stateless_reset"];

/// The number of a packet.
pub(super) fn number(data: &Value) -> Option<u64> {
    let own = data["header"].get("packet_number");
    count(own.unwrap_or(&data["packet_number"]))
}

/// The length of a packet, in bytes; 0 if the log omits it.
pub(super) fn length(data: &Value) -> u64 {
    let header = &data["header"];
    let named = [&data["raw"]["length"], &header["packet_size"], &data["packet_size"]];
    named.into_iter().find_map(count).unwrap_or(0)
}

/// The frames of a packet; `None` if the log omits them.
pub(super) fn frames(data: &Value) -> Option<&[Value]> {
    let kind = packet_type(data).unwrap_or_default();
    match data["frames"].as_array() {
        Some(frames) => Some(frames),
        None => WITHOUT_FRAMES.iter().any(|none| none.eq_ignore_ascii_case(kind)).then_some(&[]),
    }
}

/// Frames that alone make their receiver send no acknowledgement (RFC 9002 section 2,
/// draft-ietf-quic-multipath-19, draft-huitema-quic-ts-08), and the other name of a
/// CONNECTION_CLOSE frame of type 0x1d.
const SILENT: [&str; 6] =
    ["ack", PATH_ACK, "padding", "connection_close", "application_close", "time_stamp"];

/// Whether a packet with these frames is ack-eliciting (RFC 9002 section 2).
pub(super) fn elicits_ack(frames: &[Value]) -> bool {
    frames.iter().any(|frame| !SILENT.iter().any(|kind| is_of(frame, kind)))
}

/// Whether a frame has this type. draft-00 writes the types in capitals.
fn is_of(frame: &Value, kind: &str) -> bool {
    frame["frame_type"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(kind))
}

/// The data of a packet.
pub(super) fn pieces(frames: &[Value], level: Level) -> Box<[Piece]> {
    frames.iter().filter_map(|frame| piece(frame, level)).collect()
}

fn piece(frame: &Value, level: Level) -> Option<Piece> {
    let stream = match frame {
        _ if is_of(frame, "stream") => {
            Stream::Bytes(count(first(frame, &["stream_id", "id"])).unwrap_or(u64::MAX))
        }
        _ if is_of(frame, "crypto") => Stream::Crypto(level),
        _ if is_of(frame, "datagram") => Stream::Datagram,
        _ => return None,
    };
    let raw = first(&frame["raw"], &["payload_length", "length"]);
    let len = count(frame.get("length").unwrap_or(raw));
    // A frame that ends with its packet may have no length in the log (picoquic's DATAGRAM).
    let piece =
        Piece { stream, start: count(&frame["offset"]).unwrap_or(0), len: len.unwrap_or(0) };
    Some(piece).filter(|_| len != Some(0))
}

/// The acknowledgements in a packet.
pub(super) fn acks(frames: &[Value]) -> impl Iterator<Item = Ack<'_>> {
    let kinds = |frame: &&Value| is_of(frame, "ack") || is_of(frame, PATH_ACK);
    frames.iter().filter(kinds).map(|frame| Ack { frame })
}

/// The frame that acknowledges packets of any path (draft-ietf-quic-multipath-19).
const PATH_ACK: &str = "path_ack";

impl Ack<'_> {
    /// The path whose packets it acknowledges: 0 for an ACK frame (draft-ietf-quic-multipath-19).
    pub(super) fn path(&self) -> u64 {
        count(&self.frame["path_id"]).filter(|_| self.is_of_path()).unwrap_or(0)
    }

    /// Whether it is a PATH_ACK frame.
    pub(super) fn is_of_path(&self) -> bool {
        is_of(self.frame, PATH_ACK)
    }

    /// Packets that arrived with CE, so far (RFC 9000 section 19.3.2).
    pub(super) fn marked(&self) -> u64 {
        count(&self.frame["ce"]).unwrap_or(0)
    }

    /// Packets that arrived with ECT(0), ECT(1) and CE, so far (RFC 9000 section 19.3.2).
    pub(super) fn ecn(&self) -> [u64; 3] {
        ["ect0", "ect1", "ce"].map(|key| count(&self.frame[key]).unwrap_or(0))
    }

    /// The acknowledged packet numbers, as first and last of each range.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let ranges = self.frame["acked_ranges"].as_array().map_or(&[][..], Vec::as_slice);
        ranges.iter().filter_map(|range| {
            let ends = range.as_array().map_or(std::slice::from_ref(range), Vec::as_slice);
            Some((count(ends.first()?)?, count(ends.last()?)?))
        })
    }
}
