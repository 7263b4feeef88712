//! Headers around a segment: link types, VLAN tags, IP options, extension headers,
//! fragments, snap lengths.

use sojourn_trace::capture::{Packet, Segment, Skip, segment};

use super::made::{Tcp, ethernet};

const TCP: u8 = 6;

fn sent() -> Tcp {
    Tcp::new(true, 7, 8, 900).stamps(11, 12)
}

fn read(link: u16, data: &[u8]) -> Result<Segment, Skip> {
    cut(link, data, data.len())
}

/// A packet of which only `len` bytes were captured.
fn cut(link: u16, data: &[u8], len: usize) -> Result<Segment, Skip> {
    let original_len = data.len() as u32;
    segment(&Packet { at_ns: Some(0), link, original_len, data: &data[..len] })
}

fn assert_is_sent(link: u16, data: &[u8]) {
    let found = read(link, data).unwrap();
    let ends = [found.from.port, found.to.port, found.seq as u16, found.payload as u16];
    assert_eq!(ends, [1000, 80, 7, 900], "link type {link}");
    assert_eq!(found.ack, Some(8));
    assert_eq!(found.stamps.map(|stamps| (stamps.value, stamps.echo)), Some((11, 12)));
}

#[test]
fn every_link_type_leads_to_the_segment() {
    for ip in [sent().v4(), sent().v6(TCP, &[])] {
        let kind = if ip[0] >> 4 == 4 { [8, 0] } else { [0x86, 0xdd] };
        assert_is_sent(1, &ethernet(&[], &ip));
        assert_is_sent(113, &[&[0; 14], &kind[..], &ip].concat());
        assert_is_sent(276, &[&kind[..], &[0; 18], &ip].concat());
        [12, 14, 101, 228, 229].iter().for_each(|link| assert_is_sent(*link, &ip));
        let family = if ip[0] >> 4 == 4 { 2_u32 } else { 30 };
        assert_is_sent(0, &[&family.to_le_bytes()[..], &ip].concat());
        assert_is_sent(0, &[&family.to_be_bytes()[..], &ip].concat());
        assert_is_sent(108, &[&family.to_be_bytes()[..], &ip].concat());
        assert_eq!(read(105, &ip), Err(Skip::LinkType));
    }
}

#[test]
fn vlan_tags_may_be_stacked() {
    for tags in [&[0x8100][..], &[0x88a8, 0x8100], &[0x88a8, 0x8100, 0x8100], &[0x9100, 0x8100]] {
        assert_is_sent(1, &ethernet(tags, &sent().v4()));
        assert_is_sent(1, &ethernet(tags, &sent().v6(TCP, &[])));
    }
    // In cooked captures the tags follow the header.
    let tag = [&[0x81, 0][..], &[0; 18], &[0, 7, 8, 0], &sent().v4()].concat();
    assert_is_sent(276, &tag);
    assert_eq!(read(1, &[&[2; 12][..], &[0x08, 0x06], &[0; 46]].concat()), Err(Skip::NotIp));
}

/// The Ethernet frame with this EtherType, or length, instead of IP's.
fn frame(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &kind.to_be_bytes(), payload].concat()
}

/// The packet behind `headers`; for IPv6 the last of them ends in `v6` instead of `v4`.
fn behind(headers: &[u8], v4: &[u8], v6: &[u8]) -> [Vec<u8>; 2] {
    let ip = [(v4, sent().v4()), (v6, sent().v6(TCP, &[]))];
    ip.map(|(kind, ip)| [headers, kind, &ip].concat())
}

/// RFC 2516 section 4, with the protocol as two bytes or, compressed (RFC 1661 section 6.5), one.
fn pppoe() -> Vec<Vec<u8>> {
    let header = [0x11, 0, 0x12, 0x34, 3, 0xe8];
    let whole = behind(&header, &[0, 0x21], &[0, 0x57]);
    whole.into_iter().chain(behind(&header, &[0x21], &[0x57])).collect()
}

/// Stacks of one to three labels (RFC 3032 section 2.1).
fn mpls() -> Vec<Vec<u8>> {
    let stacks = [&[][..], &[[0, 1, 0x20, 64]], &[[0xff; 4].map(|byte| byte & 0xfe); 2]];
    let bottom = [0, 1, 0x21, 64];
    stacks.iter().flat_map(|stack| behind(stack.as_flattened(), &bottom, &bottom)).collect()
}

/// IEEE 802.2 with SNAP (RFC 1042), and IP's own access point.
fn llc() -> Vec<Vec<u8>> {
    let snap = |oui: [u8; 3]| [&[0xaa, 0xaa, 3][..], &oui].concat();
    let with_snap = [[0, 0, 0], [0, 0, 0xf8]].map(|oui| behind(&snap(oui), &[8, 0], &[0x86, 0xdd]));
    with_snap.into_iter().flatten().chain(behind(&[6, 6, 3], &[], &[])).collect()
}

/// Headers between Ethernet and IP, also behind VLAN tags and in cooked captures.
#[test]
fn headers_between_ethernet_and_ip_are_passed_over() {
    let kinds = [(0x8864, pppoe()), (0x8847, mpls()), (0x8848, mpls()), (1000, llc())];
    for (kind, payloads) in kinds {
        for payload in payloads {
            let bytes = u16::to_be_bytes(kind);
            assert_is_sent(1, &frame(kind, &payload));
            assert_is_sent(1, &frame(0x8100, &[&[0, 7][..], &bytes, &payload].concat()));
            let twice = [&[0, 7, 0x81, 0, 0, 8][..], &bytes, &payload].concat();
            assert_is_sent(1, &frame(0x88a8, &twice));
            // Linux has 4 instead of a length.
            let cooked = if kind == 1000 { [0, 4] } else { bytes };
            assert_is_sent(113, &[&[0; 14], &cooked[..], &payload].concat());
            assert_is_sent(276, &[&cooked[..], &[0; 18], &payload].concat());
        }
    }
    // A label stack in PPP in PPPoE.
    let label = [&[0x11, 0, 0, 1, 0, 0, 2, 0x81, 0, 1, 0x21, 64][..], &sent().v4()].concat();
    assert_is_sent(1, &frame(0x8864, &label));
}

#[test]
fn links_of_ppp_lead_to_the_segment() {
    for (v4, v6) in [(&[0, 0x21][..], &[0, 0x57][..]), (&[0x21], &[0x57])] {
        for ppp in behind(&[], v4, v6).into_iter().chain(behind(&[0xff, 3], v4, v6)) {
            [9, 50].iter().for_each(|link| assert_is_sent(*link, &ppp));
            assert_is_sent(204, &[&[1][..], &ppp].concat());
        }
        behind(&[0, 3], v4, v6).iter().for_each(|ppp| assert_is_sent(166, ppp));
        behind(&[1], v4, v6).iter().for_each(|ppp| assert_is_sent(166, ppp));
    }
    pppoe().iter().for_each(|session| assert_is_sent(51, session));
    for cisco in behind(&[0x0f, 0], &[8, 0], &[0x86, 0xdd]) {
        [50, 104].iter().for_each(|link| assert_is_sent(*link, &cisco));
    }
}

/// RFC 2684 over AAL5: routed packets, bridged Ethernet, and PPP (RFC 2364).
#[test]
fn atm_of_a_dsl_line_leads_to_the_segment() {
    llc().iter().for_each(|packet| assert_is_sent(100, packet));
    behind(&[0xfe, 0xfe, 3], &[0xcc], &[0x8e]).iter().for_each(|ip| assert_is_sent(100, ip));
    let ppp = behind(&[0xfe, 0xfe, 3, 0xcf], &[0, 0x21], &[0, 0x57]);
    ppp.iter().for_each(|packet| assert_is_sent(100, packet));
    for check in [1, 7] {
        let bridged = [&[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, check, 0, 0][..]];
        pppoe().iter().for_each(|session| {
            assert_is_sent(100, &[&bridged.concat()[..], &frame(0x8864, session)].concat());
        });
    }
}

#[test]
fn what_is_no_ip_behind_them_is_told_apart() {
    let not_ip = |link: u16, data: &[u8]| assert_eq!(read(link, data), Err(Skip::NotIp));
    not_ip(1, &frame(0x8863, &[0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0])); // discovery of PPPoE
    not_ip(1, &frame(0x8864, &[0x11, 0xa7, 0, 1, 0, 0, 0, 0x21, 0x45])); // its end
    not_ip(1, &frame(0x8864, &[0x11, 0, 0, 1, 0, 10, 0xc0, 0x21, 1, 1, 0, 8])); // LCP
    not_ip(1, &frame(0x8847, &[0, 1, 0x21, 64, 0, 0, 0, 0, 2])); // a pseudowire's control word
    not_ip(1, &frame(38, &[0x42, 0x42, 3, 0, 0, 0])); // spanning tree
    not_ip(1, &frame(40, &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0, 2])); // Cisco's discovery
    not_ip(113, &[&[0; 14], &[0, 1][..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat());
    not_ip(9, &[0xff, 3, 0xc0, 0x21, 1, 1, 0, 8]);
}

/// For every snap length, a packet with all of these headers is cut off, not of another kind.
#[test]
fn every_snap_length_of_headers_is_taken() {
    let label = [0x11, 0, 0, 1, 0, 0, 0xff, 3, 2, 0x81, 0, 1, 0x20, 64, 0, 1, 0x21, 64];
    let inner = frame(0x8100, &[&[0, 7, 0x88, 0x64][..], &label, &sent().v4()].concat());
    let whole = [&[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 7, 0, 0][..], &inner].concat();
    assert_is_sent(100, &whole);
    for len in 0..whole.len() {
        match cut(100, &whole, len) {
            Err(skip) => assert_eq!(skip, Skip::Cut, "{len}"),
            Ok(found) => assert_eq!((found.payload, found.seq), (900, 7), "{len}"),
        }
    }
}

#[test]
fn addresses_are_told_as_usual() {
    let ends = |data: &[u8]| read(101, data).map(|found| [found.from, found.to]).unwrap();
    let v4 = ends(&sent().v4()).map(|end| end.to_string());
    assert_eq!(v4, ["192.0.2.1:1000", "192.0.2.2:80"]);
    let v6 = ends(&sent().v6(TCP, &[])).map(|end| end.to_string());
    assert_eq!(v6, ["[2001:db8::1]:1000", "[2001:db8::2]:80"]);
}

#[test]
fn ip_options_and_extension_headers_are_passed_over() {
    assert_is_sent(101, &sent().v4_with(&[1; 12], 0));
    let hop_by_hop = [TCP, 0, 1, 4, 0, 0, 0, 0];
    assert_is_sent(101, &sent().v6(0, &hop_by_hop));
    let routing = [60, 2].iter().copied().chain([0; 22]).collect::<Vec<_>>();
    let destination = [44, 0, 1, 4, 0, 0, 0, 0];
    let atomic = [51, 0, 0, 0, 1, 2, 3, 4];
    let authentication = [TCP, 4].iter().copied().chain([0; 22]).collect::<Vec<_>>();
    assert_is_sent(
        101,
        &sent().v6(43, &[&routing[..], &destination, &atomic, &authentication].concat()),
    );
}

#[test]
fn fragments_and_other_protocols_are_told_apart() {
    assert_is_sent(101, &sent().v4_with(&[], 0x4000)); // don't fragment
    for fragment in [0x2000, 1, 0x2001, 0x1fff] {
        assert_eq!(read(101, &sent().v4_with(&[], fragment)), Err(Skip::Fragment));
    }
    for offset in [0x01, 0x08] {
        let header = [TCP, 0, 0, offset, 0, 0, 0, 1];
        assert_eq!(read(101, &sent().v6(44, &header)), Err(Skip::Fragment));
    }
    assert_eq!(read(101, &sent().v6(17, &[])), Err(Skip::NotTcp));
    assert_eq!(read(101, &sent().v6(50, &[0; 16])), Err(Skip::NotTcp));
    let mut udp = sent().v4();
    udp[9] = 17;
    assert_eq!(read(101, &udp), Err(Skip::NotTcp));
}

/// For every snap length, the fields reported are correct, and truncation is not reported
/// as malformed.
#[test]
fn every_snap_length_is_taken() {
    let whole = ethernet(&[0x8100], &sent().v4());
    let [tcp_at, options_end] = [14 + 4 + 20, 14 + 4 + 20 + 32];
    for len in 0..whole.len() {
        match cut(1, &whole, len) {
            Err(skip) => {
                assert_eq!(skip, Skip::Cut, "{len}");
                assert!(len < tcp_at + 14, "{len}");
            }
            Ok(found) => {
                assert!(len >= tcp_at + 14, "{len}");
                assert_eq!((found.payload, found.seq), (900, 7));
                assert_eq!(found.stamps.is_some(), len >= options_end, "{len}");
            }
        }
    }
}

#[test]
fn headers_that_lie_are_malformed() {
    let whole = sent().v4();
    let with = |at: usize, value: u8| {
        let mut data = whole.clone();
        data[at] = value;
        read(101, &data)
    };
    assert_eq!(with(0, 0x44), Err(Skip::Malformed)); // header of 16 bytes
    assert_eq!(with(20 + 12, 0x40), Err(Skip::Malformed)); // TCP header of 16 bytes
    let short = [&[0x45, 0, 0, 30], &whole[4..]].concat();
    assert_eq!(read(101, &short), Err(Skip::Malformed)); // no room for TCP
    assert_eq!(read(101, &whole[..30]), Err(Skip::Malformed)); // it ends, and nothing was cut off
    let mut options = whole.clone();
    options[40..44].copy_from_slice(&[5, 0, 0, 0]); // an option of length 0
    assert_eq!(read(101, &options).unwrap().stamps, None);
}

/// Segments captured before the network card splits them have no length of their own (RFC
/// 2675 jumbograms; Linux's IPv4 likewise).
#[test]
fn a_length_of_zero_is_that_of_the_packet() {
    let mut v4 = sent().v4();
    v4[2..4].fill(0);
    assert_is_sent(101, &v4);
    let mut v6 = sent().v6(TCP, &[]);
    v6[4..6].fill(0);
    assert_is_sent(101, &v6);
}
