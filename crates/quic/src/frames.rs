//! The ACK frames of a decrypted QUIC packet (RFC 9000 section 19.3).

use std::ops::Range;

use sojourn_transport::EcnCounts;

/// An ACK frame with ECN counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AckEcn {
    /// The largest acknowledged packet number.
    pub(crate) largest: u64,
    /// The counts, as the peer wrote them.
    pub(crate) counts: EcnCounts,
    /// The bytes of ECT(0)'s count, which those of ECT(1)'s follow.
    ect0: Range<usize>,
    ect1: Range<usize>,
}

impl AckEcn {
    /// Exchanges the two counts of ECT in the packet. Neither its length nor another field changes.
    pub(crate) fn swap(&self, payload: &mut [u8]) {
        payload[self.ect0.start..self.ect1.end].rotate_left(self.ect0.len());
    }
}

/// Calls `found` for each ACK frame with ECN counts. Stops at the first malformed or unknown frame,
/// behind which frames cannot be found; the stack itself judges the packet.
pub(crate) fn for_each_ack(payload: &mut [u8], mut found: impl FnMut(AckEcn, &mut [u8])) {
    let mut at = 0;
    while at < payload.len() {
        let mut reader = Reader { bytes: payload, at };
        let Some(ack) = reader.frame() else { return };
        at = reader.at;
        if let Some(ack) = ack {
            found(ack, payload);
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// A variable-length integer (RFC 9000 section 16).
    fn varint(&mut self) -> Option<u64> {
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

    /// A field with its length in front.
    fn counted(&mut self) -> Option<()> {
        let len = self.varint()?;
        self.skip(len)
    }

    /// Reads one frame: its ECN counts if it is an ACK with them. `None` if it is malformed or
    /// unknown. Types: RFC 9000 section 19, RFC 9221, draft-ietf-quic-ack-frequency.
    fn frame(&mut self) -> Option<Option<AckEcn>> {
        let kind = self.varint()?;
        match kind {
            0x00 | 0x01 | 0x1e | 0x1f => {}
            0x02 | 0x03 => return self.ack(kind == 0x03),
            0x04 => self.varints(3)?,
            0x06 => {
                self.varint()?;
                self.counted()?;
            }
            0x07 | 0x31 => self.counted()?,
            0x08..=0x0f => self.stream(kind)?,
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => self.varints(1)?,
            0x05 | 0x11 | 0x15 => self.varints(2)?,
            0x18 => {
                self.varints(2)?;
                let len = *self.bytes.get(self.at)?;
                // The identifier, its length, and a stateless reset token.
                self.skip(u64::from(len) + 1 + 16)?;
            }
            0x1a | 0x1b => self.skip(8)?,
            0x1c | 0x1d => {
                self.varints(if kind == 0x1c { 2 } else { 1 })?;
                self.counted()?;
            }
            0x30 => self.at = self.bytes.len(),
            0xaf => self.varints(4)?,
            _ => return None,
        }
        Some(None)
    }

    /// Section 19.8: the lowest three bits say whether offset and length are present.
    fn stream(&mut self, kind: u64) -> Option<()> {
        self.varints(if kind & 4 != 0 { 2 } else { 1 })?;
        if kind & 2 != 0 {
            return self.counted();
        }
        self.at = self.bytes.len();
        Some(())
    }

    fn ack(&mut self, has_counts: bool) -> Option<Option<AckEcn>> {
        let largest = self.varint()?;
        self.varint()?;
        let ranges = self.varint()?;
        self.varint()?;
        for _ in 0..ranges {
            self.varints(2)?;
        }
        if !has_counts {
            return Some(None);
        }
        let start = self.at;
        let ect0 = self.varint()?;
        let middle = self.at;
        let ect1 = self.varint()?;
        let end = self.at;
        let counts = EcnCounts { ect0, ect1, ce: self.varint()? };
        Some(Some(AckEcn { largest, counts, ect0: start..middle, ect1: middle..end }))
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

    fn acks(packet: &mut [u8], swap: bool) -> Vec<EcnCounts> {
        let mut all = Vec::new();
        for_each_ack(packet, |ack, payload| {
            if swap {
                ack.swap(payload);
            }
            assert_eq!(ack.largest, 300);
            all.push(ack.counts);
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

    /// A datagram from outside must not crash the reader, whatever it holds.
    #[test]
    fn truncated_and_random_packets_are_harmless() {
        for len in 0..PACKET.len() {
            for_each_ack(&mut PACKET[..len].to_vec(), |ack, payload| ack.swap(payload));
        }
        proptest::proptest!(|(mut packet: Vec<u8>)| {
            let len = packet.len();
            for_each_ack(&mut packet, |ack, payload| ack.swap(payload));
            proptest::prop_assert_eq!(packet.len(), len);
        });
    }
}
