//! The headers of an IP packet, read as far as a bottleneck needs them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sojourn_units::Ecn;

use crate::packets::checksum;

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const IP6_HEADER: usize = 40;
/// TCP flags, in the byte after the data offset.
pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
const RST: u8 = 0x04;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const CWR: u8 = 0x80;

/// The headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    pub(crate) is_ip6: bool,
    /// Start of the transport header.
    pub(crate) transport: usize,
    pub(crate) protocol: u8,
    /// Start of the payload; the start of the transport header if its protocol is unknown.
    pub(crate) payload: usize,
    pub(crate) ecn: Ecn,
}

impl Headers {
    /// Reads the headers of a packet; `None` if it is not a whole IP packet. Extension headers of
    /// IPv6 and fragments have no known transport.
    pub(crate) fn parse(packet: &[u8]) -> Option<Headers> {
        match packet.first()? >> 4 {
            4 => Headers::parse4(packet),
            6 => Headers::parse6(packet),
            _ => None,
        }
    }

    fn parse4(packet: &[u8]) -> Option<Headers> {
        let transport = usize::from(packet.first()? & 0x0f) * 4;
        let length = usize::from(half(packet, 2)?);
        if transport < 20 || length < transport || packet.len() < length {
            return None;
        }
        // Only the first fragment has a transport header; none is divided further here.
        let is_fragment = half(packet, 6)? & 0x3fff != 0;
        let protocol = if is_fragment { 0 } else { *packet.get(9)? };
        Headers {
            is_ip6: false,
            transport,
            protocol,
            payload: transport,
            ecn: Ecn::from_bits(packet[1]),
        }
        .with_payload(packet)
    }

    fn parse6(packet: &[u8]) -> Option<Headers> {
        let length = IP6_HEADER + usize::from(half(packet, 4)?);
        if packet.len() < length {
            return None;
        }
        let (transport, protocol) = (IP6_HEADER, *packet.get(6)?);
        Headers {
            is_ip6: true,
            transport,
            protocol,
            payload: transport,
            ecn: Ecn::from_bits(packet[1] >> 4),
        }
        .with_payload(packet)
    }

    fn with_payload(self, packet: &[u8]) -> Option<Headers> {
        let length = match self.protocol {
            TCP => usize::from(packet.get(self.transport + 12)? >> 4) * 4,
            UDP => 8,
            _ => 0,
        };
        let payload = self.transport + length;
        let is_whole = payload <= packet.len() && (self.protocol != TCP || length >= 20);
        is_whole.then_some(Headers { payload, ..self })
    }

    /// The addresses' bytes.
    pub(crate) fn addresses<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        if self.is_ip6 { &packet[8..40] } else { &packet[12..20] }
    }

    /// The destination.
    pub(crate) fn destination(&self, packet: &[u8]) -> IpAddr {
        if self.is_ip6 {
            let bytes: [u8; 16] = packet[24..40].try_into().expect("16 bytes");
            return Ipv6Addr::from(bytes).into();
        }
        Ipv4Addr::new(packet[16], packet[17], packet[18], packet[19]).into()
    }

    /// A hash of addresses, protocol and ports (FNV-1a, RFC 9923).
    pub(crate) fn hash(&self, packet: &[u8]) -> u32 {
        let ports = match self.protocol {
            TCP | UDP => &packet[self.transport..self.transport + 4],
            _ => &[],
        };
        let bytes = self.addresses(packet).iter().chain(ports).chain([&self.protocol]);
        bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
    }

    /// Whether the packet is a pure acknowledgement: TCP without data or SYN, FIN and RST.
    pub(crate) fn is_pure_ack(&self, packet: &[u8]) -> bool {
        self.protocol == TCP
            && self.payload == packet.len()
            && packet[self.transport + 13] & (SYN | FIN | RST) == 0
    }

    /// Sum of the pseudo-header of TCP or UDP, without the length.
    pub(crate) fn pseudo_sum(&self, packet: &[u8]) -> u32 {
        checksum::sum(self.addresses(packet)) + u32::from(self.protocol)
    }
}

/// Sets the ECN field and repairs the checksum of IPv4.
pub(crate) fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    let Some(version) = packet.first().map(|first| first >> 4) else { return };
    let Some(old) = half(packet, 0) else { return };
    let shift = if version == 6 { 4 } else { 0 };
    let new = old & !(3 << shift) | (ecn as u16) << shift;
    packet[..2].copy_from_slice(&new.to_be_bytes());
    if version == 4
        && let Some(sum) = half(packet, 10)
    {
        packet[10..12].copy_from_slice(&checksum::update(sum, old, new).to_be_bytes());
    }
}

/// Sets the length of a packet and, in IPv4, the identification and the checksum.
pub(crate) fn set_length(headers: &Headers, packet: &mut [u8], length: usize, id: Option<u16>) {
    if headers.is_ip6 {
        let payload = (length - IP6_HEADER) as u16;
        packet[4..6].copy_from_slice(&payload.to_be_bytes());
        return;
    }
    packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    if let Some(id) = id {
        packet[4..6].copy_from_slice(&id.to_be_bytes());
    }
    packet[10..12].fill(0);
    let sum = !checksum::fold(checksum::sum(&packet[..headers.transport]));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The 16 bits at this place.
pub(crate) fn half(packet: &[u8], at: usize) -> Option<u16> {
    packet.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]))
}

/// The 32 bits at this place.
pub(crate) fn word(packet: &[u8], at: usize) -> Option<u32> {
    packet.get(at..at + 4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
}
