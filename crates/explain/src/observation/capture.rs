//! The observation of a capture's TCP connections and UDP flows.

use std::collections::BTreeMap;
use std::io::Read;

use sojourn_trace::capture::{
    Capture, Datagram, Endpoint, Packet, ReadError, Segment, Transported, transported,
};
use sojourn_trace::rtt::{Copies, Sending};

use super::half::Half;
use super::log::Log;
use super::udp::Datagrams;
use super::{Flow, Kind, Observation, Protocol};

/// Events of a kind that the first connections keep, and the others. 256 connections of the first
/// kind take 300 MB if each has as many, which is a capture of several GB.
const MANY: usize = 1 << 17;
const FEW: usize = 1 << 9;
const DETAILED: usize = 64;
/// Single packets that the first connections keep, 80 bytes for each with its acknowledgement.
const PACKETS: usize = 1 << 17;
const LOGGED: usize = 12;
/// Connections that are observed; the packets of further ones count as skipped.
const MOST_CONNECTIONS: usize = 1 << 14;

struct Connection {
    ends: [Endpoint; 2],
    opening: Option<u32>,
    /// Data of each end; `None` until its first byte.
    halves: [Option<Box<Half>>; 2],
    sending: [Sending; 2],
    scales: [Option<u8>; 2],
    begin: i64,
}

/// Reads a capture packet by packet.
#[derive(Default)]
pub struct Observer {
    connections: Vec<Connection>,
    latest: BTreeMap<[Endpoint; 2], usize>,
    datagrams: Datagrams,
    copies: Copies,
    begin: Option<i64>,
    last: i64,
    packets: u64,
    skipped: u64,
    backward: u64,
}

impl Observer {
    /// Starts without packets.
    pub fn new() -> Observer {
        Observer::default()
    }

    /// Processes up to `most` packets of a capture. Returns their number, which is below `most` only
    /// at the end.
    ///
    /// # Errors
    /// Those of the capture; all packets before the error have been processed.
    pub fn read<R: Read>(&mut self, capture: &mut Capture<R>, most: u64) -> Result<u64, ReadError> {
        capture.each(most, |packet| self.packet(packet))
    }

    /// Processes a captured packet.
    #[inline]
    pub fn packet(&mut self, packet: &Packet<'_>) {
        match (packet.at_ns, transported(packet)) {
            (Some(at), Ok(Transported::Tcp(segment))) => self.segment(at, &segment),
            (Some(at), Ok(Transported::Udp(datagram))) => self.datagram(at, &datagram),
            _ => {
                self.packets += 1;
                self.skipped += 1;
            }
        }
    }

    /// Processes a TCP segment at a time in ns.
    #[inline]
    pub fn segment(&mut self, at: i64, segment: &Segment) {
        let now = self.tick(at);
        let Some(place) = self.place(segment, now) else {
            self.skipped += 1;
            return;
        };
        let limit = if place < DETAILED { MANY } else { FEW };
        let packets = if place < LOGGED { PACKETS } else { 0 };
        let connection = &mut self.connections[place];
        let from = usize::from(connection.ends[0] != segment.from);
        let way = (2 * place + from) as u64;
        if self.copies.is_copy(way, at, segment, &connection.sending[from]) {
            self.skipped += 1;
            return;
        }
        connection.segment(now, from, segment, [limit, packets]);
    }

    fn datagram(&mut self, at: i64, datagram: &Datagram<'_>) {
        let now = self.tick(at);
        if !self.datagrams.datagram(now, datagram) {
            self.skipped += 1;
        }
    }

    /// Counts a packet; returns its time since the first one, in ns.
    fn tick(&mut self, at: i64) -> i64 {
        self.packets += 1;
        let begin = *self.begin.get_or_insert(at);
        let now = at.saturating_sub(begin);
        if now < self.last {
            // Within a file of several interfaces, packets may be out of order by some ms; their
            // intervals would be negative.
            self.backward += 1;
        }
        let now = now.max(self.last);
        self.last = now;
        now
    }

    fn place(&mut self, segment: &Segment, now: i64) -> Option<usize> {
        let ends = [segment.from.min(segment.to), segment.from.max(segment.to)];
        let opens = segment.syn && segment.ack.is_none();
        let known = self.latest.get(&ends).copied();
        let known = known.filter(|at| !opens || self.connections[*at].opening == Some(segment.seq));
        if known.is_some() || self.connections.len() >= MOST_CONNECTIONS {
            return known;
        }
        let place = self.connections.len();
        self.connections.push(Connection {
            ends: [segment.from, segment.to],
            opening: opens.then_some(segment.seq),
            halves: [None, None],
            sending: Default::default(),
            scales: [None; 2],
            begin: now,
        });
        self.latest.insert(ends, place);
        Some(place)
    }

    /// What was seen so far.
    pub fn finish(self) -> Observation {
        let mut flows = Vec::new();
        for connection in self.connections {
            let [a, b] = connection.ends;
            for (half, [from, to]) in connection.halves.into_iter().zip([[a, b], [b, a]]) {
                let Some(half) = half else { continue };
                flows.push(Flow::new(from.to_string(), to.to_string(), connection.begin, *half));
            }
        }
        flows.extend(self.datagrams.finish());
        flows.sort_by_key(|flow| flow.begin);
        let mut found = Observation::new(Kind::Capture);
        if flows.iter().any(|flow| flow.protocol == Protocol::Quic) {
            found.lacks.push("QUIC hides its losses and acknowledgements from a capture");
        }
        Observation {
            begin_ns: self.begin,
            duration: self.last,
            packets: self.packets,
            skipped: self.skipped,
            backward: self.backward,
            flows,
            ..found
        }
    }
}

impl Connection {
    #[inline]
    fn segment(&mut self, now: i64, from: usize, segment: &Segment, [limit, packets]: [usize; 2]) {
        self.sending[1 - from].answered(segment);
        self.sending[from].sent(now, segment);
        if segment.syn {
            self.scales[from] = segment.window_scale;
        }
        if segment.payload > 0 && self.halves[from].is_none() {
            let mut half = Box::new(Half::new(limit));
            half.scale = self.scales[1 - from];
            half.log = Log::new(packets);
            self.halves[from] = Some(half);
        }
        if let Some(half) = &mut self.halves[1 - from] {
            half.answered(now, segment);
        }
        if let Some(half) = &mut self.halves[from] {
            half.sent(now, segment);
        }
    }
}
