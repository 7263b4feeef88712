//! What packets carry, as values.

use sojourn_units::{Duration, Ecn, Instant};

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Packet number: counts the sender's transmissions.
    pub number: u64,
    /// Place of the payload in the stream, in segments.
    pub segment: u64,
    /// Payload in bytes.
    pub len: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Congestion window reduced (RFC 3168 section 6.1.2).
    pub cwr: bool,
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

/// An acknowledgement: begin with the default, and set what it says. One to a cache line:
/// what is seldom told is kept elsewhere.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Ack {
    /// Every segment below this was received.
    pub cumulative: u64,
    /// Packet number of the newest packet received. TCP's timestamp echo tells
    /// as much while nothing is missing (RFC 7323 section 4.3); beyond a gap it
    /// tells less than this.
    pub newest: u64,
    /// How long the receiver held this acknowledgement back.
    pub delay: Duration,
    /// Exact counts.
    pub counts: EcnCounts,
    /// Classic ECN echo (RFC 3168 section 6.1.3).
    pub ece: bool,
    /// Something came twice (DSACK, RFC 2883); [`Ack::duplicates`] says what.
    pub duplicate: bool,
    /// Whether `more` is of this acknowledgement, and not of another before.
    has_more: bool,
    more: Option<Box<More>>,
}

const _: () = assert!(size_of::<Ack>() == 64);

/// What only some acknowledgements tell.
#[derive(Debug, Default)]
pub struct More {
    /// Segments received beyond the cumulative acknowledgement: those that arrived last
    /// first (RFC 2018 section 4; in RFC 9000 section 19.3.1 they have the highest
    /// numbers).
    pub ranges: Vec<SegmentRange>,
    /// Packet number and receive time of every packet since the last
    /// acknowledgement; empty unless the receiver was asked for them.
    pub received: Vec<(u64, Instant)>,
    /// The segments that came twice most recently (RFC 2883 section 4).
    pub duplicates: Option<SegmentRange>,
}

impl Ack {
    /// Segments received beyond the cumulative acknowledgement, those that arrived last
    /// first.
    #[inline]
    pub fn ranges(&self) -> &[SegmentRange] {
        self.more().map_or(&[], |more| &more.ranges)
    }

    /// Packet number and receive time of every packet since the last acknowledgement;
    /// empty unless the receiver was asked for them.
    #[inline]
    pub fn received(&self) -> &[(u64, Instant)] {
        self.more().map_or(&[], |more| &more.received)
    }

    /// The segments that came twice most recently, where [`Ack::duplicate`] is set.
    #[inline]
    pub fn duplicates(&self) -> Option<SegmentRange> {
        self.more().and_then(|more| more.duplicates).filter(|_| self.duplicate)
    }

    #[inline]
    fn more(&self) -> Option<&More> {
        if self.has_more { self.more.as_deref() } else { None }
    }

    /// Tells no more than its own fields.
    #[inline]
    pub fn tell_no_more(&mut self) {
        self.has_more = false;
    }

    /// Tells more: empty lists to fill, in memory that is used again.
    pub fn tell_more(&mut self) -> &mut More {
        self.has_more = true;
        let more = self.more.get_or_insert_default();
        more.ranges.clear();
        more.received.clear();
        more.duplicates = None;
        more
    }
}
