//! The completion time of a transfer over the empty path of its flow.

use sojourn_scenario::source::Carrier;
use sojourn_scenario::{Flow, Handshake, Link};
use sojourn_units::{Bytes, Duration, Instant};

use super::outcome::LinkSummary;
use crate::run::Run;

/// The path of a flow without other traffic. The ideal transfer starts at full rate: it has no slow
/// start.
pub(super) struct EmptyPath<'a> {
    run: &'a Run,
    /// The links that the first byte waits for, in the order of time: those of the handshake or the
    /// request, and those of the path.
    ways: Vec<usize>,
    mss: Bytes,
    /// Of each link with a rate: its mean capacity over the run in bit/s, and the bytes that it
    /// carries in a packet beside the payload.
    links: Vec<(f64, Bytes)>,
}

impl<'a> EmptyPath<'a> {
    /// `links`: the summaries of the run's links.
    pub(super) fn new(run: &'a Run, spec: &Flow, links: &[LinkSummary]) -> EmptyPath<'a> {
        let (path, back) = (&spec.path[..], &spec.back[..]);
        let ways = match (spec.source.carrier(), spec.transport.handshake) {
            (Carrier::Connections, Handshake::OneRtt) => [path, back, path].concat(),
            (Carrier::Requests, _) => [back, path].concat(),
            _ => path.to_vec(),
        };
        let rate = |link: &usize| {
            let Link { overhead, .. } = &run.scenario.links[*link];
            Some((links[*link].capacity_bps?, spec.transport.header + *overhead))
        };
        EmptyPath {
            run,
            ways,
            mss: spec.transport.mss,
            links: spec.path.iter().filter_map(rate).collect(),
        }
    }

    /// Completion time of a transfer, over its time on the empty path from the same `start`; `None`
    /// if it is incomplete.
    pub(super) fn slowdown(
        &self,
        start: Instant,
        size: u64,
        completion: Option<Duration>,
    ) -> Option<f64> {
        let ideal = self.seconds(start, size);
        completion.filter(|_| ideal > 0.0).map(|time| time.as_secs_f64() / ideal)
    }

    /// The least time in seconds: the slowest link transmits all packets without a pause.
    fn seconds(&self, start: Instant, size: u64) -> f64 {
        let delays = &self.run.loops.delays;
        let entered = |at, link: &usize| at + delays.at(*link, self.run.written(at));
        let delay = self.ways.iter().fold(start, entered).since(start);
        let packets = size.div_ceil(self.mss.0);
        let transmission = |(capacity, beside): &(f64, Bytes)| {
            (size + packets * beside.0) as f64 * 8.0 / capacity.max(1.0)
        };
        let longest = self.links.iter().map(transmission).fold(0.0, f64::max);
        delay.as_secs_f64() + longest
    }
}
