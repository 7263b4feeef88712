//! IP headers, up to the TCP or UDP header that follows.

use super::packet::Skip;

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
/// RFC 8200 section 4: hop-by-hop options, routing, destination options; and RFC
/// 6275's mobility header, RFC 7401's and RFC 5533's, which have the same form.
const EXTENSIONS: [u8; 6] = [0, 43, 60, 135, 139, 140];

/// Information from an IP packet about the TCP segment or UDP datagram in it.
pub(super) struct Internet {
    /// IPv4 addresses are in the low 32 bits.
    pub(super) addresses: [u128; 2],
    pub(super) v6: bool,
    /// [`TCP`] or [`UDP`].
    pub(super) protocol: u8,
    /// IPv4's identification.
    pub(super) id: Option<u16>,
    /// Position of the segment in the packet.
    pub(super) segment_at: usize,
    /// Length of the segment on the link, with its header, in bytes.
    pub(super) segment_len: u32,
    /// Length of the IP packet, in bytes.
    pub(super) size: u32,
    /// The ECN field (RFC 3168 section 5).
    pub(super) ecn: u8,
}

/// Reads the IP header at `at`, of either version.
#[inline]
pub(super) fn internet(data: &[u8], at: usize, original_len: u32) -> Result<Internet, Skip> {
    // Length behind the link's header, for a packet without its own length: a segment
    // captured before the network card splits it.
    let whole = original_len.saturating_sub(at as u32);
    match data.get(at).ok_or(Skip::Cut)? >> 4 {
        4 => v4(data, at, whole),
        6 => v6(data, at, whole),
        _ => Err(Skip::NotIp),
    }
}

fn be16(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

#[inline]
fn v4(data: &[u8], at: usize, whole: u32) -> Result<Internet, Skip> {
    let header = data.get(at..at + 20).ok_or(Skip::Cut)?;
    let header_len = u32::from(header[0] & 0xf) * 4;
    let total_len = match be16(header, 2) {
        0 => whole,
        len => len.into(),
    };
    if header_len < 20 || total_len < header_len {
        return Err(Skip::Malformed);
    }
    // RFC 791: more fragments, or an offset. The lengths and headers of the segment are
    // unknown without all fragments.
    if be16(header, 6) & 0x3fff != 0 {
        return Err(Skip::Fragment);
    }
    let protocol = header[9];
    if !is_known(protocol) {
        return Err(Skip::NotTcp);
    }
    let address = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|k| header[at + k])).into();
    Ok(Internet {
        addresses: [address(12), address(16)],
        v6: false,
        protocol,
        id: Some(be16(header, 4)),
        segment_at: at + header_len as usize,
        segment_len: total_len - header_len,
        size: total_len,
        ecn: header[1] & 3,
    })
}

#[inline]
fn v6(data: &[u8], at: usize, whole: u32) -> Result<Internet, Skip> {
    let header = data.get(at..at + 40).ok_or(Skip::Cut)?;
    // RFC 2675: zero in a jumbogram, whose option holds the length.
    let payload_len = match be16(header, 4) {
        0 => whole.saturating_sub(40),
        len => len.into(),
    };
    let (segment_at, protocol) = behind_extensions(data, at + 40, header[6])?;
    let extensions = (segment_at - at - 40) as u32;
    let segment_len = payload_len.checked_sub(extensions).ok_or(Skip::Malformed)?;
    let address = |at: usize| u128::from_be_bytes(std::array::from_fn(|k| header[at + k]));
    let addresses = [address(8), address(24)];
    let size = payload_len.saturating_add(40);
    // RFC 8200 section 3: the traffic class follows the four bits of the version.
    let ecn = (header[1] >> 4) & 3;
    Ok(Internet { addresses, v6: true, protocol, id: None, segment_at, segment_len, size, ecn })
}

/// Position of the TCP or UDP header behind the extension headers, and its protocol. Each has 8 bytes or more, so
/// the packet's length bounds their number.
fn behind_extensions(data: &[u8], mut at: usize, mut next: u8) -> Result<(usize, u8), Skip> {
    while !is_known(next) {
        let header = data.get(at..at + 4);
        let header = match next {
            FRAGMENT | AUTHENTICATION => header.ok_or(Skip::Cut)?,
            _ if EXTENSIONS.contains(&next) => header.ok_or(Skip::Cut)?,
            _ => return Err(Skip::NotTcp),
        };
        at += match next {
            // RFC 8200 section 4.5: 13 bits of offset and M; both are zero in an atomic
            // fragment (RFC 6946), which is complete.
            FRAGMENT if be16(header, 2) & 0xfff9 != 0 => return Err(Skip::Fragment),
            FRAGMENT => 8,
            // RFC 4302 section 2.2: in words of 4 bytes, minus 2.
            AUTHENTICATION => (usize::from(header[1]) + 2) * 4,
            // In words of 8 bytes, minus 1.
            _ => (usize::from(header[1]) + 1) * 8,
        };
        next = header[0];
    }
    Ok((at, next))
}

fn is_known(protocol: u8) -> bool {
    matches!(protocol, TCP | UDP)
}
