//! The packets of one direction with their acknowledgements, one by one, from its beginning.

use sojourn_trace::capture::{Segment, Stamps};

/// A packet of data as it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Time, in ns since the first packet.
    pub at: i64,
    /// Offset of its first byte in the stream.
    pub begin: u64,
    /// Payload, in bytes.
    pub len: u32,
    /// Its timestamps.
    pub stamps: Option<Stamps>,
    /// Its ECN field.
    pub ecn: u8,
}

/// An acknowledgement as it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Time, in ns since the first packet.
    pub at: i64,
    /// Offset up to which all bytes have arrived.
    pub cumulative: u64,
    /// The receiver's clock (TSval of RFC 7323).
    pub clock: Option<u32>,
    /// The window field, without its scale.
    pub window: u16,
    /// AE, CWR and ECE: AccECN's counter (RFC 9768 section 3.2.2).
    pub ecn: u8,
    /// Number of its SACK blocks.
    count: u8,
    /// Place of the first one in the log.
    first: u32,
}

/// The log. It ends at its limit, for data and answers at the same time.
#[derive(Debug, Default)]
pub struct Log {
    passed: Vec<Passed>,
    answers: Vec<Answer>,
    blocks: Vec<(u64, u64)>,
    limit: usize,
}

impl Log {
    /// Starts empty. `limit`: greatest number of packets of data, and of acknowledgements.
    pub(crate) fn new(limit: usize) -> Log {
        Log { limit, ..Log::default() }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.passed.len() >= self.limit || self.answers.len() >= self.limit
    }

    #[inline]
    pub(crate) fn pass(&mut self, at: i64, begin: u64, segment: &Segment) {
        if !self.is_full() {
            let Segment { payload: len, stamps, ecn, .. } = *segment;
            self.passed.push(Passed { at, begin, len, stamps, ecn });
        }
    }

    #[inline]
    pub(crate) fn answer(
        &mut self,
        at: i64,
        cumulative: u64,
        blocks: &[(u64, u64)],
        segment: &Segment,
    ) {
        if self.is_full() {
            return;
        }
        let (first, count) = (self.blocks.len() as u32, blocks.len() as u8);
        self.blocks.extend_from_slice(blocks);
        let clock = segment.stamps.map(|stamps| stamps.value);
        let (window, ecn) = (segment.window.unwrap_or(u16::MAX), segment.ace());
        self.answers.push(Answer { at, cumulative, clock, window, ecn, count, first });
    }

    /// The packets of data, in the order of time.
    pub fn passed(&self) -> &[Passed] {
        &self.passed
    }

    /// The acknowledgements, in the order of time.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// The SACK blocks of an acknowledgement.
    pub fn blocks(&self, answer: &Answer) -> &[(u64, u64)] {
        let first = answer.first as usize;
        &self.blocks[first..first + usize::from(answer.count)]
    }

    /// Whether packets are missing at its end.
    pub fn is_cut(&self) -> bool {
        self.is_full()
    }
}
