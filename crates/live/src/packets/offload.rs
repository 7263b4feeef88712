//! The header in front of each packet of a device: the work that the kernel left to the device
//! (`struct virtio_net_hdr`, Linux `include/uapi/linux/virtio_net.h`).

/// Bytes of the header.
pub(crate) const SIZE: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// The kind of a super-packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over either.
    Udp,
}

/// Segmentation left to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segmentation {
    pub(crate) kind: Kind,
    /// Payload of each segment but the last.
    pub(crate) size: u16,
    /// Whether CWR is a signal of RFC 3168, which only the first segment carries. In AccECN it is
    /// part of a counter that all carry.
    pub(crate) is_cwr_once: bool,
}

/// A checksum of which the device computes the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartialChecksum {
    /// Start of the sum in the packet.
    pub(crate) start: u16,
    /// The field, from `start`.
    pub(crate) offset: u16,
}

/// The work left to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offload {
    pub(crate) checksum: Option<PartialChecksum>,
    pub(crate) segmentation: Option<Segmentation>,
    /// Bytes of all headers of a super-packet.
    pub(crate) header: u16,
}

/// A packet as the kernel handed it over.
pub(crate) struct Read<'a> {
    pub(crate) offload: Offload,
    pub(crate) packet: &'a [u8],
}

impl Offload {
    /// Reads a header; `None` for a kind of super-packet that was not asked for.
    pub(crate) fn parse(bytes: &[u8; SIZE]) -> Option<Offload> {
        let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let kind = match bytes[1] & !GSO_ECN {
            0 => None,
            GSO_TCP4 => Some(Kind::Tcp4),
            GSO_TCP6 => Some(Kind::Tcp6),
            GSO_UDP => Some(Kind::Udp),
            _ => return None,
        };
        let (size, is_cwr_once) = (half(4), bytes[1] & GSO_ECN != 0);
        let checksum = PartialChecksum { start: half(6), offset: half(8) };
        Some(Offload {
            checksum: (bytes[0] & NEEDS_CHECKSUM != 0).then_some(checksum),
            segmentation: kind.map(|kind| Segmentation { kind, size, is_cwr_once }),
            header: half(2),
        })
    }

    /// The same work on a packet whose first `bytes` are removed; `None` if it reaches into them.
    pub(crate) fn without_front(self, bytes: u16) -> Option<Offload> {
        let mut offload = self;
        if let Some(checksum) = &mut offload.checksum {
            checksum.start = checksum.start.checked_sub(bytes)?;
        }
        if offload.segmentation.is_some() {
            offload.header = offload.header.checked_sub(bytes)?;
        }
        Some(offload)
    }

    /// The same work on a packet behind `bytes` more.
    pub(crate) fn behind(self, bytes: u16) -> Offload {
        let shifted = |checksum: PartialChecksum| PartialChecksum {
            start: checksum.start + bytes,
            ..checksum
        };
        Offload { checksum: self.checksum.map(shifted), header: self.header + bytes, ..self }
    }

    /// The header for the kernel.
    pub(crate) fn bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let mut put = |at: usize, half: u16| {
            bytes[at..at + 2].copy_from_slice(&half.to_ne_bytes());
        };
        if let Some(PartialChecksum { start, offset }) = self.checksum {
            put(6, start);
            put(8, offset);
        }
        if let Some(segmentation) = self.segmentation {
            put(2, self.header);
            put(4, segmentation.size);
        }
        bytes[0] = if self.checksum.is_some() { NEEDS_CHECKSUM } else { 0 };
        bytes[1] = self.segmentation.map_or(0, Segmentation::gso_type);
        bytes
    }
}

impl Segmentation {
    fn gso_type(self) -> u8 {
        let kind = match self.kind {
            Kind::Tcp4 => GSO_TCP4,
            Kind::Tcp6 => GSO_TCP6,
            Kind::Udp => GSO_UDP,
        };
        kind | if self.is_cwr_once { GSO_ECN } else { 0 }
    }
}
