//! Messages, and all of them but acknowledgements as octets.

use bytes::{Buf, BufMut};
use sojourn_transport::{Data, EcnCounts};
use sojourn_units::{Duration, Ecn, Instant};

use super::ack::AckPacket;
use super::hello::Hello;
use super::{Malformed, VERSION, bounds, whole};

/// A datagram.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// The client opens a connection.
    Hello(Hello),
    /// The server accepts it.
    Accept(Accept),
    /// The server asks the client to repeat its HELLO with a cookie.
    Retry {
        /// The client's connection ID.
        id: u64,
        /// The cookie.
        cookie: Cookie,
    },
    /// The server refuses the connection.
    Refuse {
        /// The client's connection ID.
        id: u64,
        /// The reason.
        reason: Reason,
    },
    /// Data.
    Data(DataPacket),
    /// An acknowledgement.
    Ack(AckPacket<'a>),
    /// The client shows that it is alive.
    Ping {
        /// The server's connection ID.
        id: u64,
        /// Any number.
        number: u32,
    },
    /// The server answers a ping.
    Pong {
        /// The client's connection ID.
        id: u64,
        /// The number of the ping.
        number: u32,
    },
    /// The client ends the connection.
    Close(ClosePacket),
    /// The server has ended the connection.
    Closed {
        /// The client's connection ID.
        id: u64,
        /// The server's receipt.
        receipt: Receipt,
    },
}

/// The server's acceptance of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    /// The client's connection ID.
    pub id: u64,
    /// The server's connection ID.
    pub server_id: u64,
    /// Segments beyond the first missing one that the server accepts.
    pub window: u32,
    /// Time without a datagram after which the server removes the peer, in milliseconds.
    pub idle_ms: u32,
    /// The number of this packet of the answer, from zero.
    pub part: u8,
    /// The number of packets of the answer.
    pub parts: u8,
}

impl Accept {
    /// The idle timeout, within its bounds.
    pub fn idle(&self) -> Duration {
        let [least, most] = [*bounds::IDLE_MS.start(), *bounds::IDLE_MS.end()];
        Duration::from_millis(u64::from(self.idle_ms.clamp(least, most)))
    }
}

/// Proof that a client receives datagrams at its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cookie {
    /// When the server made it, in seconds of its clock.
    pub made_s: u32,
    /// The server's keyed hash of address, connection ID and time.
    pub tag: u64,
}

impl Cookie {
    pub(super) fn put(self, out: &mut Vec<u8>) {
        out.put_u32(self.made_s);
        out.put_u64(self.tag);
    }

    pub(super) fn take(from: &mut &[u8]) -> Result<Cookie, Malformed> {
        Ok(Cookie { made_s: from.try_get_u32()?, tag: from.try_get_u64()? })
    }
}

/// Why a server refuses a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has as many peers as it accepts.
    Full,
    /// It cannot apply the settings.
    Terms,
    /// It has another version of the format, given here.
    Version(u8),
}

/// The header of a data packet, as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPacket {
    /// The connection ID.
    pub id: u64,
    /// Lower half of the packet number.
    pub number: u32,
    /// Lower half of the segment.
    pub segment: u32,
    /// Send time in microseconds, modulo 2^32.
    pub sent_us: u32,
    /// Payload in bytes.
    pub len: u16,
    /// Congestion window reduced.
    pub cwr: bool,
}

impl DataPacket {
    /// The packet of connection `id` that leaves at `now`.
    pub fn of(id: u64, now: Instant, data: &Data) -> DataPacket {
        DataPacket {
            id,
            number: data.number as u32,
            segment: data.segment as u32,
            sent_us: (now.0 / 1_000) as u32,
            len: data.len as u16,
            cwr: data.cwr,
        }
    }

    /// The data, which arrived with `ecn`. `expected`: a packet number and a segment near its own.
    pub fn data(&self, expected: (u64, u64), ecn: Ecn) -> Data {
        Data {
            number: whole(self.number, expected.0),
            segment: whole(self.segment, expected.1),
            len: u32::from(self.len),
            ecn,
            cwr: self.cwr,
            // Only TCP's receivers use it.
            is_burst_end: false,
        }
    }
}

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosePacket {
    /// The server's connection ID.
    pub id: u64,
    /// Data packets that the client sent.
    pub sent: u64,
}

/// Everything that a server received on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Payload in bytes, each counted once.
    pub bytes: u64,
    /// Data packets, duplicates included.
    pub packets: u64,
    /// Data packets by ECN field.
    pub counts: EcnCounts,
    /// Data packets that arrived twice, as copies of the network.
    pub duplicates: u64,
}

pub(super) const HELLO: u8 = 1;
const ACCEPT: u8 = 2;
const RETRY: u8 = 3;
const REFUSE: u8 = 4;
const DATA: u8 = 5;
pub(super) const ACK: u8 = 6;
const PING: u8 = 7;
const PONG: u8 = 8;
const CLOSE: u8 = 9;
const CLOSED: u8 = 10;

const CWR: u8 = 1;

impl From<bytes::TryGetError> for Malformed {
    fn from(_: bytes::TryGetError) -> Malformed {
        Malformed::Truncated
    }
}

/// The first 12 octets.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) number: u16,
    pub(super) id: u64,
}

impl Head {
    pub(super) fn put(self, out: &mut Vec<u8>) {
        out.put_u8(VERSION << 4 | self.kind);
        out.put_u8(self.flags);
        out.put_u16(self.number);
        out.put_u64(self.id);
    }

    fn take(from: &mut &[u8]) -> Result<Head, Malformed> {
        let first = from.try_get_u8()?;
        let head = Head {
            kind: first & 0xf,
            flags: from.try_get_u8()?,
            number: from.try_get_u16()?,
            id: from.try_get_u64()?,
        };
        match first >> 4 {
            VERSION => Ok(head),
            other => Err(Malformed::Version(other)),
        }
    }
}

/// Reads a datagram. Octets after a message's fields are padding, and may have any value.
///
/// # Errors
/// If it is not of this format.
pub fn decode(datagram: &[u8]) -> Result<Message<'_>, Malformed> {
    let mut rest = datagram;
    let from = &mut rest;
    let head = Head::take(from)?;
    let id = head.id;
    Ok(match head.kind {
        HELLO => Message::Hello(Hello::take(id, from)?),
        ACCEPT => Message::Accept(take_accept(id, from)?),
        RETRY => Message::Retry { id, cookie: Cookie::take(from)? },
        REFUSE => Message::Refuse { id, reason: take_reason(from)? },
        DATA => Message::Data(take_data(head, from)?),
        ACK => Message::Ack(AckPacket::take(head, from)?),
        PING => Message::Ping { id, number: from.try_get_u32()? },
        PONG => Message::Pong { id, number: from.try_get_u32()? },
        CLOSE => Message::Close(ClosePacket { id, sent: from.try_get_u64()? }),
        CLOSED => Message::Closed { id, receipt: take_receipt(from)? },
        other => return Err(Malformed::Type(other)),
    })
}

fn take_accept(id: u64, from: &mut &[u8]) -> Result<Accept, Malformed> {
    let accept = Accept {
        id,
        server_id: from.try_get_u64()?,
        window: from.try_get_u32()?,
        idle_ms: from.try_get_u32()?,
        part: from.try_get_u8()?,
        parts: from.try_get_u8()?,
    };
    let has_parts = accept.part < accept.parts && bounds::PARTS.contains(&accept.parts);
    let is_possible = has_parts && bounds::WINDOW.contains(&accept.window);
    if is_possible { Ok(accept) } else { Err(Malformed::Value) }
}

fn take_reason(from: &mut &[u8]) -> Result<Reason, Malformed> {
    match from.try_get_u8()? {
        0 => Ok(Reason::Full),
        1 => Ok(Reason::Terms),
        version if version >> 4 == 0xf => Ok(Reason::Version(version & 0xf)),
        _ => Err(Malformed::Value),
    }
}

fn take_data(head: Head, from: &mut &[u8]) -> Result<DataPacket, Malformed> {
    let data = DataPacket {
        id: head.id,
        number: from.try_get_u32()?,
        segment: from.try_get_u32()?,
        sent_us: from.try_get_u32()?,
        len: head.number,
        cwr: head.flags & CWR != 0,
    };
    if from.remaining() < usize::from(data.len) { Err(Malformed::Truncated) } else { Ok(data) }
}

fn take_receipt(from: &mut &[u8]) -> Result<Receipt, Malformed> {
    Ok(Receipt {
        bytes: from.try_get_u64()?,
        packets: from.try_get_u64()?,
        counts: EcnCounts {
            ect0: from.try_get_u64()?,
            ect1: from.try_get_u64()?,
            ce: from.try_get_u64()?,
        },
        duplicates: from.try_get_u64()?,
    })
}

/// Writes a message into `out`, whose content it replaces, and pads it to `size` octets. It does not
/// write acknowledgements or the payload of data: see [`super::encode_ack`] and
/// [`encode_data_header`].
pub fn encode(message: &Message<'_>, size: usize, out: &mut Vec<u8>) {
    let head = |kind, id| Head { kind, flags: 0, number: 0, id };
    out.clear();
    match message {
        Message::Hello(hello) => {
            head(HELLO, hello.id).put(out);
            hello.put(out);
        }
        Message::Accept(accept) => {
            head(ACCEPT, accept.id).put(out);
            out.put_u64(accept.server_id);
            out.put_u32(accept.window);
            out.put_u32(accept.idle_ms);
            out.put_u8(accept.part);
            out.put_u8(accept.parts);
        }
        Message::Retry { id, cookie } => {
            head(RETRY, *id).put(out);
            cookie.put(out);
        }
        Message::Refuse { id, reason } => {
            head(REFUSE, *id).put(out);
            out.put_u8(match reason {
                Reason::Full => 0,
                Reason::Terms => 1,
                Reason::Version(version) => 0xf0 | (version & 0xf),
            });
        }
        Message::Data(data) => encode_data_header(data, out),
        Message::Ack(ack) => ack.put(out),
        Message::Ping { id, number } => {
            head(PING, *id).put(out);
            out.put_u32(*number);
        }
        Message::Pong { id, number } => {
            head(PONG, *id).put(out);
            out.put_u32(*number);
        }
        Message::Close(close) => {
            head(CLOSE, close.id).put(out);
            out.put_u64(close.sent);
        }
        Message::Closed { id, receipt } => {
            head(CLOSED, *id).put(out);
            put_receipt(receipt, out);
        }
    }
    if out.len() < size {
        out.resize(size, 0);
    }
}

/// Writes the header of a data packet into `out`, whose content it replaces.
pub fn encode_data_header(data: &DataPacket, out: &mut Vec<u8>) {
    out.clear();
    let flags = if data.cwr { CWR } else { 0 };
    Head { kind: DATA, flags, number: data.len, id: data.id }.put(out);
    out.put_u32(data.number);
    out.put_u32(data.segment);
    out.put_u32(data.sent_us);
}

fn put_receipt(receipt: &Receipt, out: &mut Vec<u8>) {
    let Receipt { bytes, packets, counts, duplicates } = *receipt;
    for number in [bytes, packets, counts.ect0, counts.ect1, counts.ce, duplicates] {
        out.put_u64(number);
    }
}

/// Whether a datagram of any version has the type of a HELLO, and its length.
pub fn looks_like_hello(datagram: &[u8]) -> bool {
    datagram.len() >= super::hello::HELLO && datagram[0] & 0xf == HELLO
}
