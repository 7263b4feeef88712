//! TCP segments, as bytes for the kernel and as packets for the queue of `sojourn-queue`.

use std::net::Ipv4Addr;

use sojourn_queue::{FlowLabels, Packet};
use sojourn_units::{Bytes, Ecn, Instant};

/// Bytes of the headers of IPv4 and TCP without options.
pub(crate) const HEADERS: usize = 40;

/// Flags of TCP (RFC 9293 section 3.1).
pub(crate) const ACK: u8 = 0x10;
pub(crate) const ECE: u8 = 0x40;

/// A segment of TCP over IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The identification of its IP header.
    pub(crate) id: u16,
    /// Source and destination: bytes of their addresses.
    pub(crate) hosts: (u8, u8),
    /// The source port.
    pub(crate) port: u16,
    pub(crate) dscp: u8,
    pub(crate) flags: u8,
    pub(crate) acknowledged: u32,
    /// A selective range.
    pub(crate) sack: Option<(u32, u32)>,
    /// Bytes of payload.
    pub(crate) payload: usize,
    pub(crate) enqueued_at: Instant,
}

impl Segment {
    /// A segment with data of this size, with its headers.
    pub(crate) fn data(id: u16, (hosts, port): ((u8, u8), u16), size: usize) -> Segment {
        Segment {
            id,
            hosts,
            port,
            dscp: 0,
            flags: ACK,
            acknowledged: 1,
            sack: None,
            payload: size - HEADERS,
            enqueued_at: Instant::ZERO,
        }
    }

    /// A pure acknowledgement.
    pub(crate) fn ack(id: u16, acknowledged: u32) -> Segment {
        Segment { acknowledged, ..Segment::data(id, ((1, 1), 7), HEADERS) }
    }

    fn options(&self) -> Vec<u8> {
        let Some((from, to)) = self.sack else { return Vec::new() };
        // Two bytes of padding, kind 5, length 10 (RFC 2018 section 3).
        [&[1, 1, 5, 10], &from.to_be_bytes()[..], &to.to_be_bytes()[..]].concat()
    }

    /// The whole packet. The kernel adds the checksum of the IP header (raw(7)).
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let options = self.options();
        let source = Ipv4Addr::new(10, 53, self.hosts.0, 1).octets();
        let destination = Ipv4Addr::new(10, 54, self.hosts.1, 1).octets();
        let length = (HEADERS + options.len() + self.payload) as u16;
        let mut all = vec![0x45, self.dscp << 2];
        all.extend(length.to_be_bytes());
        all.extend(self.id.to_be_bytes());
        // Do not fragment; 64 hops; TCP; no checksum.
        all.extend([0x40, 0, 64, 6, 0, 0]);
        all.extend(source);
        all.extend(destination);
        all.extend(self.port.to_be_bytes());
        all.extend(9_u16.to_be_bytes());
        all.extend(1_u32.to_be_bytes());
        all.extend(self.acknowledged.to_be_bytes());
        all.extend([((20 + options.len()) as u8 / 4) << 4, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        all.extend(options);
        all.resize(usize::from(length), 0);
        all
    }

    /// The labels of its flow.
    pub(crate) fn labels(&self) -> FlowLabels {
        let (source, destination) = self.hosts;
        FlowLabels { dscp: self.dscp, source: source.into(), destination: destination.into() }
    }
}

impl Packet for Segment {
    fn size(&self) -> Bytes {
        Bytes((HEADERS + self.options().len() + self.payload) as u64)
    }
    fn flow_hash(&self) -> u64 {
        let (source, destination) = self.hosts;
        u64::from(source) << 24 | u64::from(destination) << 16 | u64::from(self.port)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark_ce(&mut self) {}
    fn is_ack(&self) -> bool {
        self.payload == 0
    }
    fn enqueued_at(&self) -> Instant {
        self.enqueued_at
    }
    fn set_enqueued_at(&mut self, now: Instant) {
        self.enqueued_at = now;
    }
    /// The rule of the simulator's packets (docs/reference/deviations.md, CAKE): an acknowledgement
    /// with a selective range stays.
    fn replaces(&self, older: &Segment) -> bool {
        let ahead = self.acknowledged.wrapping_sub(older.acknowledged) as i32;
        let is_plain = older.sack.is_none() && older.flags & !ECE == ACK;
        self.flow_hash() == older.flow_hash() && older.is_ack() && is_plain && ahead > 0
    }
    fn echoes_ecn(&self) -> bool {
        self.flags & ECE != 0
    }
}
