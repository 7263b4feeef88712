//! The contents of packets, as values.

use sojourn_units::{Bytes, Duration, Ecn, Instant};

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Packet number: counts the sender's transmissions.
    pub number: u64,
    /// Position of the payload in the stream, in segments.
    pub segment: u64,
    /// Payload in bytes.
    pub len: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Congestion window reduced (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// The last packet of a burst of several, as TCP's flag PSH shows (Linux `__tcp_transmit_skb`).
    pub is_burst_end: bool,
}

/// Segments `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRange {
    /// The first segment.
    pub start: u64,
    /// The segment after the last.
    pub end: u64,
}

/// Packets received by codepoint, since the connection began: AccECN's and
/// QUIC's counters (RFC 9768 section 3.2, RFC 9000 section 19.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// Packets with ECT(0).
    pub ect0: u64,
    /// Packets with ECT(1).
    pub ect1: u64,
    /// Packets with CE.
    pub ce: u64,
}

/// The receive window that an acknowledgement announces, if the receiver raises it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowUpdate {
    /// The window, from the first missing segment on. It never shrinks.
    pub window: Bytes,
    /// Departure of the acknowledgement by the receiver's clock, which packets echo: `TSval` of RFC
    /// 7323.
    pub sent_at: Instant,
}

/// An acknowledgement: start with the default, and set its fields. It fits a cache line; rare
/// content is in [`AckDetails`].
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Ack {
    /// Every segment below this was received.
    pub cumulative: u64,
    /// Packet number of the newest packet received.
    ///
    /// Deviation (RFC 7323 section 4.3): an acknowledgement names the newest packet received. TCP's
    /// timestamp echo shows the same while no segment is missing, and less beyond a gap.
    /// Deviation (RFC 9000 section 19.3): QUIC's acknowledgements carry segments and the newest
    /// packet's number. One below that of the first retransmission shows that the original arrived
    /// (Eifel, RFC 3522); with a greater one the sender assumes that the retransmission arrived,
    /// where real packet numbers would decide.
    pub newest: u64,
    /// Delay of this acknowledgement at the receiver.
    pub delay: Duration,
    /// Exact ECN counts.
    pub counts: EcnCounts,
    /// Classic ECN echo (RFC 3168 section 6.1.3).
    pub ece: bool,
    /// A duplicate arrived (DSACK, RFC 2883); [`Ack::duplicates`] gives its segments.
    pub duplicate: bool,
    /// Whether `details` belongs to this acknowledgement, and not to an earlier one.
    has_details: bool,
    details: Option<Box<AckDetails>>,
}

const _: () = assert!(size_of::<Ack>() == 64);

/// Rare content of an acknowledgement.
#[derive(Debug, Default)]
pub struct AckDetails {
    /// Segments received beyond the cumulative acknowledgement. The most recent arrivals come first
    /// (RFC 2018 section 4; in RFC 9000 section 19.3.1 they have the highest numbers).
    pub ranges: Vec<SegmentRange>,
    /// Packet number and receive time of every packet since the last acknowledgement; empty unless
    /// the receiver was asked for them.
    pub received: Vec<(u64, Instant)>,
    /// The segments that most recently arrived twice (RFC 2883 section 4).
    pub duplicates: Option<SegmentRange>,
    /// The receive window; `None` if it is fixed.
    pub window: Option<WindowUpdate>,
}

impl Ack {
    /// Segments received beyond the cumulative acknowledgement, the most recent arrivals first.
    #[inline]
    pub fn ranges(&self) -> &[SegmentRange] {
        self.details().map_or(&[], |details| &details.ranges)
    }

    /// Packet number and receive time of every packet since the last acknowledgement;
    /// empty unless the receiver was asked for them.
    #[inline]
    pub fn received(&self) -> &[(u64, Instant)] {
        self.details().map_or(&[], |details| &details.received)
    }

    /// The segments that most recently arrived twice, if [`Ack::duplicate`] is set.
    #[inline]
    pub fn duplicates(&self) -> Option<SegmentRange> {
        self.details().and_then(|details| details.duplicates).filter(|_| self.duplicate)
    }

    /// The receive window; `None` if it is fixed.
    pub fn window(&self) -> Option<WindowUpdate> {
        self.details().and_then(|details| details.window)
    }

    /// Whether it has [`AckDetails`].
    #[inline]
    pub fn has_details(&self) -> bool {
        self.has_details
    }

    /// Whether it says more than its cumulative acknowledgement, its window and its echo of ECN do.
    #[inline]
    pub fn is_distinct(&self) -> bool {
        self.details().is_some_and(AckDetails::is_distinct)
    }

    #[inline]
    fn details(&self) -> Option<&AckDetails> {
        if self.has_details { self.details.as_deref() } else { None }
    }

    /// Resets the acknowledgement to its own fields.
    #[inline]
    pub fn clear_details(&mut self) {
        self.has_details = false;
    }

    /// Adds [`AckDetails`] with empty lists to fill, and reuses its memory.
    pub fn add_details(&mut self) -> &mut AckDetails {
        self.has_details = true;
        let details = self.details.get_or_insert_default();
        details.ranges.clear();
        details.received.clear();
        details.duplicates = None;
        details.window = None;
        details
    }
}

impl AckDetails {
    fn is_distinct(&self) -> bool {
        // Details without a window are added for their other contents.
        let has_lists = !self.ranges.is_empty() || !self.received.is_empty();
        self.window.is_none() || has_lists || self.duplicates.is_some()
    }
}
