//! The TCP segment or UDP datagram in a captured packet.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::internet::{self, Internet, internet};
use super::options::{self, Sack, Stamps};
use super::{Packet, link};

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// IPv4 addresses are in the low 32 bits.
    pub address: u128,
    /// Port of TCP or UDP.
    pub port: u16,
    /// Whether the address is an IPv6 address.
    pub v6: bool,
}

impl Endpoint {
    /// The address without the port.
    pub fn ip(&self) -> IpAddr {
        match self.v6 {
            true => Ipv6Addr::from_bits(self.address).into(),
            false => Ipv4Addr::from_bits(self.address as u32).into(),
        }
    }
}

/// `192.0.2.1:80`, `[2001:db8::1]:80`.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.ip(), self.port).fmt(f)
    }
}

/// The fields of a TCP segment (RFC 9293 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Source.
    pub from: Endpoint,
    /// Destination.
    pub to: Endpoint,
    /// SEG.SEQ.
    pub seq: u32,
    /// SEG.ACK, if the ACK flag is set.
    pub ack: Option<u32>,
    /// The SYN flag.
    pub syn: bool,
    /// The FIN flag.
    pub fin: bool,
    /// The RST flag.
    pub rst: bool,
    /// All flags, from CWR to FIN.
    pub flags: u8,
    /// The AE flag (RFC 9768 section 3.1).
    pub ae: bool,
    /// The window field, without its scale, if captured.
    pub window: Option<u16>,
    /// Bytes of payload on the link, captured or not.
    pub payload: u32,
    /// The timestamps option, if present and captured.
    pub stamps: Option<Stamps>,
    /// The SACK option; empty if absent or not captured.
    pub sack: Sack,
    /// IPv4's identification; IPv6 has none.
    pub id: Option<u16>,
    /// Length of the IP packet, with its header, in bytes.
    pub size: u32,
    /// The ECN field of its IP header (RFC 3168 section 5).
    pub ecn: u8,
    /// The maximum segment size and the window scale of a SYN, if present and captured.
    pub mss: Option<u16>,
    /// See `mss`.
    pub window_scale: Option<u8>,
}

impl Segment {
    /// SEG.LEN: the sequence numbers of the segment, which its receiver acknowledges (RFC
    /// 9293 section 3.4).
    pub fn len(&self) -> u32 {
        self.payload + u32::from(self.syn) + u32::from(self.fin)
    }

    /// AE, CWR and ECE: of AccECN, the counter of marks modulo 8 (RFC 9768 section 3.2.2).
    pub fn ace(&self) -> u8 {
        u8::from(self.ae) << 2 | self.flags >> 6
    }

    /// Whether it is a pure acknowledgement, which is never acknowledged itself.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Reasons why a packet yields no TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The link type is unknown.
    LinkType,
    /// The packet behind the headers of the link is neither IPv4 nor IPv6.
    NotIp,
    /// The packet is IP, but not TCP.
    NotTcp,
    /// The packet is a fragment of an IP packet.
    Fragment,
    /// The snap length cut off the headers.
    Cut,
    /// Lengths in the headers contradict each other.
    Malformed,
}

/// A UDP datagram (RFC 768).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Source.
    pub from: Endpoint,
    /// Destination.
    pub to: Endpoint,
    /// Bytes of payload on the link, captured or not.
    pub payload: u32,
    /// Length of the IP packet, with its header, in bytes.
    pub size: u32,
    /// The ECN field of its IP header (RFC 3168 section 5).
    pub ecn: u8,
    /// The captured part of the payload.
    pub data: &'a [u8],
}

/// The transport's unit in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transported<'a> {
    /// A segment of TCP.
    Tcp(Segment),
    /// A datagram of UDP.
    Udp(Datagram<'a>),
}

/// The TCP segment or UDP datagram in a packet.
///
/// # Errors
/// A packet of another kind, and one that is damaged or cut.
#[inline]
pub fn transported<'a>(packet: &Packet<'a>) -> Result<Transported<'a>, Skip> {
    within(packet, |ip| match ip.protocol {
        internet::UDP => udp(packet.data, ip).map(Transported::Udp),
        _ => tcp(packet.data, ip).map(Transported::Tcp),
    })
}

/// The TCP segment in a packet.
///
/// # Errors
/// A packet of another kind, and one that is damaged or cut.
#[inline]
pub fn segment(packet: &Packet<'_>) -> Result<Segment, Skip> {
    within(packet, |ip| match ip.protocol {
        internet::TCP => tcp(packet.data, ip),
        _ => Err(Skip::NotTcp),
    })
}

/// The content of the IP packet in a packet.
#[inline]
fn within<T>(
    packet: &Packet<'_>,
    read: impl FnOnce(&Internet) -> Result<T, Skip>,
) -> Result<T, Skip> {
    let Packet { data, original_len, .. } = *packet;
    let ip = link::ip_at(packet.link, data).and_then(|at| internet(data, at, original_len));
    match ip.and_then(|ip| read(&ip)) {
        // The packet was captured whole, so its headers are wrong.
        Err(Skip::Cut) if data.len() as u64 >= u64::from(original_len) => Err(Skip::Malformed),
        read => read,
    }
}

/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;

fn udp<'a>(data: &'a [u8], ip: &Internet) -> Result<Datagram<'a>, Skip> {
    let bytes = data.get(ip.segment_at..).ok_or(Skip::Cut)?;
    let header = bytes.first_chunk::<UDP_HEADER>().ok_or(Skip::Cut)?;
    let payload = ip.segment_len.checked_sub(UDP_HEADER as u32).ok_or(Skip::Malformed)?;
    let end = |k: usize| Endpoint {
        address: ip.addresses[k],
        port: u16::from_be_bytes([header[2 * k], header[2 * k + 1]]),
        v6: ip.v6,
    };
    let captured = (bytes.len() - UDP_HEADER).min(payload as usize);
    Ok(Datagram {
        from: end(0),
        to: end(1),
        payload,
        size: ip.size,
        ecn: ip.ecn,
        data: &bytes[UDP_HEADER..][..captured],
    })
}

/// Bytes needed of a TCP header: up to the end of the flags.
const NEEDED: usize = 14;

fn be32(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}

#[inline]
fn tcp(data: &[u8], ip: &Internet) -> Result<Segment, Skip> {
    let bytes = data.get(ip.segment_at..).ok_or(Skip::Cut)?;
    if bytes.len() < NEEDED {
        return Err(Skip::Cut);
    }
    let header_len = u32::from(bytes[12] >> 4) * 4;
    if header_len < 20 || ip.segment_len < header_len {
        return Err(Skip::Malformed);
    }
    let flag = |bit: u8| bytes[13] & bit != 0;
    let end = |k: usize| Endpoint {
        address: ip.addresses[k],
        port: u16::from_be_bytes([bytes[2 * k], bytes[2 * k + 1]]),
        v6: ip.v6,
    };
    let options::Read { stamps, sack, mss, window_scale } =
        options::read(options_of(bytes, header_len as usize));
    Ok(Segment {
        from: end(0),
        to: end(1),
        seq: be32(bytes, 4),
        ack: flag(0x10).then(|| be32(bytes, 8)),
        syn: flag(0x02),
        fin: flag(0x01),
        rst: flag(0x04),
        flags: bytes[13],
        ae: bytes[12] & 1 != 0,
        window: bytes.get(14..16).map(|field| u16::from_be_bytes([field[0], field[1]])),
        payload: ip.segment_len - header_len,
        stamps,
        sack,
        id: ip.id,
        size: ip.size,
        ecn: ip.ecn,
        mss,
        window_scale,
    })
}

/// The captured part of the options.
#[inline]
fn options_of(bytes: &[u8], header_len: usize) -> &[u8] {
    bytes.get(20..bytes.len().min(header_len)).unwrap_or_default()
}
