//! Acknowledgements as octets.

use bytes::{Buf, BufMut};
use sojourn_transport::{Ack, EcnCounts, SegmentRange};
use sojourn_units::{Duration, Instant};

use super::message::{ACK, Head};
use super::{HEADER, MAX_CONTROL, Malformed, whole};

const ECE: u8 = 1;
const DUPLICATE: u8 = 2;
const COUNTS: u8 = 4;
const DUPLICATE_RANGE: u8 = 8;

const RANGE: usize = 8;
const RECEIVE_TIME: usize = 12;

/// Most receive times in one acknowledgement. A receiver acknowledges before it has more.
pub const MAX_RECEIVE_TIMES: usize = 64;
/// Most ranges in one acknowledgement: those that fit beside all receive times.
const MAX_RANGES: usize =
    (MAX_CONTROL - HEADER - 12 - 8 - MAX_RECEIVE_TIMES * RECEIVE_TIME) / RANGE;

/// An acknowledgement as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPacket<'a> {
    /// The client's connection ID.
    pub id: u64,
    flags: u8,
    cumulative: u32,
    newest: u32,
    delay_ns: u32,
    counts: [u32; 3],
    /// First segment and number of segments.
    duplicate: (u32, u32),
    ranges: &'a [u8],
    received: &'a [u8],
}

/// Values near those of the next acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected {
    /// The first segment not cumulatively acknowledged.
    pub cumulative: u64,
    /// The newest packet number.
    pub number: u64,
    /// ECN counts.
    pub counts: EcnCounts,
}

impl<'a> AckPacket<'a> {
    pub(super) fn take(head: Head, from: &mut &'a [u8]) -> Result<AckPacket<'a>, Malformed> {
        let [cumulative, newest, delay_ns] = numbers(from)?;
        let counts = if head.flags & COUNTS != 0 { numbers(from)? } else { [0; 3] };
        let [start, len] = if head.flags & DUPLICATE_RANGE != 0 { numbers(from)? } else { [0; 2] };
        let [ranges, received] = head.number.to_be_bytes().map(usize::from);
        Ok(AckPacket {
            id: head.id,
            flags: head.flags,
            cumulative,
            newest,
            delay_ns,
            counts,
            duplicate: (start, len),
            ranges: split(from, ranges * RANGE)?,
            received: split(from, received * RECEIVE_TIME)?,
        })
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let count = |octets: &[u8], each: usize| (octets.len() / each) as u8;
        let number =
            u16::from_be_bytes([count(self.ranges, RANGE), count(self.received, RECEIVE_TIME)]);
        Head { kind: ACK, flags: self.flags, number, id: self.id }.put(out);
        [self.cumulative, self.newest, self.delay_ns].iter().for_each(|n| out.put_u32(*n));
        if self.flags & COUNTS != 0 {
            self.counts.iter().for_each(|n| out.put_u32(*n));
        }
        if self.flags & DUPLICATE_RANGE != 0 {
            out.put_u32(self.duplicate.0);
            out.put_u32(self.duplicate.1);
        }
        out.put_slice(self.ranges);
        out.put_slice(self.received);
    }

    /// Writes it into `ack`, whose memory it reuses.
    pub fn fill(&self, expected: &Expected, ack: &mut Ack) {
        let has = |flag| self.flags & flag != 0;
        let cumulative = whole(self.cumulative, expected.cumulative);
        ack.cumulative = cumulative;
        ack.newest = whole(self.newest, expected.number);
        ack.delay = Duration(u64::from(self.delay_ns));
        ack.counts = if has(COUNTS) { self.counts(&expected.counts) } else { EcnCounts::default() };
        (ack.ece, ack.duplicate) = (has(ECE), has(DUPLICATE));
        ack.clear_details();
        if self.ranges.is_empty() && self.received.is_empty() && !has(DUPLICATE_RANGE) {
            return;
        }
        let details = ack.add_details();
        details.ranges.extend(self.ranges.chunks_exact(RANGE).map(|r| range(r, cumulative)));
        let times = self.received.chunks_exact(RECEIVE_TIME);
        details.received.extend(times.map(|t| receive_time(t, expected.number)));
        if has(DUPLICATE_RANGE) {
            let start = whole(self.duplicate.0, cumulative);
            let end = start.saturating_add(u64::from(self.duplicate.1));
            details.duplicates = Some(SegmentRange { start, end });
        }
    }

    fn counts(&self, near: &EcnCounts) -> EcnCounts {
        let [ect0, ect1, ce] = self.counts;
        EcnCounts {
            ect0: whole(ect0, near.ect0),
            ect1: whole(ect1, near.ect1),
            ce: whole(ce, near.ce),
        }
    }
}

fn numbers<const N: usize>(from: &mut &[u8]) -> Result<[u32; N], Malformed> {
    let mut all = [0; N];
    for number in &mut all {
        *number = from.try_get_u32()?;
    }
    Ok(all)
}

fn split<'a>(from: &mut &'a [u8], len: usize) -> Result<&'a [u8], Malformed> {
    let (octets, rest) = from.split_at_checked(len).ok_or(Malformed::Truncated)?;
    *from = rest;
    Ok(octets)
}

fn range(mut octets: &[u8], cumulative: u64) -> SegmentRange {
    let start = cumulative.saturating_add(u64::from(octets.get_u32()));
    SegmentRange { start, end: start.saturating_add(u64::from(octets.get_u32())) }
}

fn receive_time(mut octets: &[u8], near: u64) -> (u64, Instant) {
    (whole(octets.get_u32(), near), Instant(octets.get_u64()))
}

/// Writes an acknowledgement into `out`, whose content it replaces, and pads it to `size` octets.
/// The ranges and receive times beyond its room are left out, the oldest changes first.
pub fn encode_ack(id: u64, ack: &Ack, size: usize, out: &mut Vec<u8>) {
    out.clear();
    let ranges = &ack.ranges()[..ack.ranges().len().min(MAX_RANGES)];
    let received = ack.received();
    let received = &received[received.len().saturating_sub(MAX_RECEIVE_TIMES)..];
    let counts = [ack.counts.ect0, ack.counts.ect1, ack.counts.ce];
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(ack.ece, ECE)
        | flag(ack.duplicate, DUPLICATE)
        | flag(counts != [0; 3], COUNTS)
        | flag(ack.duplicates().is_some(), DUPLICATE_RANGE);
    let number = u16::from_be_bytes([ranges.len() as u8, received.len() as u8]);
    Head { kind: ACK, flags, number, id }.put(out);
    let delay_ns = u32::try_from(ack.delay.0).unwrap_or(u32::MAX);
    [ack.cumulative as u32, ack.newest as u32, delay_ns].iter().for_each(|n| out.put_u32(*n));
    if counts != [0; 3] {
        counts.iter().for_each(|n| out.put_u32(*n as u32));
    }
    if let Some(range) = ack.duplicates() {
        out.put_u32(range.start as u32);
        out.put_u32((range.end - range.start) as u32);
    }
    for range in ranges {
        out.put_u32((range.start - ack.cumulative) as u32);
        out.put_u32((range.end - range.start) as u32);
    }
    for (number, at) in received {
        out.put_u32(*number as u32);
        out.put_u64(at.0);
    }
    if out.len() < size {
        out.resize(size, 0);
    }
}
