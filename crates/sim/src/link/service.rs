//! The service of a link with a rate: its queue, its server and the size of its buffer.

use sojourn_queue::{Limit, Shaping};
use sojourn_scenario::{self as scenario, Buffer, Capacity, Spacing};
use sojourn_units::{Bytes, Duration, Rate};

use crate::link::even::EvenServer;
use crate::link::server::{RateServer, Server, TraceServer};
use crate::link::waiting::Waiting;

/// The queue of a link, and the server that sends its packets.
pub(super) struct Service {
    pub(super) waiting: Waiting,
    pub(super) server: Server,
    /// The buffer's size, if it is given in time.
    pub(super) time_limit: Option<Duration>,
    /// The shaping rate of the queue, if it shapes; the link's rate is then constant. Its burst has
    /// all bytes that may have left beyond the rate so far.
    pub(super) shaping: Option<Shaping>,
    /// The outermost shaper, and the one inside it.
    shapers: [Option<Shaping>; 2],
    /// Whether the link's changes of capacity are those of its shaper.
    pub(super) has_shaper_changes: bool,
    /// Largest packet, with the link's overhead.
    pub(super) mtu: Bytes,
}

impl Service {
    pub(super) fn new(spec: &scenario::Link, seed: u64, mtu: u32) -> Option<Service> {
        let server = match &spec.rate {
            Capacity::Unlimited => return None,
            Capacity::Rate(schedule) => Server::Rate(RateServer::new(schedule.start)),
            Capacity::Trace(trace) => match trace.spacing {
                Spacing::Even => Server::Even(EvenServer::new(trace)),
                Spacing::Burst => Server::Trace(TraceServer::new(trace)),
            },
        };
        let mtu = Bytes(u64::from(mtu) + spec.overhead.0);
        let default_packets = spec.queue.default_packets();
        let shaping = spec.queue.shaping();
        let limit = match spec.buffer {
            Buffer::Default => Limit { packets: default_packets, bytes: Bytes::MAX },
            Buffer::Bytes(bytes) => Limit { bytes, packets: u64::MAX },
            Buffer::Packets(packets) => Limit { packets, bytes: Bytes::MAX },
            Buffer::Unlimited => Limit::NONE,
            Buffer::Time(span) => {
                let shaped = shaping.map_or(Rate::MAX, |shaping| shaping.rate);
                limit_in_time(rate_at_start(&spec.rate).min(shaped), span, mtu)
            }
        };
        Some(Service {
            waiting: Waiting::new(spec, limit, mtu, seed),
            server,
            time_limit: match spec.buffer {
                Buffer::Time(span) => Some(span),
                _ => None,
            },
            shaping,
            shapers: [spec.queue.own_shaping(), spec.queue.inner_shaping()],
            has_shaper_changes: spec.shaper.is_some(),
            mtu,
        })
    }

    /// Changes the rate of the shaper. A packet that waits for it leaves as before
    /// ([`sojourn_queue::Queue::set_rate`]).
    pub(super) fn set_shaper_rate(&mut self, rate: Rate) {
        self.waiting.set_rate(rate);
        let (Some(shaping), [Some(outer), inner]) = (&mut self.shaping, &mut self.shapers) else {
            return;
        };
        let inner = inner.unwrap_or(Shaping { rate: Rate::MAX, burst: Bytes::ZERO });
        shaping.burst += gained(outer, rate, self.mtu);
        let was_least = outer.rate < inner.rate;
        outer.rate = rate;
        shaping.rate = rate.min(inner.rate);
        // The shaper that limits from now on has saved its burst while the other one did.
        match (was_least, rate < inner.rate) {
            (false, true) => shaping.burst += outer.burst,
            (true, false) => shaping.burst += inner.burst,
            _ => {}
        }
        if let Some(span) = self.time_limit {
            self.waiting.set_limit(limit_in_time(shaping.rate, span, self.mtu));
        }
    }

    /// Bits that a shaper passes beyond its rate: the burst, and the rest of the packet that
    /// exceeds it.
    pub(super) fn beyond_rate(&self) -> Option<f64> {
        self.shaping.map(|shaping| (shaping.burst + self.mtu).as_f64() * 8.0)
    }
}

/// The most bytes that a change of rate adds to a bucket, which counts its tokens in time: a rise adds
/// to what it has saved, at most the burst, and a fall takes from its debt, at most a packet.
fn gained(shaping: &Shaping, rate: Rate, mtu: Bytes) -> Bytes {
    let (least, most) = (shaping.rate.min(rate).0, shaping.rate.max(rate).0);
    let bytes = if rate > shaping.rate { shaping.burst } else { mtu };
    let part = u128::from(bytes.0) * u128::from(most - least);
    Bytes(part.div_ceil(u128::from(most.max(1))) as u64)
}

/// The size of a buffer given in time: the bytes that the link carries in this time, and at least
/// one packet, since each passes through the queue.
pub(super) fn limit_in_time(rate: Rate, span: Duration, mtu: Bytes) -> Limit {
    Limit { bytes: rate.bytes_in(span).max(mtu), packets: u64::MAX }
}

/// The rate at the start; for a trace, its mean.
fn rate_at_start(capacity: &Capacity) -> Rate {
    match capacity {
        Capacity::Unlimited => Rate::MAX,
        Capacity::Rate(schedule) => schedule.start,
        Capacity::Trace(trace) => trace.mean_rate(),
    }
}
