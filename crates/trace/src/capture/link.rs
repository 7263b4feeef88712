//! Link-layer headers: from the first byte of a packet to its IP header.

use super::packet::Skip;

/// LINKTYPE values of the tcpdump group's registry.
const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const PPP: u16 = 9;
/// Raw IP, as numbered by some BSDs.
const RAW_BSD: [u16; 2] = [12, 14];
const PPP_HDLC: u16 = 50;
const PPP_ETHER: u16 = 51;
/// RFC 2684 over AAL5: the ATM of a DSL line.
const ATM_RFC1483: u16 = 100;
const RAW: u16 = 101;
const C_HDLC: u16 = 104;
const LOOP: u16 = 108;
const LINUX_SLL: u16 = 113;
const PPP_PPPD: u16 = 166;
const PPP_WITH_DIR: u16 = 204;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_SLL2: u16 = 276;

/// Address families in NULL and LOOP headers: AF_INET is 2 on all systems; AF_INET6 is 24
/// in NetBSD and OpenBSD, 28 in FreeBSD, 30 in Darwin, 10 in Linux.
const FAMILIES: [u32; 6] = [2, 24, 28, 30, 10, 23];

/// The type of the next header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    Ip,
    /// The header that this EtherType names.
    EtherType(u16),
    /// IEEE 802.2.
    Llc,
    Pppoe,
    Ppp,
    Mpls,
}

/// A header and its position.
type Next = Result<(Header, usize), Skip>;

/// Position of the IP header in a packet of link type `link`.
#[inline]
pub(super) fn ip_at(link: u16, data: &[u8]) -> Result<usize, Skip> {
    let (mut header, mut at) = first(link, data)?;
    // Each header but IP takes at least one byte, so the packet's length bounds their number.
    while header != Header::Ip {
        (header, at) = match header {
            Header::EtherType(kind) => ether_type(data, kind, at),
            Header::Llc => llc(data, at),
            Header::Pppoe => pppoe(data, at),
            Header::Ppp => ppp(data, at),
            Header::Mpls => mpls(data, at),
            Header::Ip => Ok((header, at)),
        }?;
    }
    Ok(at)
}

/// The header behind that of the link.
#[inline]
fn first(link: u16, data: &[u8]) -> Next {
    match link {
        ETHERNET => typed(data, 12, 14),
        LINUX_SLL => cooked(data, 14, 16),
        LINUX_SLL2 => cooked(data, 0, 20),
        NULL | LOOP => family(data),
        RAW | IPV4 | IPV6 => Ok((Header::Ip, 0)),
        PPP => Ok((Header::Ppp, 0)),
        PPP_HDLC | C_HDLC => hdlc(data),
        PPP_ETHER => Ok((Header::Pppoe, 0)),
        PPP_PPPD => directed(data),
        PPP_WITH_DIR => Ok((Header::Ppp, 1)),
        ATM_RFC1483 => Ok((Header::Llc, 0)),
        _ if RAW_BSD.contains(&link) => Ok((Header::Ip, 0)),
        _ => Err(Skip::LinkType),
    }
}

/// `N` bytes at `at`.
#[inline]
fn bytes<const N: usize>(data: &[u8], at: usize) -> Result<[u8; N], Skip> {
    let part = data.get(at..).and_then(|rest| rest.first_chunk());
    part.copied().ok_or(Skip::Cut)
}

#[inline]
fn be16(data: &[u8], at: usize) -> Result<u16, Skip> {
    bytes(data, at).map(u16::from_be_bytes)
}

/// The EtherType at `kind_at` names the header at `next_at`.
#[inline]
fn typed(data: &[u8], kind_at: usize, next_at: usize) -> Next {
    Ok((Header::EtherType(be16(data, kind_at)?), next_at))
}

#[inline]
fn ether_type(data: &[u8], kind: u16, at: usize) -> Next {
    match kind {
        0x0800 | 0x86dd => Ok((Header::Ip, at)),
        // IEEE 802.1Q, 802.1ad, and the predecessor of the latter: two bytes of priority and
        // VLAN, then the next type.
        0x8100 | 0x88a8 | 0x9100 => typed(data, at + 2, at + 4),
        // RFC 2516 section 4: the session stage.
        0x8864 => Ok((Header::Pppoe, at)),
        // RFC 5332 section 3.
        0x8847 | 0x8848 => Ok((Header::Mpls, at)),
        // IEEE 802.3 section 3.2.6: up to 1500, it is the length of an 802.2 frame.
        0..=1500 => Ok((Header::Llc, at)),
        _ => Err(Skip::NotIp),
    }
}

/// An EtherType, or a number of Linux's own: 4 is an 802.2 frame, and 1 a frame without it
/// (`ETH_P_802_2` and `ETH_P_802_3` of linux/if_ether.h).
#[inline]
fn cooked(data: &[u8], kind_at: usize, next_at: usize) -> Next {
    match typed(data, kind_at, next_at)? {
        (Header::EtherType(1), _) => Err(Skip::NotIp),
        next => Ok(next),
    }
}

/// IEEE 802.2, with SNAP (RFC 1042), and with the encapsulations of ATM (RFC 2684).
#[cold]
fn llc(data: &[u8], at: usize) -> Next {
    match bytes(data, at)? {
        // The access point of IP.
        [0x06, 0x06, 0x03] => Ok((Header::Ip, at + 3)),
        [0xaa, 0xaa, 0x03] => snap(data, at + 3),
        // RFC 2684 section 5.1: a network layer protocol identifier.
        [0xfe, 0xfe, 0x03] => match bytes(data, at + 3)? {
            [0xcc] | [0x8e] => Ok((Header::Ip, at + 4)),
            [0xcf] => Ok((Header::Ppp, at + 4)),
            _ => Err(Skip::NotIp),
        },
        _ => Err(Skip::NotIp),
    }
}

fn snap(data: &[u8], at: usize) -> Next {
    match bytes(data, at)? {
        // RFC 1042, and IEEE 802.1H.
        [0, 0, 0] | [0, 0, 0xf8] => typed(data, at + 3, at + 5),
        // RFC 2684 section 5.2: Ethernet frames with and without a frame check sequence,
        // behind two bytes of padding.
        [0, 0x80, 0xc2] if matches!(be16(data, at + 3)?, 1 | 7) => typed(data, at + 19, at + 21),
        _ => Err(Skip::NotIp),
    }
}

/// RFC 2516 section 4: version and type 1, code 0 for data; session and length follow.
#[cold]
fn pppoe(data: &[u8], at: usize) -> Next {
    match bytes(data, at)? {
        [0x11, 0, _, _, _, _] => Ok((Header::Ppp, at + 6)),
        _ => Err(Skip::NotIp),
    }
}

/// RFC 1661 section 2: the protocol; before it address and control, unless compressed (RFC
/// 1662 section 3.2).
#[cold]
fn ppp(data: &[u8], at: usize) -> Next {
    let at = match bytes(data, at)? {
        [0xff] => at + 2,
        [_] => at,
    };
    let [first] = bytes(data, at)?;
    // RFC 1661 section 6.5: the first byte of an uncompressed protocol is even.
    let (protocol, at) = match first & 1 {
        1 => (first.into(), at + 1),
        _ => (be16(data, at)?, at + 2),
    };
    match protocol {
        0x0021 | 0x0057 => Ok((Header::Ip, at)),
        // RFC 3032 section 4.
        0x0281 | 0x0283 => Ok((Header::Mpls, at)),
        _ => Err(Skip::NotIp),
    }
}

/// PPP, or Cisco's framing (RFC 1547 section 4.3.1): address, control, EtherType.
fn hdlc(data: &[u8]) -> Next {
    match bytes(data, 0)? {
        [0x0f | 0x8f] => typed(data, 2, 4),
        _ => Ok((Header::Ppp, 0)),
    }
}

/// PPP in which the direction replaces the address byte.
fn directed(data: &[u8]) -> Next {
    match bytes(data, 0)? {
        [_, 0x03] => Ok((Header::Ppp, 2)),
        _ => Ok((Header::Ppp, 1)),
    }
}

/// RFC 3032 section 2.1: entries of four bytes; the lowest bit of the third marks the last one.
/// The packet behind it is IP by its first four bits (RFC 4928 section 3).
#[cold]
fn mpls(data: &[u8], at: usize) -> Next {
    let [_, _, bottom, _] = bytes(data, at)?;
    let header = if bottom & 1 == 1 { Header::Ip } else { Header::Mpls };
    Ok((header, at + 4))
}

/// Skips four bytes of address family, in the byte order of the capturing host (NULL) or of
/// the network (LOOP).
fn family(data: &[u8]) -> Next {
    let word = bytes(data, 0)?;
    let either = [u32::from_be_bytes(word), u32::from_le_bytes(word)];
    match either.iter().any(|family| FAMILIES.contains(family)) {
        true => Ok((Header::Ip, 4)),
        false => Err(Skip::NotIp),
    }
}
