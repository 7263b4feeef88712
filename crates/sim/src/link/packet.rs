//! The packets of the simulation.

use sojourn_queue::Packet as Queued;
use sojourn_transport::Data;
use sojourn_units::{Bytes, Ecn, Instant};

/// A packet of a host outside the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsidePacket {
    /// Its flow, as a place in the scenario.
    pub flow: usize,
    /// Whether it goes against the direction of the flow.
    pub is_reply: bool,
    /// The caller's handle of its bytes.
    pub handle: u32,
    /// Size of the IP packet in bytes.
    pub size: u32,
    /// The ECN field. Differs at the arrival if a queue marked the packet.
    pub ecn: Ecn,
    /// A hash of its five-tuple.
    pub hash: u32,
    /// Whether it is a pure acknowledgement.
    pub is_ack: bool,
}

/// A packet of the simulation: a small plain value, two to a cache line. It has only the low halves
/// of its packet number and segment. The receiver derives the rest, since it is never 2^31 packets
/// behind or ahead (RFC 9000 section 17.1 shortens packet numbers in the same way).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Packet number; for an acknowledgement, its slot.
    pub(crate) number: u32,
    segment: u32,
    /// Time when it entered its queue; on a wire, its arrival time.
    pub(crate) stamp: Instant,
    /// Size of the IP packet.
    pub(crate) ip_size: u32,
    /// Size with the overhead of the current link.
    size: u32,
    pub(crate) connection: u32,
    label: Label,
}

/// A datagram of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Whether it goes against the direction of the flow.
    pub is_reply: bool,
    /// Its number, modulo 2^32.
    pub number: u32,
    /// Size of the IP packet in bytes.
    pub size: u32,
    /// The ECN field. Differs at the arrival if a queue marked the packet.
    pub ecn: Ecn,
}

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    /// Data of a connection.
    Data = 0,
    /// An acknowledgement.
    Ack = 1,
    /// A datagram of a host, in the direction of its flow.
    Datagram = 2,
    /// A datagram of a host, against the direction of its flow.
    Reply = 3,
    /// The client's part of a handshake: its opening, or its confirmation of the answer.
    Opening = 4,
    /// The server's part of a handshake.
    Answer = 5,
    /// A packet of a host outside the simulation, in the direction of its flow.
    Outside = 6,
    /// A packet of a host outside the simulation, against the direction of its flow.
    OutsideReply = 7,
}

/// Small fields of a packet in one word. A packet is copied several times on its way, and whole
/// words copy best. From the lowest bit: ECN (2), [`PacketKind`] (3), CWR, marked by the current
/// link, end of a burst, the echo of ECN of an acknowledgement (ECE), and the next hop as an index
/// into the table of routes. Packets without data use the bits of CWR and of the end of a burst in
/// their own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Label(u32);

const ECN: u32 = 3;
const KIND_SHIFT: u32 = 2;
const KIND: u32 = 7;
const CWR: u32 = 1 << 5;
const MARKED: u32 = 1 << 6;
const BURST_END_SHIFT: u32 = 7;
const ECHO: u32 = 1 << 8;
const NEXT_SHIFT: u32 = 9;
/// Greatest size of a table of routes.
pub(crate) const PLACES: u32 = 1 << (u32::BITS - NEXT_SHIFT);

impl Label {
    #[inline]
    fn new(route: u32, kind: PacketKind, ecn: Ecn, cwr: bool) -> Label {
        let cwr = if cwr { CWR } else { 0 };
        Label(route << NEXT_SHIFT | ecn as u32 | (kind as u32) << KIND_SHIFT | cwr)
    }

    #[inline]
    fn with_end(self, is_burst_end: bool) -> Label {
        Label(self.0 | u32::from(is_burst_end) << BURST_END_SHIFT)
    }

    #[inline]
    fn ecn(self) -> Ecn {
        Ecn::from_bits(self.0 as u8)
    }

    #[inline]
    fn kind(self) -> PacketKind {
        match self.0 >> KIND_SHIFT & KIND {
            0 => PacketKind::Data,
            1 => PacketKind::Ack,
            2 => PacketKind::Datagram,
            3 => PacketKind::Reply,
            4 => PacketKind::Opening,
            5 => PacketKind::Answer,
            6 => PacketKind::Outside,
            _ => PacketKind::OutsideReply,
        }
    }
}

/// The content of a pure acknowledgement that links see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckFields {
    /// Slot of the acknowledgement.
    pub(crate) slot: usize,
    /// First missing segment.
    pub(crate) cumulative: u64,
    /// Whether it says more than that, such as selective ranges.
    pub(crate) is_distinct: bool,
    /// Whether it has the flag ECE.
    pub(crate) is_echo: bool,
    /// Whether it is encrypted.
    pub(crate) is_opaque: bool,
}

impl Packet {
    #[inline]
    pub(crate) fn data(connection: usize, route: u32, data: &Data, header: u32) -> Packet {
        Packet {
            number: data.number as u32,
            segment: data.segment as u32,
            label: Label::new(route, PacketKind::Data, data.ecn, data.cwr)
                .with_end(data.is_burst_end),
            ..Packet::plain(connection, route, PacketKind::Data, data.len + header)
        }
    }

    /// A packet of a host's datagram.
    pub(crate) fn datagram(flow: usize, route: u32, datagram: &Datagram) -> Packet {
        let kind = if datagram.is_reply { PacketKind::Reply } else { PacketKind::Datagram };
        Packet {
            number: datagram.number,
            label: Label::new(route, kind, datagram.ecn, false),
            ..Packet::plain(flow, route, kind, datagram.size)
        }
    }

    /// The datagram that it carries.
    pub(crate) fn as_datagram(&self) -> Datagram {
        Datagram {
            is_reply: self.kind() == PacketKind::Reply,
            number: self.number,
            size: self.ip_size,
            ecn: self.label.ecn(),
        }
    }

    /// A packet of a host outside the simulation. The label's bit of CWR says whether it is a pure
    /// acknowledgement.
    pub(crate) fn outside(route: u32, packet: &OutsidePacket) -> Packet {
        let kind = if packet.is_reply { PacketKind::OutsideReply } else { PacketKind::Outside };
        Packet {
            number: packet.handle,
            segment: packet.hash,
            label: Label::new(route, kind, packet.ecn, packet.is_ack),
            ..Packet::plain(packet.flow, route, kind, packet.size)
        }
    }

    /// The packet of a host outside the simulation that it represents.
    pub(crate) fn as_outside(&self) -> OutsidePacket {
        OutsidePacket {
            flow: self.connection as usize,
            is_reply: self.kind() == PacketKind::OutsideReply,
            handle: self.number,
            size: self.ip_size,
            ecn: self.label.ecn(),
            hash: self.segment,
            is_ack: self.label.0 & CWR != 0,
        }
    }

    /// A pure acknowledgement of a connection.
    #[inline]
    pub(crate) fn ack(connection: usize, route: u32, size: u32, ack: AckFields) -> Packet {
        let AckFields { slot, cumulative, is_distinct, is_echo, is_opaque } = ack;
        let kind = PacketKind::Ack;
        let mut label = Label::new(route, kind, Ecn::NotEct, is_distinct).with_end(is_opaque);
        if is_echo {
            label.0 |= ECHO;
        }
        Packet {
            number: slot as u32,
            segment: cumulative as u32,
            label,
            ..Packet::plain(connection, route, kind, size)
        }
    }

    /// Whether a middlebox recognises it as a pure acknowledgement. Those of QUIC are encrypted.
    pub(crate) fn is_visible_ack(&self) -> bool {
        self.is_ack()
            && (self.kind() != PacketKind::Ack || self.label.0 >> BURST_END_SHIFT & 1 == 0)
    }

    /// A packet with a size and no other content. The number is set later.
    #[inline]
    pub(crate) fn plain(connection: usize, route: u32, kind: PacketKind, ip_size: u32) -> Packet {
        Packet {
            number: 0,
            segment: 0,
            stamp: Instant::ZERO,
            ip_size,
            size: ip_size,
            connection: connection as u32,
            label: Label::new(route, kind, Ecn::NotEct, false),
        }
    }

    /// The same packet as one of a handshake. `part`: the part of the opening or answer; `extra`:
    /// the slot of an acknowledgement, counted from 1, or 0.
    pub(crate) fn with_part(self, part: u32, extra: u32) -> Packet {
        Packet { number: part, segment: extra, ..self }
    }

    /// Sets whether an opening asks for ECN (RFC 3168 section 6.1.1, an ECN-setup SYN). The label's
    /// bit of CWR holds it.
    pub(crate) fn set_ecn_setup(&mut self, is_ecn_setup: bool) {
        self.label.0 = self.label.0 & !CWR | if is_ecn_setup { CWR } else { 0 };
    }

    /// Whether it is an opening that asks for ECN.
    pub(crate) fn is_ecn_setup(&self) -> bool {
        self.kind() == PacketKind::Opening && self.label.0 & CWR != 0
    }

    /// Overwrites the ECN field.
    pub(crate) fn set_ecn(&mut self, ecn: Ecn) {
        self.label.0 = self.label.0 & !ECN | ecn as u32;
    }

    /// A handshake packet's field beside its part.
    pub(crate) fn extra(&self) -> u32 {
        self.segment
    }

    /// The kind of the packet.
    #[inline]
    pub(crate) fn kind(&self) -> PacketKind {
        self.label.kind()
    }

    /// The next hop, as an index into the table of routes.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.label.0 >> NEXT_SHIFT
    }

    /// Whether the current link has marked it.
    #[inline]
    pub(crate) fn is_marked(&self) -> bool {
        self.label.0 & MARKED != 0
    }

    /// Whether it carries data of a sender that reacts to capacity.
    pub(crate) fn is_adaptive(&self) -> bool {
        matches!(self.kind(), PacketKind::Data | PacketKind::Outside)
    }

    /// Index of its byte count.
    pub(crate) fn account(&self) -> usize {
        let is_outside = self.kind() as u32 >= PacketKind::Outside as u32;
        Packet::account_of(self.connection as usize, is_outside)
    }

    /// The byte count of a connection; if `is_outside`, of a flow whose packets the simulator does
    /// not make. Connections and flows have the same numbers.
    pub(crate) fn account_of(number: usize, is_outside: bool) -> usize {
        2 * number + usize::from(is_outside)
    }

    /// The flow hash of packets of this kind. `number`: the connection or flow, or the hash of a
    /// packet of a host outside the simulation.
    #[inline]
    pub(crate) fn hash_of(kind: PacketKind, number: u32) -> u64 {
        let kind = kind as u64;
        if kind >= PacketKind::Outside as u64 {
            return 1 << 34 | u64::from(number);
        }
        (kind >> 1 & 1) << 33 | u64::from(number) << 1 | kind & 1
    }

    /// The data it carries after `header` bytes of headers. `expected`: a packet number and a
    /// segment near its own.
    #[inline]
    pub(crate) fn as_data(&self, header: u32, expected: (u64, u64)) -> Data {
        Data {
            number: whole(self.number, expected.0),
            segment: whole(self.segment, expected.1),
            len: self.ip_size - header,
            ecn: self.label.ecn(),
            cwr: self.label.0 & CWR != 0,
            is_burst_end: self.label.0 >> BURST_END_SHIFT & 1 != 0,
        }
    }

    /// Sets the size with this link's overhead and clears another link's mark. Stores only values
    /// that change: see [`sojourn_units::ring::RingBuffer::push`].
    #[inline]
    pub(crate) fn enter_link(&mut self, overhead: u32) {
        let size = self.ip_size + overhead;
        if self.size != size {
            self.size = size;
        }
        if self.is_marked() {
            self.label.0 &= !MARKED;
        }
    }

    /// Puts the packet on a wire that delivers it at `at`, and advances its next hop.
    #[inline]
    pub(crate) fn leave_link(&mut self, at: Instant) {
        self.stamp = at;
        self.label.0 += 1 << NEXT_SHIFT;
    }
}

/// The number nearest to `near` whose low half is `low` (RFC 9000 appendix A.3).
#[inline]
fn whole(low: u32, near: u64) -> u64 {
    let ahead = low.wrapping_sub(near as u32) as i32;
    near.wrapping_add_signed(i64::from(ahead))
}

impl Queued for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes(u64::from(self.size))
    }
    #[inline]
    fn flow_hash(&self) -> u64 {
        // Acknowledgements and replies have another five-tuple than the packets that they answer.
        // Flows of datagrams have other numbers than connections. A handshake has the five-tuples
        // of its client's data and of their acknowledgements.
        let kind = self.label.kind();
        let is_outside = kind as u32 >= PacketKind::Outside as u32;
        Packet::hash_of(kind, if is_outside { self.segment } else { self.connection })
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.label.ecn()
    }
    #[inline]
    fn mark_ce(&mut self) {
        if self.label.ecn() != Ecn::Ce {
            self.label.0 |= MARKED | Ecn::Ce as u32;
        }
    }
    #[inline]
    fn is_ack(&self) -> bool {
        let is_outside = self.kind() as u32 >= PacketKind::Outside as u32;
        self.kind() == PacketKind::Ack || (is_outside && self.label.0 & CWR != 0)
    }
    /// Whether both are acknowledgements of one connection, and `older` says no more than the
    /// segments below one that this one also acknowledges.
    fn replaces(&self, older: &Packet) -> bool {
        let is_ack = |packet: &Packet| packet.kind() == PacketKind::Ack && packet.is_visible_ack();
        is_ack(self)
            && is_ack(older)
            && self.connection == older.connection
            && older.label.0 & CWR == 0
            && (self.segment.wrapping_sub(older.segment) as i32) > 0
    }
    fn echoes_ecn(&self) -> bool {
        self.kind() == PacketKind::Ack && self.label.0 & ECHO != 0
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
