//! A flow of which a program wrote the counters at intervals.

use super::half::{Count, Flight, Gap, Half, Passing, RttSample, Waits};
use super::{Flow, Protocol, Vantage};

/// Events of a kind that are kept of a flow.
const LIMIT: usize = 1 << 15;
/// Payload of a packet if the source does not name it, and headers of a packet: IPv4, and TCP with
/// timestamps, in bytes.
pub(crate) const MSS: u32 = 1448;
const HEADERS: u64 = 52;

/// The counters of a flow at a time. Counts are since the flow's beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Poll {
    /// Time, in ns since the first of all.
    pub(crate) at: i64,
    /// Payload delivered, in bytes.
    pub(crate) delivered: u64,
    /// Round-trip time, in ns.
    pub(crate) rtt: Option<i64>,
    /// Packets lost or retransmitted.
    pub(crate) lost: u64,
    /// Packets marked.
    pub(crate) marked: u64,
    /// Data on the way, in bytes.
    pub(crate) flight: Option<u64>,
}

/// A flow, poll by poll.
#[derive(Debug)]
pub(crate) struct Polled {
    half: Half,
    mss: u32,
    last: Option<Poll>,
    begin: i64,
}

impl Polled {
    /// Starts without polls. `mss`: payload of a full packet, in bytes.
    pub(crate) fn new(mss: Option<u32>) -> Polled {
        let mut half = Half::new(LIMIT);
        (half.is_sparse, half.is_polled, half.has_loss_times) = (true, true, false);
        let mss = mss.filter(|mss| (100..=65_000).contains(mss)).unwrap_or(MSS);
        Polled { half, mss, last: None, begin: 0 }
    }

    /// The round-trip times are those of a ping beside the flow.
    pub(crate) fn borrow_rtt(&mut self) {
        self.half.has_own_rtt = false;
    }

    /// The shares of the time until the last poll in which the ends limited the flow.
    pub(crate) fn waits(&mut self, waits: Option<Waits>) {
        self.half.waits = waits.or(self.half.waits);
    }

    /// Adds a poll. The first one only says where the counters begin. One that is not later than
    /// that before it, or whose counters fall, is left out.
    pub(crate) fn poll(&mut self, poll: &Poll) {
        let Some(last) = self.last else {
            self.begin = poll.at;
            self.half.reported.push(Count { at: poll.at, bytes: 0 });
            self.half.passed.push(Count { at: poll.at, bytes: 0 });
            self.rtt(poll);
            self.last = Some(*poll);
            return;
        };
        if poll.at <= last.at || poll.delivered < last.delivered {
            return;
        }
        let payload = poll.delivered - last.delivered;
        let packets = payload.div_ceil(u64::from(self.mss));
        if payload > 0 {
            let wire = payload + packets * HEADERS;
            self.half.datagram(poll.at, &Passing { payload, wire, packets, ecn: 0 });
        }
        self.half.mss = self.mss;
        self.half.reports(poll.at, payload);
        if payload == 0 {
            // Without deliveries the count stays: its next step begins here.
            let (at, bytes) = (poll.at, self.half.payload);
            self.half.reported.push(Count { at, bytes });
            self.half.passed.push(Count { at, bytes });
        }
        self.rtt(poll);
        let lost = poll.lost.saturating_sub(last.lost);
        if lost > 0 {
            self.half.again += lost;
            let bytes = lost.saturating_mul(self.mss.into());
            self.half.reported_holes.push(Gap { at: poll.at, bytes });
        }
        if poll.marked > last.marked {
            self.half.counts(poll.at, [packets, 0, poll.marked]);
        }
        if let Some(bytes) = poll.flight {
            self.half.flights.push(Flight { at: poll.at, bytes, window: 0 });
        }
        self.last = Some(*poll);
    }

    fn rtt(&mut self, poll: &Poll) {
        if let Some(rtt) = poll.rtt.filter(|rtt| *rtt > 0) {
            self.sample(poll.at, rtt);
        }
    }

    /// Adds a round-trip time at a time, both in ns.
    pub(crate) fn sample(&mut self, at: i64, rtt: i64) {
        let sample = RttSample { at, rtt, bytes: 0 };
        self.half.ahead.push(sample);
        self.half.behind.push(sample);
    }

    /// Adds the least round-trip time of any packet, be it the handshake's.
    pub(crate) fn least(&mut self, at: i64, rtt: i64) {
        self.half.is_least_of_small = true;
        self.sample(at, rtt);
    }

    /// Time of the last poll, in ns.
    pub(crate) fn end(&self) -> i64 {
        self.last.map_or(0, |last| last.at)
    }

    /// The flow, without one if no data were delivered.
    pub(crate) fn finish(self, ends: [String; 2], vantage: Vantage) -> Option<Flow> {
        let Polled { mut half, begin, .. } = self;
        let [from, to] = ends;
        let other = match vantage {
            Vantage::Receiver => &mut half.ahead,
            _ => &mut half.behind,
        };
        other.clear();
        let flow = Flow::new(from, to, begin, half);
        (flow.half.payload > 0).then_some(Flow {
            vantage: Some(vantage),
            protocol: Protocol::Tcp,
            ..flow
        })
    }
}
