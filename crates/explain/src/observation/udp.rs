//! UDP in a capture: volume and timing, and of QUIC the round-trip times that it shows.

use std::collections::BTreeMap;

use sojourn_trace::capture::{Datagram, Endpoint};

use super::half::{Half, Passing, RttSample};
use super::series::Series;
use super::spin::{Part, Spin};
use super::{Flow, Protocol};

/// Flows that are observed, and events of a kind that the first ones keep, and the others.
const MOST_FLOWS: usize = 1 << 12;
const MANY: usize = 1 << 17;
const FEW: usize = 1 << 9;
const DETAILED: usize = 32;
/// Greatest payload of a packet on a link of 1500 bytes: a longer one was captured before the network
/// card split it.
const MOST_PAYLOAD: u32 = 1472;
/// The direction with acknowledgements only has a smaller part of the other one's payload.
const ANSWERS: u64 = 20;

/// A part of a round trip, with the data that it covers.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: i64,
    rtt: i64,
    /// Payload of the answered direction that had passed with the first edge.
    passed: u64,
}

struct Pair {
    ends: [Endpoint; 2],
    begin: i64,
    halves: [Option<Box<Half>>; 2],
    is_quic: bool,
    spin: Spin,
    /// Payload that had passed at the last edge of each direction.
    at_edge: [u64; 2],
    /// The parts that answer each direction's data.
    samples: [Series<Sample>; 2],
    /// The first packets of the handshake: of the client, of the server, of the client again.
    hello: Vec<(usize, i64)>,
}

/// The UDP flows of a capture.
#[derive(Default)]
pub(crate) struct Datagrams {
    pairs: Vec<Pair>,
    places: BTreeMap<[Endpoint; 2], usize>,
}

impl Datagrams {
    /// Observes a datagram at a time in ns; returns whether there is room for its flow.
    pub(crate) fn datagram(&mut self, now: i64, datagram: &Datagram<'_>) -> bool {
        let (from, to) = (datagram.from, datagram.to);
        let ends = [from.min(to), from.max(to)];
        let place = match self.places.get(&ends) {
            Some(place) => *place,
            None if self.pairs.len() >= MOST_FLOWS => return false,
            None => {
                let place = self.pairs.len();
                let limit = if place < DETAILED { MANY } else { FEW };
                self.pairs.push(Pair::new([from, to], now, limit));
                self.places.insert(ends, place);
                place
            }
        };
        let limit = if place < DETAILED { MANY } else { FEW };
        self.pairs[place].datagram(now, datagram, limit);
        true
    }

    /// The flows so far.
    pub(crate) fn finish(self) -> impl Iterator<Item = Flow> {
        self.pairs.into_iter().flat_map(Pair::finish)
    }
}

impl Pair {
    fn new(ends: [Endpoint; 2], begin: i64, limit: usize) -> Pair {
        Pair {
            ends,
            begin,
            halves: [None, None],
            is_quic: false,
            spin: Spin::default(),
            at_edge: [0; 2],
            samples: [Series::new(limit), Series::new(limit)],
            hello: Vec::new(),
        }
    }

    fn datagram(&mut self, now: i64, datagram: &Datagram<'_>, limit: usize) {
        let way = usize::from(self.ends[0] != datagram.from);
        let payload = datagram.payload;
        let packets = payload.div_ceil(MOST_PAYLOAD).max(1);
        let header = datagram.size.saturating_sub(payload);
        let half = self.halves[way].get_or_insert_with(|| Box::new(Half::new(limit)));
        half.datagram(
            now,
            &Passing {
                payload: payload.into(),
                wire: u64::from(payload) + u64::from(packets * header),
                packets: packets.into(),
                ecn: datagram.ecn,
            },
        );
        let passed = half.payload;
        match header_of(datagram.data) {
            Some(Header::Long) => {
                self.is_quic = true;
                self.greet(now, way);
            }
            Some(Header::Short { spin }) if self.is_quic => {
                if let Some(Part { rtt, .. }) = self.spin.packet(now, way, spin) {
                    let passed = self.at_edge[1 - way];
                    self.samples[1 - way].push(Sample { at: now, rtt, passed });
                }
                if self.spin.is_edge(now, way) {
                    self.at_edge[way] = passed;
                }
            }
            _ => {}
        }
    }

    /// Takes the packets of the handshake that give the first round trip (RFC 9312 section 3.8.1):
    /// the client's first, the server's answer, the client's next.
    fn greet(&mut self, now: i64, way: usize) {
        let is_next = self.hello.last().is_none_or(|last| last.0 != way);
        if is_next && self.hello.len() < 3 {
            self.hello.push((way, now));
        }
    }

    fn finish(mut self) -> Vec<Flow> {
        self.take_samples();
        let sizes = [0, 1].map(|way| self.halves[way].as_ref().map_or(0, |half| half.payload));
        let protocol = if self.is_quic { Protocol::Quic } else { Protocol::Udp };
        let [a, b] = self.ends;
        let halves = self.halves.into_iter().zip([[a, b], [b, a]]).enumerate();
        let flows = halves.filter_map(|(way, (half, [from, to]))| {
            let is_data = !self.is_quic || sizes[way] * ANSWERS >= sizes[1 - way];
            let mut half = half.filter(|_| is_data)?;
            half.has_loss_times = false;
            let flow = Flow::new(from.to_string(), to.to_string(), self.begin, *half);
            Some(Flow { protocol, ..flow })
        });
        flows.collect()
    }

    /// Adds the samples to both directions: a part ahead of the capture for the data that it answers
    /// is a part behind it for the data that follow.
    fn take_samples(&mut self) {
        let hello: Vec<(usize, i64, i64)> =
            self.hello.windows(2).map(|two| (two[0].0, two[1].1, two[1].1 - two[0].1)).collect();
        for (way, at, rtt) in hello {
            self.add(way, &Sample { at, rtt, passed: 0 });
        }
        if !self.spin.is_used() {
            return;
        }
        for way in 0..2 {
            let samples = std::mem::replace(&mut self.samples[way], Series::new(2));
            samples.items().iter().for_each(|sample| self.add(way, sample));
        }
    }

    fn add(&mut self, way: usize, sample: &Sample) {
        let rtt = RttSample { at: sample.at, rtt: sample.rtt, bytes: 0 };
        if let Some(half) = &mut self.halves[way] {
            half.is_sparse = true;
            half.ahead.push(rtt);
            let new = sample.passed.saturating_sub(half.delivered);
            half.reports(sample.at, new);
        }
        if let Some(half) = &mut self.halves[1 - way] {
            half.is_sparse = true;
            half.behind.push(rtt);
        }
    }
}

/// The header of a QUIC packet (RFC 8999).
enum Header {
    Long,
    Short { spin: bool },
}

/// The first header in a datagram, if it may be QUIC's.
fn header_of(data: &[u8]) -> Option<Header> {
    let first = *data.first()?;
    if first & 0x80 == 0 {
        // RFC 9000 section 17.3.1: the fixed bit, which tells it from STUN and DTLS (RFC 9443).
        return (first & 0x40 != 0).then_some(Header::Short { spin: first & 0x20 != 0 });
    }
    let version = u32::from_be_bytes(*data.get(1..5)?.first_chunk()?);
    is_known(version).then_some(Header::Long)
}

/// Version 1 (RFC 9000), version 2 (RFC 9369), the drafts before them, and those that grease version
/// negotiation (RFC 9000 section 15).
fn is_known(version: u32) -> bool {
    matches!(version, 1 | 0x6b33_43cf)
        || version & 0xffff_ff00 == 0xff00_0000
        || version & 0x0f0f_0f0f == 0x0a0a_0a0a
}
