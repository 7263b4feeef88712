//! What travels.

use sojourn_queue::Packet as Queued;
use sojourn_transport::Data;
use sojourn_units::{Bytes, Ecn, Instant};

/// A packet of the simulation: a small plain value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Packet number; for an acknowledgement its place in the slab.
    pub(crate) number: u64,
    pub(crate) segment: u64,
    pub(crate) offset: u64,
    enqueued_at: Instant,
    /// Size of the IP packet.
    pub(crate) ip_size: u32,
    /// Size as the link counts it where the packet is now.
    size: u32,
    pub(crate) connection: u32,
    /// Links behind it on its way.
    pub(crate) hop: u16,
    pub(crate) kind: PacketKind,
    pub(crate) ecn: Ecn,
    pub(crate) cwr: bool,
    /// Marked by the link where it is now.
    pub(crate) marked: bool,
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    /// Data of a connection.
    Data,
    /// An acknowledgement.
    Ack,
    /// A datagram of a flow without control.
    Datagram,
}

impl Packet {
    pub(crate) fn data(connection: usize, data: &Data, header: u32) -> Packet {
        Packet {
            number: data.number,
            segment: data.segment,
            offset: data.offset,
            ecn: data.ecn,
            cwr: data.cwr,
            ..Packet::plain(connection, PacketKind::Data, data.len + header)
        }
    }

    /// A packet that carries nothing but its size (and a number, set after).
    pub(crate) fn plain(connection: usize, kind: PacketKind, ip_size: u32) -> Packet {
        Packet {
            number: 0,
            segment: 0,
            offset: 0,
            enqueued_at: Instant::ZERO,
            ip_size,
            size: ip_size,
            connection: connection as u32,
            hop: 0,
            kind,
            ecn: Ecn::NotEct,
            cwr: false,
            marked: false,
        }
    }

    /// Where the bytes of its connection are counted.
    pub(crate) fn account(&self) -> usize {
        self.connection as usize
    }

    /// The data it carries, behind `header` bytes of headers.
    pub(crate) fn as_data(&self, header: u32) -> Data {
        Data {
            number: self.number,
            segment: self.segment,
            offset: self.offset,
            len: self.ip_size - header,
            ecn: self.ecn,
            cwr: self.cwr,
        }
    }

    /// Sets the size that a link with this overhead counts.
    pub(crate) fn enter_link(&mut self, overhead: u32) {
        self.size = self.ip_size + overhead;
        self.marked = false;
    }
}

impl Queued for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes(u64::from(self.size))
    }
    #[inline]
    fn flow_hash(&self) -> u64 {
        // Acknowledgements are another five-tuple than the data they answer.
        u64::from(self.connection) << 1 | u64::from(self.kind == PacketKind::Ack)
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    #[inline]
    fn mark_ce(&mut self) {
        self.marked |= self.ecn != Ecn::Ce;
        self.ecn = Ecn::Ce;
    }
    #[inline]
    fn enqueued_at(&self) -> Instant {
        self.enqueued_at
    }
    #[inline]
    fn set_enqueued_at(&mut self, now: Instant) {
        self.enqueued_at = now;
    }
}
