//! Round-trip times of TCP flows, from a capture alone.
//!
//! Of every flow, both directions: how long after a segment from one end the
//! capture sees the other end's answer to it. That is the way from the place of
//! the capture to the other end and back, with the time that the other end took
//! to answer; the two directions together are the whole round trip.
//!
//! Two ways to pair segment and answer, each with a file of its own:
//! - [`stamps`]: the timestamps option, after Kathleen Nichols' `pping`.
//! - [`acks`]: sequence numbers and what acknowledges them, with Karn's rule.
//!
//! All is done packet by packet, with a bounded state for each flow: segments
//! that wait for an answer ([`WAITING`] at most, of each kind, in each
//! direction), and a histogram. The number of flows is bounded by
//! [`Options::max_flows`].

mod acks;
mod course;
mod flow;
mod flows;
mod samples;
mod serial;
mod stamps;

use std::io::Read;

pub use course::Point;
pub use flow::{Flow, Half};
pub use samples::Samples;

use crate::capture::{Capture, Packet, ReadError, Skip, segment};
use flows::Flows;

/// Segments of a direction that wait for an answer at a time: at 10 Gbit/s in
/// packets of 1500 bytes, those of 20 ms. While as many wait, further ones give
/// no samples.
pub const WAITING: usize = 1 << 14;

/// How segments and answers are paired. Both are followed in every flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// By the timestamps option.
    Timestamps,
    /// By sequence numbers and acknowledgements.
    Acks,
}

/// Which pairs are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// By timestamps in directions where they give samples, by acknowledgements
    /// in all others.
    #[default]
    Auto,
    /// By timestamps alone.
    Timestamps,
    /// By acknowledgements alone.
    Acks,
}

/// How much is held.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Flows at most; packets of further ones are counted as skipped.
    pub max_flows: usize,
    /// Points over time at most, for each direction and kind of pair; 0 for none.
    pub points: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_flows: 1 << 18, points: 0 }
    }
}

/// Packets that were read and not looked at, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Of a link type that is not known.
    pub link_type: u64,
    /// Neither IPv4 nor IPv6.
    pub not_ip: u64,
    /// IP, but not TCP.
    pub not_tcp: u64,
    /// Fragments of IP packets.
    pub fragments: u64,
    /// Cut off by the snap length within the headers.
    pub cut: u64,
    /// With headers whose lengths contradict each other.
    pub malformed: u64,
    /// Without a time (pcapng's Simple Packet Blocks).
    pub without_time: u64,
    /// Of flows beyond [`Options::max_flows`].
    pub beyond_max_flows: u64,
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

/// The round-trip times of all flows that a capture has shown so far.
pub struct Rtt {
    options: Options,
    flows: Flows,
    packets: u64,
    skipped: Skipped,
    /// Of the first and the latest packet, in ns since 1970.
    span: Option<(i64, i64)>,
}

impl Rtt {
    /// Before the first packet.
    pub fn new(options: Options) -> Rtt {
        let flows = Flows::new();
        Rtt { options, flows, packets: 0, skipped: Skipped::default(), span: None }
    }

    /// Takes up to `most` packets of `capture`; how many there were. Fewer are
    /// the last.
    pub fn read<R: Read>(&mut self, capture: &mut Capture<R>, most: u64) -> Result<u64, ReadError> {
        for taken in 0..most {
            match capture.next()? {
                Some(packet) => self.packet(&packet),
                None => return Ok(taken),
            }
        }
        Ok(most)
    }

    /// Takes the next packet.
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
        match self.flows.of(&segment, now, &self.options) {
            Some((flow, sender)) => flow.packet(sender, now, self.packets, &segment),
            None => self.skipped.beyond_max_flows += 1,
        }
    }

    /// Packets taken.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Those among them that were not looked at.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The times of the first packet and of the latest, in ns since 1970; None
    /// without packets.
    pub fn span_ns(&self) -> Option<(i64, i64)> {
        self.span
    }

    /// All flows, in the order of their first packets.
    pub fn flows(&self) -> &[Flow] {
        self.flows.all()
    }
}
