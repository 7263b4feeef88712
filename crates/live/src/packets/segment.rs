//! Divides a super-packet of the kernel into IP packets, as its own software does (Linux,
//! `net/ipv4/tcp_offload.c`, `tcp_gso_segment`; `udp_offload.c`, `__udp_gso_segment`).

use crate::packets::checksum;
use crate::packets::offload::{Kind, Offload, PartialChecksum, Segmentation};
use crate::packets::packet::{self, CWR, FIN, Headers, PSH, TCP, UDP};

/// The segments of a packet. A packet without segmentation is its own only segment.
#[derive(Debug)]
pub(crate) struct Segments<'a> {
    packet: &'a [u8],
    headers: Headers,
    plan: Option<Plan>,
    checksum: Option<PartialChecksum>,
}

/// The division of a super-packet.
#[derive(Clone, Copy, Debug)]
struct Plan {
    segmentation: Segmentation,
    id: u16,
    sequence: u32,
    /// Sum of the pseudo-header without the length.
    pseudo: u32,
    count: usize,
}

impl<'a> Segments<'a> {
    /// Plans the division of a packet that was read with this offload header; `None` if the packet
    /// contradicts it.
    pub(crate) fn new(offload: Offload, packet: &'a [u8]) -> Option<Segments<'a>> {
        let headers = Headers::parse(packet)?;
        let checksum = offload.checksum;
        let is_inside = checksum.is_none_or(|c| {
            usize::from(c.start) + usize::from(c.offset) + 2
                <= headers.payload.max(headers.transport)
        });
        let plan = match offload.segmentation {
            None => None,
            Some(segmentation) => Some(Plan::new(segmentation, &headers, packet)?),
        };
        (is_inside && (plan.is_none() || checksum.is_some())).then_some(Segments {
            packet,
            headers,
            plan,
            checksum,
        })
    }

    /// The headers of the whole.
    pub(crate) fn headers(&self) -> &Headers {
        &self.headers
    }

    /// The checksum that each segment leaves to the device.
    pub(crate) fn checksum(&self) -> Option<PartialChecksum> {
        self.checksum
    }

    /// Number of segments.
    pub(crate) fn count(&self) -> usize {
        self.plan.map_or(1, |plan| plan.count)
    }

    /// Size of a segment.
    pub(crate) fn size(&self, index: usize) -> usize {
        let Some(plan) = self.plan else { return self.packet.len() };
        let (from, to) = plan.range(index, self.headers.payload, self.packet.len());
        self.headers.payload + to - from
    }

    /// Writes a segment into `out`, which has its size.
    pub(crate) fn write(&self, index: usize, out: &mut [u8]) {
        let Some(plan) = self.plan else { return out.copy_from_slice(self.packet) };
        let start = self.headers.payload;
        let (from, to) = plan.range(index, start, self.packet.len());
        out[..start].copy_from_slice(&self.packet[..start]);
        out[start..].copy_from_slice(&self.packet[from..to]);
        let id = plan.id.wrapping_add(index as u16);
        let length = out.len();
        packet::set_length(&self.headers, out, length, Some(id));
        let transport = &mut out[self.headers.transport..];
        match plan.segmentation.kind {
            Kind::Udp => plan.write_udp(transport),
            Kind::Tcp4 | Kind::Tcp6 => plan.write_tcp(transport, index),
        }
    }
}

impl Plan {
    fn new(segmentation: Segmentation, headers: &Headers, packet: &[u8]) -> Option<Plan> {
        let fits = match segmentation.kind {
            Kind::Tcp4 => headers.protocol == TCP && !headers.is_ip6,
            Kind::Tcp6 => headers.protocol == TCP && headers.is_ip6,
            Kind::Udp => headers.protocol == UDP,
        };
        let payload = packet.len().checked_sub(headers.payload)?;
        if !fits || segmentation.size == 0 || payload == 0 {
            return None;
        }
        Some(Plan {
            segmentation,
            id: packet::half(packet, 4)?,
            sequence: packet::word(packet, headers.transport + 4)?,
            pseudo: headers.pseudo_sum(packet),
            count: payload.div_ceil(usize::from(segmentation.size)),
        })
    }

    /// The bytes of the whole that a segment carries.
    fn range(&self, index: usize, start: usize, end: usize) -> (usize, usize) {
        let size = usize::from(self.segmentation.size);
        let from = start + index * size;
        (from, end.min(from + size))
    }

    fn write_tcp(&self, segment: &mut [u8], index: usize) {
        let skipped = index as u32 * u32::from(self.segmentation.size);
        segment[4..8].copy_from_slice(&self.sequence.wrapping_add(skipped).to_be_bytes());
        if index + 1 < self.count {
            segment[13] &= !(FIN | PSH);
        }
        if index > 0 && self.segmentation.is_cwr_once {
            segment[13] &= !CWR;
        }
        self.write_pseudo(segment, 16);
    }

    fn write_udp(&self, segment: &mut [u8]) {
        let length = segment.len() as u16;
        segment[4..6].copy_from_slice(&length.to_be_bytes());
        self.write_pseudo(segment, 6);
    }

    /// The pseudo-header's part of the checksum, to which the device adds the rest.
    fn write_pseudo(&self, segment: &mut [u8], at: usize) {
        let sum = checksum::fold(self.pseudo + segment.len() as u32);
        segment[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
