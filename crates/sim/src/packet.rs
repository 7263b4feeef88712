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
    /// When it entered the queue where it waits; on a wire, when it arrives.
    pub(crate) stamp: Instant,
    /// Size of the IP packet.
    pub(crate) ip_size: u32,
    /// Size as the link counts it where the packet is now.
    size: u32,
    pub(crate) connection: u32,
    /// Where it goes next, as a place in the table of routes.
    pub(crate) next: u32,
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
    #[inline]
    pub(crate) fn data(connection: usize, route: u32, data: &Data, header: u32) -> Packet {
        Packet {
            number: data.number,
            segment: data.segment,
            offset: data.offset,
            ecn: data.ecn,
            cwr: data.cwr,
            ..Packet::plain(connection, route, PacketKind::Data, data.len + header)
        }
    }

    /// A packet that carries nothing but its size (and a number, set after).
    #[inline]
    pub(crate) fn plain(connection: usize, route: u32, kind: PacketKind, ip_size: u32) -> Packet {
        Packet {
            number: 0,
            segment: 0,
            offset: 0,
            stamp: Instant::ZERO,
            ip_size,
            size: ip_size,
            connection: connection as u32,
            next: route,
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
    #[inline]
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

    /// The packet on a wire, until it arrives.
    #[inline]
    pub(crate) fn arriving(&self, at: Instant) -> Packet {
        Packet { stamp: at, ..*self }
    }

    /// Sets the size that a link with this overhead counts.
    #[inline]
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
        self.stamp
    }
    #[inline]
    fn set_enqueued_at(&mut self, now: Instant) {
        self.stamp = now;
    }
}
