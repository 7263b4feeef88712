//! Super-packets divided and joined again.

use proptest::prelude::*;
use sojourn_units::{Ecn, Instant};

use super::*;
use crate::links::emulated::veth;
use crate::packets::coalesce::{Group, Groups, OPEN};
use crate::packets::offload::PartialChecksum;
use crate::packets::port::Arrival;
use crate::packets::slab::Slab;

/// A super-packet as the kernel hands it over.
#[derive(Clone, Debug)]
struct Super {
    is_ip6: bool,
    is_tcp: bool,
    ecn: u8,
    flags: u8,
    /// TCP options of 12 bytes, as timestamps.
    has_options: bool,
    id: u16,
    sequence: u32,
    size: u16,
    payload: Vec<u8>,
    is_cwr_once: bool,
}

fn supers() -> impl Strategy<Value = Super> {
    let payload = prop::collection::vec(any::<u8>(), 1..9_000);
    let bits = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    // ACK is always set; SYN, RST and URG never are on a super-packet.
    let flags = any::<u8>().prop_map(|flags| flags & (FIN | PSH | CWR | 0x40) | 0x10);
    (bits, 0_u8..4, flags, any::<u16>(), any::<u32>(), 200_u16..1500, payload).prop_map(
        |((is_ip6, is_tcp, has_options, is_cwr_once), ecn, flags, id, sequence, size, payload)| {
            Super {
                is_ip6,
                is_tcp,
                ecn,
                flags,
                has_options,
                id,
                sequence,
                size,
                payload,
                is_cwr_once,
            }
        },
    )
}

impl Super {
    fn transport(&self) -> usize {
        if self.is_ip6 { 40 } else { 20 }
    }

    fn header(&self) -> usize {
        let transport = match (self.is_tcp, self.has_options) {
            (false, _) => 8,
            (true, false) => 20,
            (true, true) => 32,
        };
        self.transport() + transport
    }

    fn offload(&self) -> Offload {
        let kind = match (self.is_tcp, self.is_ip6) {
            (false, _) => Kind::Udp,
            (true, false) => Kind::Tcp4,
            (true, true) => Kind::Tcp6,
        };
        let offset = if self.is_tcp { 16 } else { 6 };
        let is_cwr_once = self.is_cwr_once && self.is_tcp;
        Offload {
            checksum: Some(PartialChecksum { start: self.transport() as u16, offset }),
            segmentation: Some(Segmentation { kind, size: self.size, is_cwr_once }),
            header: self.header() as u16,
        }
    }

    fn packet(&self) -> Vec<u8> {
        let (at, header) = (self.transport(), self.header());
        let mut packet = vec![0; header];
        packet.extend(&self.payload);
        let length = packet.len();
        if self.is_ip6 {
            packet[0] = 0x60;
            packet[1] = self.ecn << 4;
            packet[6] = if self.is_tcp { TCP } else { UDP };
            (packet[23], packet[39]) = (1, 2);
        } else {
            (packet[0], packet[1], packet[6], packet[8]) = (0x45, self.ecn, 0x40, 64);
            packet[9] = if self.is_tcp { TCP } else { UDP };
            packet[12..20].copy_from_slice(&[10, 53, 0, 1, 10, 54, 0, 1]);
        }
        packet[at..at + 4].copy_from_slice(&[0x9c, 0x40, 0x13, 0x89]);
        if self.is_tcp {
            packet[at + 4..at + 8].copy_from_slice(&self.sequence.to_be_bytes());
            packet[at + 12] = ((header - at) as u8 / 4) << 4;
            packet[at + 13] = self.flags;
            (packet[at + 14], packet[at + 15]) = (1, 0);
        } else {
            let transport = (length - at) as u16;
            packet[at + 4..at + 6].copy_from_slice(&transport.to_be_bytes());
        }
        let headers = Headers::parse(&with_length(packet.clone(), self.is_ip6)).expect("is whole");
        packet::set_length(&headers, &mut packet, length, Some(self.id));
        let sum = checksum::fold(headers.pseudo_sum(&packet) + (length - at) as u32);
        let field = at + if self.is_tcp { 16 } else { 6 };
        packet[field..field + 2].copy_from_slice(&sum.to_be_bytes());
        packet
    }
}

/// The length alone, so that the headers can be read.
fn with_length(mut packet: Vec<u8>, is_ip6: bool) -> Vec<u8> {
    let (at, length) = if is_ip6 { (4, packet.len() - 40) } else { (2, packet.len()) };
    packet[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
    packet
}

fn segments(of: &Super) -> Vec<Vec<u8>> {
    let packet = of.packet();
    let segments = Segments::new(of.offload(), &packet).expect("it is sound");
    let write = |index| {
        let mut out = vec![0; segments.size(index)];
        segments.write(index, &mut out);
        out
    };
    (0..segments.count()).map(write).collect()
}

/// The checksum of TCP or UDP over the pseudo-header and the segment, written down anew.
fn is_sum_right(packet: &[u8]) -> bool {
    let headers = Headers::parse(packet).expect("it is whole");
    let mut covered = headers.addresses(packet).to_vec();
    covered.extend(u32::from(headers.protocol).to_be_bytes());
    covered.extend(((packet.len() - headers.transport) as u32).to_be_bytes());
    covered.extend(&packet[headers.transport..]);
    checksum::fold(checksum::sum(&covered)) == 0xffff
}

/// Puts segments into a slab and joins them into groups.
fn joined(of: &Super, segments: &[Vec<u8>], joins_udp: bool) -> Vec<(Offload, Vec<u8>)> {
    let mut slab = Slab::new(2048, 0);
    let (mut groups, mut group) = (Vec::new(), Group::new(joins_udp));
    let mut close = |group: &mut Group, slab: &mut Slab| {
        let offload = group.seal(slab);
        let mut bytes = slab.bytes(group.handles()[0]).to_vec();
        for handle in &group.handles()[1..] {
            bytes.extend(&slab.bytes(*handle)[slab.slot(*handle).headers.payload..]);
        }
        groups.push((offload, bytes));
        group.clear();
    };
    for segment in segments {
        let headers = Headers::parse(segment).expect("it is whole");
        let (handle, room) = slab.insert(headers, of.offload().checksum, segment.len());
        room.copy_from_slice(segment);
        if !group.add(&slab, handle) {
            close(&mut group, &mut slab);
            assert!(group.add(&slab, handle));
        }
    }
    close(&mut group, &mut slab);
    groups
}

/// Packets of other flows between them do not end a group, until too many flows have one.
#[test]
fn several_flows_have_open_groups() {
    let of = Super {
        is_ip6: false,
        is_tcp: true,
        ecn: 0,
        flags: 0x10,
        has_options: false,
        id: 1,
        sequence: 1,
        size: 1000,
        payload: vec![0; 3000],
        is_cwr_once: false,
    };
    let (mut slab, mut groups) = (Slab::new(2048, 0), Groups::new(true));
    let insert = |slab: &mut Slab, segment: &[u8]| {
        let headers = Headers::parse(segment).expect("it is whole");
        let (handle, room) = slab.insert(headers, of.offload().checksum, segment.len());
        room.copy_from_slice(segment);
        handle
    };
    let arrival = |handle, flow| Arrival { at: Instant::ZERO, handle, flow, is_reply: false };
    let segments = segments(&of);
    for segment in &segments {
        for flow in 0..OPEN {
            let (packet, place) = (arrival(insert(&mut slab, segment), flow), groups.place(flow));
            assert!(groups.add(place, &packet, &slab));
        }
    }
    assert!((0..OPEN).all(|place| groups.at(place).due.len() == segments.len()));
    let (packet, place) = (arrival(insert(&mut slab, &segments[0]), OPEN), groups.place(OPEN));
    assert!(!groups.add(place, &packet, &slab), "the group of another flow leaves first");
    groups.at(place).clear();
    assert!(groups.add(place, &packet, &slab));
}

proptest! {
    /// Each segment is a whole packet with its part of the data, and all checksums are right.
    #[test]
    fn segments_carry_the_data(of in supers()) {
        let (segments, at) = (segments(&of), of.transport());
        let mut data = Vec::<u8>::new();
        for (index, segment) in segments.iter().enumerate() {
            let headers = Headers::parse(segment).expect("it is whole");
            prop_assert_eq!(headers.ecn as u8, [0, 1, 2, 3][usize::from(of.ecn)]);
            prop_assert!(segment.len() <= of.header() + usize::from(of.size));
            if !of.is_ip6 {
                prop_assert_eq!(checksum::fold(checksum::sum(&segment[..20])), 0xffff);
                let id = of.id.wrapping_add(index as u16);
                prop_assert_eq!(packet::half(segment, 4), Some(id));
            }
            if of.is_tcp {
                let sequence = of.sequence.wrapping_add(data.len() as u32);
                prop_assert_eq!(packet::word(segment, at + 4), Some(sequence));
            } else {
                prop_assert_eq!(packet::half(segment, at + 4), Some((segment.len() - at) as u16));
            }
            let mut whole = segment.clone();
            checksum::complete(&mut whole, at, at + if of.is_tcp { 16 } else { 6 });
            prop_assert!(is_sum_right(&whole));
            data.extend(&segment[headers.payload..]);
        }
        prop_assert_eq!(data, of.payload);
    }

    /// FIN and PSH are on the last segment only, CWR of RFC 3168 on the first, and that of AccECN
    /// on all.
    #[test]
    fn flags_are_where_they_belong(of in supers()) {
        prop_assume!(of.is_tcp);
        let segments = segments(&of);
        let last = segments.len() - 1;
        for (index, segment) in segments.iter().enumerate() {
            let flags = segment[of.transport() + 13];
            let end = if index == last { of.flags & (FIN | PSH) } else { 0 };
            let cwr = if index == 0 || !of.is_cwr_once { of.flags & CWR } else { 0 };
            prop_assert_eq!(flags & (FIN | PSH), end);
            prop_assert_eq!(flags & CWR, cwr);
            prop_assert_eq!(flags & !(FIN | PSH | CWR), of.flags & !(FIN | PSH | CWR));
        }
    }

    /// Segments joined again, and divided again, are the same. Those of UDP are joined only if the
    /// kernel divides them.
    #[test]
    fn joined_segments_divide_into_the_same(of in supers(), joins_udp in any::<bool>()) {
        let segments = segments(&of);
        let mut again = Vec::new();
        for (offload, packet) in joined(&of, &segments, joins_udp) {
            prop_assert!(of.is_tcp || joins_udp || offload.segmentation.is_none());
            let parts = Segments::new(offload, &packet).expect("it is sound");
            for index in 0..parts.count() {
                let mut out = vec![0; parts.size(index)];
                parts.write(index, &mut out);
                again.push(out);
            }
        }
        prop_assert_eq!(again, segments);
    }

    /// A packet with another ECN field or another counter of AccECN never joins.
    #[test]
    fn marked_packets_stay_apart(of in supers(), place in any::<prop::sample::Index>(), ace in any::<bool>()) {
        let mut segments = segments(&of);
        prop_assume!(segments.len() > 2);
        let place = 1 + place.index(segments.len() - 2);
        let at = of.transport();
        if ace && of.is_tcp {
            segments[place][at + 13] ^= 0x40;
        } else {
            prop_assume!(of.ecn != 3);
            packet::set_ecn(&mut segments[place], Ecn::Ce);
        }
        let marked = segments[place].clone();
        let groups = joined(&of, &segments, true);
        prop_assert!(groups.iter().any(|(_, packet)| *packet == marked));
    }

    /// TCP would count the marks of a super-packet as one.
    #[test]
    fn marked_packets_of_tcp_never_join(mut of in supers()) {
        prop_assume!(of.is_tcp);
        of.ecn = 3;
        let segments = segments(&of);
        let groups = joined(&of, &segments, true);
        prop_assert!(groups.iter().all(|(offload, _)| offload.segmentation.is_none()));
        prop_assert_eq!(groups.len(), segments.len());
    }

    /// Another ECN field leaves the IPv4 checksum of a packet right.
    #[test]
    fn a_new_ecn_field_repairs_the_checksum(
        of in supers(),
        ecn in prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]),
    ) {
        let mut packet = of.packet();
        packet::set_ecn(&mut packet, ecn);
        prop_assert_eq!(Headers::parse(&packet).map(|headers| headers.ecn), Some(ecn));
        if !of.is_ip6 {
            prop_assert_eq!(checksum::fold(checksum::sum(&packet[..20])), 0xffff);
        }
    }

    /// No bytes make the parser panic.
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..120), offload in any::<[u8; 10]>()) {
        let Some(offload) = Offload::parse(&offload) else { return Ok(()) };
        if let Some(segments) = Segments::new(offload, &bytes) {
            for index in 0..segments.count() {
                segments.write(index, &mut vec![0; segments.size(index)]);
            }
        }
    }

    /// The offload header survives a round trip.
    #[test]
    fn offload_headers_round_trip(of in supers()) {
        prop_assert_eq!(Offload::parse(&of.offload().bytes()), Some(of.offload()));
    }

    /// A packet behind an Ethernet header is the same packet without it.
    #[test]
    fn a_frame_has_its_packet(of in supers()) {
        let frame = [&veth::headers(&of.offload(), of.is_ip6)[..], &of.packet()].concat();
        let (front, frame) = frame.split_first_chunk().expect("it is longer");
        let offload = Offload::parse(front).expect("it is known");
        let read = veth::strip(offload, frame).expect("it is whole");
        prop_assert_eq!(read.offload, of.offload());
        prop_assert_eq!(read.packet, of.packet());
        prop_assert_eq!(packet::half(frame, 12), Some(if of.is_ip6 { 0x86dd } else { 0x0800 }));
    }
}
