//! Round-trip times of TCP flows, from a capture alone.
//!
//! For both directions of every flow, this measures the time from a segment of one end to
//! the other end's answer, both as captured. It covers the path from the capture point to
//! the other end and back, plus the other end's response time. The two directions together
//! make the whole round trip.
//!
//! There are three ways to pair segment and answer:
//! - [`stamps`]: the timestamps option, after Kathleen Nichols' `pping`.
//! - [`acks`]: sequence numbers and their acknowledgements, with Karn's rule.
//! - [`acks`], too: sequence numbers and SACK blocks, while a lost segment is missing.
//!
//! Of a packet captured more than once, the first capture counts ([`copies`]).
//!
//! Processing is packet by packet, with bounded state per flow: the unanswered segments (at
//! most [`WAITING`] of each kind, in each direction), and a histogram.
//! [`Options::max_flows`] bounds the number of flows.

mod acks;
mod copies;
mod course;
mod coverage;
mod delivery;
mod flow;
mod flows;
mod half;
mod samples;
mod serial;
mod stamps;

use std::io::Read;

pub use acks::Waiting as AckPairs;
pub use copies::{Copies, Sending};
pub use course::Point;
pub use flow::Flow;
pub use half::Half;
pub use samples::Samples;

use crate::capture::{Capture, Packet, ReadError, Skip, segment};
use flows::Flows;

/// Maximum number of unanswered segments per direction: those of 20 ms at 10 Gbit/s in
/// packets of 1500 bytes. Segments beyond it give no samples.
pub const WAITING: usize = 1 << 14;

/// The pairing of segments and answers. Every flow tracks all kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Pairs by the timestamps option.
    Timestamps,
    /// Pairs by sequence numbers and cumulative acknowledgements.
    Acks,
    /// Pairs by sequence numbers and selective acknowledgements.
    Sack,
}

/// The kind of pairs to report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Timestamps in directions with samples from them, acknowledgements in all others; and
    /// SACK blocks.
    #[default]
    Auto,
    /// Timestamps only.
    Timestamps,
    /// Cumulative acknowledgements only.
    Acks,
    /// SACK blocks only.
    Sack,
}

/// Limits on memory.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Maximum number of flows; packets of further flows count as skipped.
    pub max_flows: usize,
    /// Maximum number of points over time, for each direction and kind of pair; 0 for none.
    pub points: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_flows: 1 << 18, points: 0 }
    }
}

/// Packets that were read but not analysed, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Unknown link type.
    pub link_type: u64,
    /// Neither IPv4 nor IPv6.
    pub not_ip: u64,
    /// IP, but not TCP.
    pub not_tcp: u64,
    /// Fragments of IP packets.
    pub fragments: u64,
    /// Cut off by the snap length within the headers.
    pub cut: u64,
    /// Contradicting lengths in the headers.
    pub malformed: u64,
    /// Without a time (pcapng's Simple Packet Blocks).
    pub without_time: u64,
    /// In flows beyond [`Options::max_flows`].
    pub beyond_max_flows: u64,
    /// Captured more than once; the first capture of each packet was analysed.
    pub copies: u64,
}

impl Skipped {
    fn count(&mut self, skip: Skip) {
        let counter = match skip {
            Skip::LinkType => &mut self.link_type,
            Skip::NotIp => &mut self.not_ip,
            Skip::NotTcp => &mut self.not_tcp,
            Skip::Fragment => &mut self.fragments,
            Skip::Cut => &mut self.cut,
            Skip::Malformed => &mut self.malformed,
        };
        *counter += 1;
    }
}

/// The round-trip times of all flows seen so far.
pub struct Rtt {
    options: Options,
    flows: Flows,
    copies: Copies,
    packets: u64,
    skipped: Skipped,
    /// Times of the first and the latest packet, in ns since 1970.
    span: Option<(i64, i64)>,
}

impl Rtt {
    /// Creates the analysis, without packets yet.
    pub fn new(options: Options) -> Rtt {
        let (flows, copies) = (Flows::new(), Copies::new());
        Rtt { options, flows, copies, packets: 0, skipped: Skipped::default(), span: None }
    }

    /// Processes up to `most` packets of `capture`. Returns their number, which is below
    /// `most` only at the end of the capture.
    pub fn read<R: Read>(&mut self, capture: &mut Capture<R>, most: u64) -> Result<u64, ReadError> {
        capture.each(most, |packet| self.packet(packet))
    }

    /// Processes the next packet.
    #[inline]
    pub fn packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        let Some(now) = packet.at_ns else {
            self.skipped.without_time += 1;
            return;
        };
        let (begin, end) = self.span.unwrap_or((now, now));
        self.span = Some((begin, end.max(now)));
        let segment = match segment(packet) {
            Ok(segment) => segment,
            Err(skip) => return self.skipped.count(skip),
        };
        let Some((at, flow, sender)) = self.flows.of(&segment, now, &self.options) else {
            self.skipped.beyond_max_flows += 1;
            return;
        };
        let way = (2 * at + sender) as u64;
        if self.copies.is_copy(way, now, &segment, &flow.halves[sender].sending) {
            self.skipped.copies += 1;
            return;
        }
        flow.packet(sender, now, self.packets, &segment);
    }

    /// Packets processed.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Those packets that were not analysed.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The times of the first packet and of the latest, in ns since 1970; `None` without
    /// packets.
    pub fn span_ns(&self) -> Option<(i64, i64)> {
        self.span
    }

    /// All flows, in the order of their first packets.
    pub fn flows(&self) -> &[Flow] {
        self.flows.all()
    }
}
