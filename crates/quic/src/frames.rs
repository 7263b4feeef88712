//! The frames of a decrypted QUIC packet (RFC 9000 section 19).

use std::ops::{Range, RangeInclusive};

use sojourn_transport::EcnCounts;
use sojourn_units::Duration;

/// Both stacks leave `ack_delay_exponent` at its default (RFC 9000 section 18.2), in microseconds.
pub(crate) const ACK_DELAY_EXPONENT: u32 = 3;

/// An ACK frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The largest acknowledged packet number.
    pub(crate) largest: u64,
    /// The time for which the peer delayed its acknowledgement.
    pub(crate) delay: Duration,
    /// The byte of the frame's number of ranges.
    ranges: usize,
    ecn: Option<Counts>,
}

/// The ECN counts of an ACK frame.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counts {
    /// As the peer wrote them.
    counts: EcnCounts,
    /// The bytes of ECT(0)'s count, which those of ECT(1)'s follow.
    ect0: Range<usize>,
    ect1: Range<usize>,
}

impl Ack {
    /// The ECN counts, if the frame has them.
    pub(crate) fn counts(&self) -> Option<&EcnCounts> {
        self.ecn.as_ref().map(|ecn| &ecn.counts)
    }

    /// Exchanges the two counts of ECT in the packet. Neither its length nor another field changes.
    pub(crate) fn swap(&self, payload: &mut [u8]) {
        if let Some(Counts { ect0, ect1, .. }) = &self.ecn {
            payload[ect0.start..ect1.end].rotate_left(ect0.len());
        }
    }

    /// Calls `found` for each range of acknowledged packet numbers, the largest first. Stops at a
    /// range below zero (RFC 9000 section 19.3.1).
    pub(crate) fn for_each_range(&self, payload: &[u8], found: impl FnMut(RangeInclusive<u64>)) {
        let _ = Reader { bytes: payload, at: self.ranges }.ranges(self.largest, found);
    }
}

/// Calls `found` for each ACK frame. Stops at the first malformed or unknown frame, behind which
/// frames cannot be found; the stack itself judges the packet.
pub(crate) fn for_each_ack(payload: &mut [u8], mut found: impl FnMut(Ack, &mut [u8])) {
    let mut at = 0;
    while at < payload.len() {
        let mut reader = Reader { bytes: payload, at };
        let Some(frame) = reader.frame() else { return };
        at = reader.at;
        if let Frame::Ack(ack) = frame {
            found(ack, payload);
        }
    }
}

/// Data in a packet.
pub(crate) struct Piece {
    /// Its stream; `None` for the handshake's (CRYPTO).
    pub(crate) stream: Option<u64>,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// Calls `found` for the data of each frame. Stops at the first malformed or unknown frame.
pub(crate) fn for_each_piece(payload: &[u8], mut found: impl FnMut(Piece)) {
    let mut reader = Reader { bytes: payload, at: 0 };
    while reader.at < payload.len() {
        match reader.frame() {
            Some(Frame::Data(piece)) => found(piece),
            Some(Frame::Ack(_) | Frame::Close | Frame::Other) => {}
            None => return,
        }
    }
}

/// The `max_ack_delay` of encoded transport parameters (RFC 9000 sections 18 and 18.2), if they have
/// one.
pub(crate) fn max_ack_delay(params: &[u8]) -> Option<Duration> {
    const ID: u64 = 0x0b;
    let mut reader = Reader { bytes: params, at: 0 };
    while reader.varint()? != ID {
        reader.counted()?;
    }
    reader.varint()?;
    reader.varint().map(|ms| Duration(ms.saturating_mul(1_000_000)))
}

/// Whether a packet counts as in flight (RFC 9002 section 2): it has a frame other than ACK and
/// CONNECTION_CLOSE. Stops at the first such frame.
pub(crate) fn counts_in_flight(payload: &[u8]) -> bool {
    let mut reader = Reader { bytes: payload, at: 0 };
    while reader.at < payload.len() {
        match reader.frame() {
            Some(Frame::Ack(_) | Frame::Close) => {}
            Some(Frame::Data(_) | Frame::Other) | None => return true,
        }
    }
    false
}

/// The kind of a frame.
enum Frame {
    Ack(Ack),
    Data(Piece),
    Close,
    Other,
}

/// Reads the fields of a decrypted packet.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
    /// The next byte.
    pub(crate) at: usize,
}

impl Reader<'_> {
    /// A variable-length integer (RFC 9000 section 16).
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let first = *self.bytes.get(self.at)?;
        let len = 1 << (first >> 6);
        let rest = self.bytes.get(self.at + 1..self.at + len)?;
        self.at += len;
        Some(rest.iter().fold(u64::from(first & 0x3f), |n, byte| n << 8 | u64::from(*byte)))
    }

    fn varints(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.varint().map(drop))
    }

    fn skip(&mut self, len: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(len).ok()?)?;
        self.at = Some(end).filter(|end| *end <= self.bytes.len())?;
        Some(())
    }

    /// Passes a field with its length in front, which it returns.
    pub(crate) fn counted(&mut self) -> Option<u64> {
        let len = self.varint()?;
        self.skip(len)?;
        Some(len)
    }

    /// Passes all that is left; returns its length.
    pub(crate) fn rest(&mut self) -> u64 {
        let from = std::mem::replace(&mut self.at, self.bytes.len());
        (self.bytes.len() - from) as u64
    }

    /// Passes a connection ID with its length in front, and a stateless reset token.
    pub(crate) fn connection_id(&mut self) -> Option<()> {
        let len = *self.bytes.get(self.at)?;
        self.skip(u64::from(len) + 1 + 16)
    }

    /// Passes the ranges of an ACK frame from their number on, and calls `found` for each, the
    /// largest first. `None` at a range below zero (RFC 9000 section 19.3.1).
    pub(crate) fn ranges(
        &mut self,
        mut largest: u64,
        mut found: impl FnMut(RangeInclusive<u64>),
    ) -> Option<()> {
        let count = self.varint()?;
        for place in 0..=count {
            // A gap of n has n + 1 packets, below the range before it.
            let gap = if place == 0 { 0 } else { self.varint()? + 2 };
            let end = largest.checked_sub(gap)?;
            largest = end.checked_sub(self.varint()?)?;
            found(largest..=end);
        }
        Some(())
    }

    /// Reads one frame. `None` if it is malformed or unknown. Types: RFC 9000 section 19, RFC 9221,
    /// draft-ietf-quic-ack-frequency.
    fn frame(&mut self) -> Option<Frame> {
        let kind = self.varint()?;
        match kind {
            0x00 | 0x01 | 0x1e | 0x1f => {}
            0x02 | 0x03 => return self.ack(kind == 0x03),
            0x04 => self.varints(3)?,
            0x06 => {
                let (offset, len) = (self.varint()?, self.counted()?);
                return Some(Frame::Data(Piece { stream: None, offset, len }));
            }
            0x07 | 0x31 => {
                self.counted()?;
            }
            0x08..=0x0f => return self.stream(kind),
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => self.varints(1)?,
            0x05 | 0x11 | 0x15 => self.varints(2)?,
            0x18 => {
                self.varints(2)?;
                self.connection_id()?;
            }
            0x1a | 0x1b => self.skip(8)?,
            0x1c | 0x1d => {
                self.varints(if kind == 0x1c { 2 } else { 1 })?;
                self.counted()?;
                return Some(Frame::Close);
            }
            0x30 => {
                self.rest();
            }
            0xaf => self.varints(4)?,
            _ => return None,
        }
        Some(Frame::Other)
    }

    /// Section 19.8: the lowest three bits say whether offset and length are present.
    fn stream(&mut self, kind: u64) -> Option<Frame> {
        let stream = Some(self.varint()?);
        let offset = if kind & 4 != 0 { self.varint()? } else { 0 };
        let len = if kind & 2 != 0 { self.counted()? } else { self.rest() };
        Some(Frame::Data(Piece { stream, offset, len }))
    }

    fn ack(&mut self, has_counts: bool) -> Option<Frame> {
        let (largest, delay) = (self.varint()?, self.varint()?);
        let delay = Duration(delay.saturating_mul(1_000 << ACK_DELAY_EXPONENT));
        let ranges = self.at;
        let count = self.varint()?;
        self.varint()?;
        for _ in 0..count {
            self.varints(2)?;
        }
        let ecn = if has_counts { Some(self.counts()?) } else { None };
        Some(Frame::Ack(Ack { largest, delay, ranges, ecn }))
    }

    fn counts(&mut self) -> Option<Counts> {
        let start = self.at;
        let ect0 = self.varint()?;
        let middle = self.at;
        let ect1 = self.varint()?;
        let end = self.at;
        let counts = EcnCounts { ect0, ect1, ce: self.varint()? };
        Some(Counts { counts, ect0: start..middle, ect1: middle..end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that a packet may have before the ACK frame, and the frame: largest 300, two ranges,
    /// ECT(0) 1, ECT(1) 300, CE 70.
    const PACKET: &[u8] = &[
        0x01, 0x06, 0x00, 0x02, 9, 9, 0x10, 0x44, 0x00, 0x0e, 0x00, 0x40, 0x40, 0x01, 7, 0x03,
        0x41, 0x2c, 0x05, 0x01, 0x02, 0x00, 0x03, 0x01, 0x41, 0x2c, 0x40, 0x46, 0x00, 0x00,
    ];

    #[test]
    fn transport_parameters_tell_the_greatest_delay() {
        let delay = |params: &[u8]| max_ack_delay(params).map(|delay| delay.0 / 1_000_000);
        assert_eq!(delay(&[0x01, 2, 0x40, 0x0b, 0x0b, 2, 0x40, 100, 0x04, 1, 7]), Some(100));
        assert_eq!(delay(&[0x01, 2, 0x40, 0x0b, 0x04, 1, 7]), None);
        assert_eq!(delay(&[0x0b, 2, 0x40]), None, "cut");
    }

    fn acks(packet: &mut [u8], swap: bool) -> Vec<EcnCounts> {
        let mut all = Vec::new();
        for_each_ack(packet, |ack, payload| {
            if swap {
                ack.swap(payload);
            }
            assert_eq!(ack.largest, 300);
            all.push(*ack.counts().expect("the frame has counts"));
        });
        all
    }

    #[test]
    fn counts_are_found_behind_other_frames_and_exchanged() {
        let mut packet = PACKET.to_vec();
        let before = EcnCounts { ect0: 1, ect1: 300, ce: 70 };
        assert_eq!(acks(&mut packet, true), [before]);
        assert_eq!(packet.len(), PACKET.len());
        assert_eq!(acks(&mut packet, true), [EcnCounts { ect0: 300, ect1: 1, ce: 70 }]);
        assert_eq!(packet, PACKET, "two exchanges restore the packet");
    }

    /// RFC 9000 section 19.3: 5 units of 8 us.
    #[test]
    fn the_delay_is_that_of_the_frame() {
        let mut delay = None;
        for_each_ack(&mut PACKET.to_vec(), |ack, _| delay = Some(ack.delay));
        assert_eq!(delay, Some(Duration::from_micros(40)));
    }

    /// Largest 300, a range of 3 packets, a gap of 1, a range of 4.
    #[test]
    fn ranges_are_those_of_the_frame() {
        let mut ranges = Vec::new();
        for_each_ack(&mut PACKET.to_vec(), |ack, payload| {
            ack.for_each_range(payload, |range| ranges.push(range));
        });
        assert_eq!(ranges, [298..=300, 293..=296]);
    }

    #[test]
    fn only_acknowledgements_and_closes_do_not_count_in_flight() {
        let ack = [0x02, 9, 0, 0, 9];
        let close = [0x1d, 0x00, 0x01, b'x'];
        assert!(!counts_in_flight(&ack));
        assert!(!counts_in_flight(&[&ack[..], &close].concat()));
        assert!(counts_in_flight(&[&ack[..], &[0x01]].concat()), "PING");
        assert!(counts_in_flight(&[&ack[..], &[0x00]].concat()), "PADDING");
    }

    /// A datagram from outside must not crash the reader, whatever it holds.
    fn visit(ack: Ack, payload: &mut [u8]) {
        ack.swap(payload);
        ack.for_each_range(payload, |range| assert!(*range.end() <= ack.largest));
    }

    #[test]
    fn truncated_and_random_packets_are_harmless() {
        for len in 0..PACKET.len() {
            for_each_ack(&mut PACKET[..len].to_vec(), visit);
        }
        proptest::proptest!(|(mut packet: Vec<u8>)| {
            let len = packet.len();
            counts_in_flight(&packet);
            for_each_ack(&mut packet, visit);
            proptest::prop_assert_eq!(packet.len(), len);
        });
    }
}
