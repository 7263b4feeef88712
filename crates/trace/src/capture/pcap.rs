//! The classic format: draft-ietf-opsawg-pcap.

use std::io::Read;

use super::bytes::Order;
use super::fault::{Fault, ReadError};
use super::resolution::Resolution;
use super::source::Source;
use super::{Found, MAX_PACKET};

/// Section 4: the file header.
const FILE_HEADER: usize = 24;
/// Section 5: the header of each record.
const RECORD_HEADER: usize = 16;

/// The resolution of a magic number, if it is valid in this byte order.
pub(super) fn resolution(magic: u32, order: Order) -> Option<(Order, Resolution)> {
    match magic {
        0xa1b2_c3d4 => Some((order, Resolution::MICRO)),
        0xa1b2_3c4d => Some((order, Resolution::NANO)),
        _ => None,
    }
}

/// State of reading a classic capture.
pub(super) struct Pcap {
    order: Order,
    resolution: Resolution,
    link: u16,
}

impl Pcap {
    /// Reads the file header.
    pub(super) fn open<R: Read>(
        source: &mut Source<R>,
        order: Order,
        resolution: Resolution,
    ) -> Result<Pcap, ReadError> {
        let header = source.need(FILE_HEADER, "the pcap header")?;
        let [major, minor] = [order.u16(header, 4), order.u16(header, 6)];
        // The upper half of the word holds the length of frame check sequences.
        let link = order.u32(header, 20) as u16;
        if major != 2 {
            let fault = Fault::Version { what: "the pcap file", major, minor, known: "2.x" };
            return Err(source.fault(fault));
        }
        source.consume(FILE_HEADER);
        Ok(Pcap { order, resolution, link })
    }

    /// The next record, which the caller consumes.
    #[inline]
    pub(super) fn next<R: Read>(
        &mut self,
        source: &mut Source<R>,
    ) -> Result<Option<Found>, ReadError> {
        if source.peek(RECORD_HEADER)?.is_empty() {
            return Ok(None);
        }
        let header = source.need(RECORD_HEADER, "a record header")?;
        let [seconds, fraction, len, original_len] =
            [0, 4, 8, 12].map(|at| self.order.u32(header, at));
        if len as usize > MAX_PACKET {
            return Err(source.fault(Fault::PacketLength { len }));
        }
        let total_len = RECORD_HEADER + len as usize;
        source.need(total_len, "a record")?;
        // Less than 2^32 s plus 2^32 us: far below 2^63 ns.
        let nanos = i128::from(seconds) * 1_000_000_000 + self.resolution.nanos(fraction.into());
        Ok(Some(Found {
            at_ns: Some(nanos as i64),
            link: self.link,
            original_len,
            data_at: RECORD_HEADER,
            data_len: len as usize,
            total_len,
        }))
    }
}
