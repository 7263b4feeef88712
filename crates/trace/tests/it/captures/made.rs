//! Generated captures: segments, packets and files.

use sojourn_trace::capture::{Capture, ReadError};
use sojourn_trace::rtt::{Half, Method, Options, Rtt};

/// A TCP segment from host 1 (`up`) or host 2, between ports 1000 and 80.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tcp {
    pub(crate) up: bool,
    pub(crate) port: u16,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// FIN 1, SYN 2, RST 4, ACK 16.
    pub(crate) flags: u8,
    pub(crate) payload: usize,
    /// TSval and TSecr.
    pub(crate) stamps: Option<(u32, u32)>,
    /// Blocks of the SACK option: as many as fit beside timestamps.
    pub(crate) sack: [Option<(u32, u32)>; 3],
    /// IPv4's identification.
    pub(crate) id: u16,
}

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

impl Tcp {
    pub(crate) fn new(up: bool, seq: u32, ack: u32, payload: usize) -> Tcp {
        Tcp { up, port: 1000, seq, ack, flags: ACK, payload, stamps: None, sack: [None; 3], id: 0 }
    }

    pub(crate) fn flags(self, flags: u8) -> Tcp {
        Tcp { flags, ..self }
    }

    pub(crate) fn stamps(self, value: u32, echo: u32) -> Tcp {
        Tcp { stamps: Some((value, echo)), ..self }
    }

    pub(crate) fn sack(self, blocks: &[(u32, u32)]) -> Tcp {
        Tcp { sack: std::array::from_fn(|at| blocks.get(at).copied()), ..self }
    }

    pub(crate) fn id(self, id: u16) -> Tcp {
        Tcp { id, ..self }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut options = Vec::new();
        if let Some((value, echo)) = self.stamps {
            options.extend([1, 1, 8, 10]);
            options.extend(value.to_be_bytes());
            options.extend(echo.to_be_bytes());
        }
        let edges: Vec<u32> =
            self.sack.iter().flatten().flat_map(|(begin, end)| [*begin, *end]).collect();
        if !edges.is_empty() {
            options.extend([1, 1, 5, 2 + 4 * edges.len() as u8]);
            edges.iter().for_each(|edge| options.extend(edge.to_be_bytes()));
        }
        let ports = if self.up { [self.port, 80] } else { [80, self.port] };
        let mut bytes = Vec::new();
        ports.iter().for_each(|port| bytes.extend(port.to_be_bytes()));
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        bytes.extend([((20 + options.len()) / 4 * 16) as u8, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        bytes.extend(options);
        bytes.resize(bytes.len() + self.payload, 0);
        bytes
    }

    /// The segment in IPv4 without options.
    pub(crate) fn v4(&self) -> Vec<u8> {
        self.v4_with(&[], 0)
    }

    /// The segment in IPv4 with options and this fragment field.
    pub(crate) fn v4_with(&self, options: &[u8], fragment: u16) -> Vec<u8> {
        let tcp = self.bytes();
        let len = (20 + options.len() + tcp.len()) as u16;
        let [from, to] = if self.up { [1, 2] } else { [2, 1] };
        let mut bytes = vec![0x45 + (options.len() / 4) as u8, 0];
        bytes.extend(len.to_be_bytes());
        bytes.extend(self.id.to_be_bytes());
        bytes.extend(fragment.to_be_bytes());
        bytes.extend([64, 6, 0, 0, 192, 0, 2, from, 192, 0, 2, to]);
        bytes.extend(options);
        bytes.extend(tcp);
        bytes
    }

    /// The segment in IPv6, behind extension headers; `first` is the type of the first.
    pub(crate) fn v6(&self, first: u8, extensions: &[u8]) -> Vec<u8> {
        let tcp = self.bytes();
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend(((extensions.len() + tcp.len()) as u16).to_be_bytes());
        bytes.extend([first, 64]);
        let [from, to] = if self.up { [1, 2] } else { [2, 1] };
        for host in [from, to] {
            bytes.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
        }
        bytes.extend(extensions);
        bytes.extend(tcp);
        bytes
    }
}

/// The packet behind an Ethernet header with these VLAN tags (EtherTypes), outermost first.
pub(crate) fn ethernet(tags: &[u16], ip: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    for tag in tags {
        bytes.extend(tag.to_be_bytes());
        bytes.extend([0, 7]);
    }
    bytes.extend(if ip[0] >> 4 == 4 { [0x08, 0x00] } else { [0x86, 0xdd] });
    bytes.extend(ip);
    bytes
}

/// A number in big- or little-endian order.
pub(crate) fn word(big: bool, value: u32) -> [u8; 4] {
    if big { value.to_be_bytes() } else { value.to_le_bytes() }
}

pub(crate) fn half_word(big: bool, value: u16) -> [u8; 2] {
    if big { value.to_be_bytes() } else { value.to_le_bytes() }
}

/// A classic capture; times in ns, rounded down to us without `nano`.
pub(crate) fn pcap(big: bool, nano: bool, link: u32, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(word(big, if nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }));
    file.extend([half_word(big, 2), half_word(big, 4)].concat());
    [0, 0, 65_535, link].iter().for_each(|value| file.extend(word(big, *value)));
    for (at_ns, data) in packets {
        let fraction = at_ns % 1_000_000_000 / if nano { 1 } else { 1_000 };
        let len = data.len() as u32;
        let header = [(at_ns / 1_000_000_000) as u32, fraction as u32, len, len];
        header.iter().for_each(|value| file.extend(word(big, *value)));
        file.extend(data);
    }
    file
}

/// A pcapng block: padded, with both lengths.
pub(crate) fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let len = word(big, padded as u32 + 12);
    let mut bytes = [word(big, kind), len].concat();
    bytes.extend(body);
    bytes.resize(8 + padded, 0);
    bytes.extend(len);
    bytes
}

pub(crate) fn section(big: bool) -> Vec<u8> {
    let mut body = word(big, 0x1a2b_3c4d).to_vec();
    body.extend([half_word(big, 1), half_word(big, 0)].concat());
    body.extend([0xff; 8]);
    block(big, 0x0a0d_0d0a, &body)
}

pub(crate) fn option(big: bool, code: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = [half_word(big, code), half_word(big, value.len() as u16)].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

pub(crate) fn interface(big: bool, link: u16, snap_len: u32, options: &[u8]) -> Vec<u8> {
    let mut body = [half_word(big, link), half_word(big, 0)].concat();
    body.extend(word(big, snap_len));
    body.extend(options);
    block(big, 1, &body)
}

pub(crate) fn enhanced(
    big: bool,
    interface: u32,
    ticks: u64,
    original: usize,
    data: &[u8],
) -> Vec<u8> {
    let mut body = Vec::new();
    let words = [interface, (ticks >> 32) as u32, ticks as u32, data.len() as u32, original as u32];
    words.iter().for_each(|value| body.extend(word(big, *value)));
    body.extend(data);
    block(big, 6, &body)
}

/// The analysis of a capture, and the result of reading it.
pub(crate) fn analysis(file: &[u8]) -> (Rtt, Result<(), ReadError>) {
    let mut capture = Capture::new(file);
    let mut rtt = Rtt::new(Options { points: 100_000, ..Options::default() });
    let read = rtt.read(&mut capture, u64::MAX).map(|_| ());
    (rtt, read)
}

/// Packet number of the answer and RTT in ns, of all samples.
pub(crate) fn samples(half: &Half, method: Method) -> Vec<(u64, u64)> {
    let (_, samples) = half.samples(method);
    samples.points().iter().map(|point| (point.packet, point.rtt_ns)).collect()
}

/// Segments at times in ms, as an Ethernet capture in ns.
pub(crate) fn capture_of(segments: &[(u64, Tcp)]) -> Vec<u8> {
    let packets = segments.iter().map(|(ms, tcp)| (ms * 1_000_000, ethernet(&[], &tcp.v4())));
    pcap(false, true, 1, &packets.collect::<Vec<_>>())
}
