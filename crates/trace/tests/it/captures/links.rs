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
