//! Link-layer headers.

use super::packet::Skip;

/// LINKTYPE values of the tcpdump group's registry.
const NULL: u16 = 0;
const ETHERNET: u16 = 1;
/// Raw IP, as numbered by some BSDs.
const RAW_BSD: [u16; 2] = [12, 14];
const RAW: u16 = 101;
const LOOP: u16 = 108;
const LINUX_SLL: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_SLL2: u16 = 276;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// IEEE 802.1Q, 802.1ad, and the predecessor of the latter.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// Address families in NULL and LOOP headers: AF_INET is 2 on all systems; AF_INET6 is 24
/// in NetBSD and OpenBSD, 28 in FreeBSD, 30 in Darwin, 10 in Linux.
const FAMILIES: [u32; 6] = [2, 24, 28, 30, 10, 23];

/// Position of the IP header in a packet of link type `link`.
#[inline]
pub(super) fn ip_at(link: u16, data: &[u8]) -> Result<usize, Skip> {
    match link {
        ETHERNET => tagged(data, 12, 14),
        LINUX_SLL => tagged(data, 14, 16),
        LINUX_SLL2 => tagged(data, 0, 20),
        NULL | LOOP => family(data),
        RAW | IPV4 | IPV6 => Ok(0),
        _ if RAW_BSD.contains(&link) => Ok(0),
        _ => Err(Skip::LinkType),
    }
}

/// Skips any number of VLAN tags: `kind_at` is the position of the EtherType, `next_at`
/// that of the header it describes.
#[inline]
fn tagged(data: &[u8], mut kind_at: usize, mut next_at: usize) -> Result<usize, Skip> {
    loop {
        let kind = data.get(kind_at..kind_at + 2).ok_or(Skip::Cut)?;
        match u16::from_be_bytes([kind[0], kind[1]]) {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return Ok(next_at),
            kind if TAGS.contains(&kind) => {
                // A tag is two bytes of priority and VLAN, then the next type.
                kind_at = next_at + 2;
                next_at += 4;
            }
            _ => return Err(Skip::NotIp),
        }
    }
}

/// Skips four bytes of address family, in the byte order of the capturing host (NULL) or of
/// the network (LOOP).
fn family(data: &[u8]) -> Result<usize, Skip> {
    let word = data.get(..4).ok_or(Skip::Cut)?;
    let word = [word[0], word[1], word[2], word[3]];
    let either = [u32::from_be_bytes(word), u32::from_le_bytes(word)];
    if either.iter().any(|family| FAMILIES.contains(family)) { Ok(4) } else { Err(Skip::NotIp) }
}
