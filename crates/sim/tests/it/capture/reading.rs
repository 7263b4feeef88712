//! Parser for captures, written from the format specifications and independent of the writer's
//! code.

use std::collections::BTreeMap;

/// A packet at a host.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The host's name.
    pub(crate) host: String,
    /// Nanoseconds since the start of the run.
    pub(crate) at_ns: u64,
    pub(crate) inbound: bool,
    pub(crate) wire_size: u32,
    pub(crate) bytes: Vec<u8>,
}

fn u16_le(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn u32_le(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

pub(crate) fn u16_be(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap())
}

pub(crate) fn u32_be(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The blocks of a pcapng file: type and body.
fn blocks(file: &[u8]) -> Vec<(u32, &[u8])> {
    let (mut all, mut rest) = (Vec::new(), file);
    while !rest.is_empty() {
        let length = u32_le(rest, 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(u32_le(rest, length - 4) as usize, length, "both lengths agree");
        all.push((u32_le(rest, 0), &rest[8..length - 4]));
        rest = &rest[length..];
    }
    all
}

/// Options by code.
fn options(mut rest: &[u8]) -> BTreeMap<u16, Vec<u8>> {
    let mut all = BTreeMap::new();
    loop {
        let (code, length) = (u16_le(rest, 0), usize::from(u16_le(rest, 2)));
        if code == 0 {
            assert_eq!(rest.len(), 4, "nothing is behind the last option");
            return all;
        }
        all.insert(code, rest[4..4 + length].to_vec());
        rest = &rest[4 + length.next_multiple_of(4)..];
    }
}

/// Every packet of a file.
pub(crate) fn packets(file: &[u8]) -> Vec<Seen> {
    let (mut hosts, mut all) = (Vec::new(), Vec::new());
    for (place, (kind, body)) in blocks(file).into_iter().enumerate() {
        match kind {
            0x0A0D_0D0A => assert_eq!((place, u32_le(body, 0)), (0, 0x1A2B_3C4D)),
            1 => {
                let options = options(&body[8..]);
                assert_eq!((u16_le(body, 0), options[&9].as_slice()), (101, &[9_u8][..]));
                hosts.push(String::from_utf8(options[&2].clone()).unwrap());
            }
            6 => all.push(packet(body, &hosts)),
            other => panic!("a block of type {other}"),
        }
    }
    all
}

fn packet(body: &[u8], hosts: &[String]) -> Seen {
    let time = u64::from(u32_le(body, 4)) << 32 | u64::from(u32_le(body, 8));
    let kept = u32_le(body, 12) as usize;
    let flags = &options(&body[20 + kept.next_multiple_of(4)..])[&2];
    let direction = u32_le(flags, 0);
    assert!(direction == 1 || direction == 2);
    Seen {
        host: hosts[u32_le(body, 0) as usize].clone(),
        at_ns: time - 946_684_800 * 1_000_000_000,
        inbound: direction == 1,
        wire_size: u32_le(body, 16),
        bytes: body[20..20 + kept].to_vec(),
    }
}

/// The ones' complement sum of 16-bit words: 0xFFFF over data with its own checksum (RFC 1071).
pub(crate) fn sum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u64 =
        words.map(|w| u64::from(u16::from_be_bytes([w[0], w.get(1).copied().unwrap_or(0)]))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}
