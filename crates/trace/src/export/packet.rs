//! Headers of IPv4, ICMP, TCP and UDP for simulated packets, as in a capture. The payload
//! is all zeros and is not stored, but the checksums include it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Maximum bytes stored of a packet: IPv4 without options, TCP with all of them.
pub const GREATEST: usize = 80;

const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// Header of an echo message: type, code, checksum, identifier, sequence number (RFC 792,
/// page 14).
const ICMP_HEADER: usize = 8;
const ECHO_REPLY: u8 = 0;
const ECHO: u8 = 8;
/// The data offset of TCP has four bits (RFC 9293 section 3.1).
const GREATEST_TCP_HEADER: usize = 60;
/// Short header of RFC 9000 section 17.3.1: flags, connection ID, packet number.
const QUIC_HEADER: usize = 13;

/// Maximum UDP payload that the length fields of IP and UDP allow.
const GREATEST_PAYLOAD: u32 = 65_507;

const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const TTL: u8 = 64;
const DONT_FRAGMENT: u16 = 0x4000;

/// The stored part of a packet, and its length.
#[derive(Clone, Copy, Debug)]
pub struct Captured {
    bytes: [u8; GREATEST],
    len: u8,
    wire_size: u32,
}

impl Captured {
    /// The stored bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Size of the IP packet in bytes.
    pub fn wire_size(&self) -> u32 {
        self.wire_size
    }

    /// The same packet with another ECN field (RFC 3168 section 5), after a queue marked
    /// it.
    pub fn with_ecn(mut self, ecn: u8) -> Captured {
        self.bytes[1] = ecn;
        self.seal_ip();
        self
    }

    fn seal_ip(&mut self) {
        put16(&mut self.bytes, 10, 0);
        let sum = checksum(add(0, &self.bytes[..IP_HEADER]));
        put16(&mut self.bytes, 10, sum);
    }
}

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// IPv4 address.
    pub address: [u8; 4],
    /// Port.
    pub port: u16,
}

impl From<End> for SocketAddr {
    fn from(end: End) -> SocketAddr {
        (end.address, end.port).into()
    }
}

/// Fields of the IP header.
#[derive(Clone, Copy, Debug)]
pub struct Ip {
    /// Source.
    pub source: End,
    /// Destination.
    pub destination: End,
    /// The two bits of the ECN field (RFC 3168 section 5).
    pub ecn: u8,
    /// Identification (RFC 791).
    pub id: u16,
    /// Size of the whole simulated packet, in bytes. The packet is longer if its own
    /// headers and payload need more.
    pub size: u32,
}

/// Flags of TCP (RFC 9293 section 3.1, RFC 3168 section 6.1, RFC 9768 section 3).
pub mod flags {
    /// PSH.
    pub const PSH: u16 = 0x08;
    /// ACK.
    pub const ACK: u16 = 0x10;
    /// ECE.
    pub const ECE: u16 = 0x40;
    /// CWR.
    pub const CWR: u16 = 0x80;
    /// AE.
    pub const AE: u16 = 0x100;
}

/// Fields of a TCP segment.
#[derive(Clone, Copy, Debug)]
pub struct Tcp<'a> {
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgement: u32,
    /// Flags.
    pub flags: u16,
    /// Window, without its scale.
    pub window: u16,
    /// `TSval` and `TSecr` of RFC 7323, if there is room for them.
    pub timestamps: Option<(u32, u32)>,
    /// Blocks of RFC 2018; as many as fit are stored, from the first on.
    pub sack: &'a [(u32, u32)],
    /// Payload in bytes.
    pub payload: u32,
    /// Size of the simulated header; the actual one is longer if options need more.
    pub header: usize,
}

/// NOP, for padding to a word (RFC 9293 section 3.2); timestamps (RFC 7323 section 3.2);
/// SACK (RFC 2018 section 3).
const NOP: u8 = 1;
const TIMESTAMPS: [u8; 4] = [NOP, NOP, 8, 10];
const SACK: u8 = 5;

/// A TCP segment.
pub fn tcp(ip: &Ip, tcp: &Tcp<'_>) -> Captured {
    let mut options = Options::none();
    if let Some((value, echo)) = tcp.timestamps {
        options.put(&TIMESTAMPS);
        options.put(&value.to_be_bytes());
        options.put(&echo.to_be_bytes());
    }
    let room = (options.bytes.len() - options.len).saturating_sub(4) / 8;
    let blocks = &tcp.sack[..tcp.sack.len().min(room)];
    if !blocks.is_empty() {
        options.put(&[NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
        for (start, end) in blocks {
            options.put(&start.to_be_bytes());
            options.put(&end.to_be_bytes());
        }
    }
    let simulated = tcp.header.clamp(TCP_HEADER, GREATEST_TCP_HEADER) & !3;
    let header = simulated.max(TCP_HEADER + options.len);
    let mut packet = begin(ip, PROTOCOL_TCP, header, tcp.payload);
    let bytes = &mut packet.bytes;
    put32(bytes, IP_HEADER + 4, tcp.sequence);
    put32(bytes, IP_HEADER + 8, tcp.acknowledgement);
    put16(bytes, IP_HEADER + 12, (header as u16 / 4) << 12 | tcp.flags);
    put16(bytes, IP_HEADER + 14, tcp.window);
    let rest = &mut bytes[IP_HEADER + TCP_HEADER..IP_HEADER + header];
    rest.copy_from_slice(&options.bytes[..header - TCP_HEADER]);
    seal(&mut packet, ip, IP_HEADER + 16, header as u32 + tcp.payload);
    packet
}

/// TCP options, up to the maximum size of the header.
struct Options {
    bytes: [u8; GREATEST_TCP_HEADER - TCP_HEADER],
    len: usize,
}

impl Options {
    fn none() -> Options {
        Options { bytes: [NOP; GREATEST_TCP_HEADER - TCP_HEADER], len: 0 }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// A UDP datagram with an unprotected QUIC short header and zeros; the simulation has no
/// keys to protect it.
pub fn quic(ip: &Ip, connection: u64, number: u32, payload: u32) -> Captured {
    let payload = payload.clamp(QUIC_HEADER as u32, GREATEST_PAYLOAD);
    let length = payload + UDP_HEADER as u32;
    let rest = payload - QUIC_HEADER as u32;
    let mut packet = begin(ip, PROTOCOL_UDP, UDP_HEADER + QUIC_HEADER, rest);
    let bytes = &mut packet.bytes;
    put16(bytes, IP_HEADER + 4, length as u16);
    let quic = IP_HEADER + UDP_HEADER;
    // The fixed bit, and a packet number of four bytes.
    bytes[quic] = 0x43;
    bytes[quic + 1..quic + 9].copy_from_slice(&connection.to_be_bytes());
    put32(bytes, quic + 9, number);
    seal(&mut packet, ip, IP_HEADER + 6, length);
    packet
}

/// A UDP datagram of zeros.
pub fn udp(ip: &Ip, payload: u32) -> Captured {
    let payload = payload.min(GREATEST_PAYLOAD);
    let length = payload + UDP_HEADER as u32;
    let mut packet = begin(ip, PROTOCOL_UDP, UDP_HEADER, payload);
    put16(&mut packet.bytes, IP_HEADER + 4, length as u16);
    seal(&mut packet, ip, IP_HEADER + 6, length);
    packet
}

/// A UDP datagram with its whole payload, of at most 65,507 bytes, in its IP packet.
pub fn udp_with(ip: &Ip, payload: &[u8]) -> Vec<u8> {
    let payload = &payload[..payload.len().min(GREATEST_PAYLOAD as usize)];
    let length = payload.len() as u32 + UDP_HEADER as u32;
    let mut packet = begin(ip, PROTOCOL_UDP, UDP_HEADER, payload.len() as u32);
    put16(&mut packet.bytes, IP_HEADER + 4, length as u16);
    let sum = u32::from(PROTOCOL_UDP) + length;
    // Sums of up to 2^16 words of 16 bits fit.
    let sum = add(add(sum, &ip.source.address), &ip.destination.address);
    let sum = add(add(sum, &packet.bytes()[IP_HEADER..]), payload);
    put16(&mut packet.bytes, IP_HEADER + 6, udp_checksum(sum));
    [packet.bytes(), payload].concat()
}

/// A UDP datagram between sockets, with its whole payload, in an IP packet of their version. `ecn`:
/// the two bits of the ECN field. The fields that a socket does not show are the usual ones.
pub fn udp_between(from: SocketAddr, to: SocketAddr, ecn: u8, payload: &[u8]) -> Vec<u8> {
    match (from.ip().to_canonical(), to.ip().to_canonical()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let end = |of: Ipv4Addr, port| End { address: of.octets(), port };
            let (source, destination) = (end(source, from.port()), end(destination, to.port()));
            udp_with(&Ip { source, destination, ecn, id: 0, size: 0 }, payload)
        }
        (source, destination) => {
            let ends = [(v6(source), from.port()), (v6(destination), to.port())];
            udp_v6(ends, ecn, payload)
        }
    }
}

fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// A UDP datagram in IPv6 (RFC 8200 sections 3 and 8.1).
fn udp_v6(ends: [(Ipv6Addr, u16); 2], ecn: u8, payload: &[u8]) -> Vec<u8> {
    let payload = &payload[..payload.len().min(GREATEST_PAYLOAD as usize)];
    let length = (payload.len() + UDP_HEADER) as u16;
    let mut out = vec![0x60, ecn << 4, 0, 0];
    out.extend(length.to_be_bytes());
    out.extend([PROTOCOL_UDP, TTL]);
    ends.iter().for_each(|(address, _)| out.extend(address.octets()));
    let sum = add(u32::from(PROTOCOL_UDP) + u32::from(length), &out[8..]);
    let ports = out.len();
    ends.iter().for_each(|(_, port)| out.extend(port.to_be_bytes()));
    out.extend(length.to_be_bytes());
    let sum = add(add(sum, &out[ports..]), payload);
    out.extend(udp_checksum(sum).to_be_bytes());
    out.extend(payload);
    out
}

/// An ICMP echo request or its reply, with zeros for data (RFC 792, page 14). IP's
/// identification is the sequence number.
pub fn echo(ip: &Ip, is_reply: bool, identifier: u16) -> Captured {
    let headers = (IP_HEADER + ICMP_HEADER) as u32;
    let data = ip.size.saturating_sub(headers).min(GREATEST_PAYLOAD);
    let mut packet = begin(ip, PROTOCOL_ICMP, ICMP_HEADER, data);
    // Overwrites the ports with the type, the code and, for now, a zero checksum.
    packet.bytes[IP_HEADER..IP_HEADER + 4].fill(0);
    packet.bytes[IP_HEADER] = if is_reply { ECHO_REPLY } else { ECHO };
    put16(&mut packet.bytes, IP_HEADER + 4, identifier);
    put16(&mut packet.bytes, IP_HEADER + 6, ip.id);
    let sum = checksum(add(0, &packet.bytes()[IP_HEADER..]));
    put16(&mut packet.bytes, IP_HEADER + 2, sum);
    packet
}

/// IP's header and both ports. `kept`: stored bytes of the next headers; `rest`: bytes
/// after them.
fn begin(ip: &Ip, protocol: u8, kept: usize, rest: u32) -> Captured {
    let total = (IP_HEADER + kept) as u32 + rest;
    let mut bytes = [0; GREATEST];
    // Version 4, with a header of five words.
    (bytes[0], bytes[1]) = (0x45, ip.ecn);
    put16(&mut bytes, 2, total as u16);
    put16(&mut bytes, 4, ip.id);
    put16(&mut bytes, 6, DONT_FRAGMENT);
    (bytes[8], bytes[9]) = (TTL, protocol);
    bytes[12..16].copy_from_slice(&ip.source.address);
    bytes[16..20].copy_from_slice(&ip.destination.address);
    put16(&mut bytes, IP_HEADER, ip.source.port);
    put16(&mut bytes, IP_HEADER + 2, ip.destination.port);
    let len = (IP_HEADER + kept) as u8;
    let mut packet = Captured { bytes, len, wire_size: total.max(ip.size) };
    packet.seal_ip();
    packet
}

/// Writes the checksum of TCP or UDP at `place`: over addresses, protocol, length, and all
/// bytes after the IP header (RFC 9293 section 3.1). Zeros that are not stored do not
/// change it.
fn seal(packet: &mut Captured, ip: &Ip, place: usize, length: u32) {
    let mut sum = add(u32::from(packet.bytes[9]) + length, &ip.source.address);
    sum = add(sum, &ip.destination.address);
    sum = add(sum, &packet.bytes()[IP_HEADER..]);
    let is_udp = packet.bytes[9] == PROTOCOL_UDP;
    let sum = if is_udp { udp_checksum(sum) } else { checksum(sum) };
    put16(&mut packet.bytes, place, sum);
}

/// RFC 768: zero means that the datagram has no checksum.
fn udp_checksum(sum: u32) -> u16 {
    match checksum(sum) {
        0 => 0xFFFF,
        sum => sum,
    }
}

/// Adds 16-bit words (RFC 1071); all callers add fewer than 2^16 of them.
fn add(sum: u32, bytes: &[u8]) -> u32 {
    bytes.chunks(2).fold(sum, |sum, pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        sum + u32::from(u16::from_be_bytes([pair[0], low]))
    })
}

/// The ones' complement of a ones' complement sum.
fn checksum(mut sum: u32) -> u16 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

fn put32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum of a datagram covers its pseudo-header (RFC 8200 section 8.1), so that the sum
    /// with it is zero.
    #[test]
    fn datagrams_in_ipv6_have_their_checksum() {
        let [from, to] = ["[fd00::1]:50001", "[fd00::2]:443"];
        let ends = [from, to].map(|end| end.parse().expect("an address"));
        let packet = udp_between(ends[0], ends[1], 1, &[7; 1201]);
        assert_eq!((packet.len(), packet[0] >> 4, packet[1]), (40 + 8 + 1201, 6, 0x10));
        let length = u32::from(PROTOCOL_UDP) + 8 + 1201;
        assert_eq!(checksum(add(length, &packet[8..])), 0);
    }

    #[test]
    fn a_mapped_address_is_of_ipv4() {
        let ends = ["[::ffff:10.0.0.1]:443", "10.0.0.2:50001"].map(|end| end.parse().expect("one"));
        let packet = udp_between(ends[0], ends[1], 3, b"text");
        assert_eq!((packet.len(), packet[0], packet[1]), (20 + 8 + 4, 0x45, 3));
        assert_eq!(packet[12..20], [10, 0, 0, 1, 10, 0, 0, 2]);
    }
}
