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
    /// The shaping rate of the queue, if it shapes; the link's rate is then constant.
    pub(super) shaping: Option<Shaping>,
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
            has_shaper_changes: spec.shaper.is_some(),
            mtu,
        })
    }

    /// Changes the rate of the shaper. A packet that waits for it leaves as before
    /// ([`sojourn_queue::Queue::set_rate`]).
    pub(super) fn set_shaper_rate(&mut self, rate: Rate) {
        self.waiting.set_rate(rate);
        if let Some(shaping) = &mut self.shaping {
            shaping.rate = rate;
        }
        if let Some(span) = self.time_limit {
            self.waiting.set_limit(limit_in_time(rate, span, self.mtu));
        }
    }

    /// Bits that a shaper passes beyond its rate: the burst, and the rest of the packet that
    /// exceeds it.
    pub(super) fn beyond_rate(&self) -> Option<f64> {
        self.shaping.map(|shaping| (shaping.burst + self.mtu).as_f64() * 8.0)
    }
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
