//! The server of a link: it sends packets at a rate, or at the delivery opportunities of a trace.

use crate::link::even::EvenServer;
use sojourn_scenario::Trace;
use sojourn_units::{Bytes, Duration, Instant, Rate};

/// Bytes that one opportunity of a mahimahi trace carries (mahimahi, `PACKET_SIZE`).
const OPPORTUNITY: u64 = Trace::OPPORTUNITY.0;

/// Work of a byte: 8 bits, in units of bit/s x ns.
const BYTE_WORK: u128 = 8_000_000_000;

/// Serves packets one at a time.
#[derive(Debug)]
pub(crate) enum Server {
    /// At a rate that may change during a packet.
    Rate(RateServer),
    /// At the opportunities of a trace, in bursts.
    Trace(TraceServer),
    /// At the opportunities of a trace, spread over each millisecond.
    Even(EvenServer),
}

impl Server {
    /// Starts a packet; returns when it is completely sent.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Instant, size: Bytes) -> Instant {
        match self {
            Server::Rate(server) => server.begin(now, size),
            Server::Trace(server) => server.begin(now, size),
            Server::Even(server) => server.begin(now, size),
        }
    }
}

/// In bit/s x ns. Packed, because a `u128` is aligned to 16 bytes, and would widen the tag of an
/// enum around it to 16 bytes, which costs several instructions to read.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(8))]
struct Work(u128);

impl Work {
    fn left(self, done: u128) -> Work {
        Work(self.0.saturating_sub(done))
    }
}

/// Service at a rate. The fraction of a nanosecond carries over to the next packet, so that the
/// rate is exact.
#[derive(Debug)]
pub(crate) struct RateServer {
    rate: Rate,
    /// Remaining work at `since`: the current packet's, and the last one's `remainder`.
    work: Work,
    since: Instant,
    /// Work of the last packet beyond whole nanoseconds, in bit/s x ns, for the next packet to add.
    remainder: u64,
    /// Service time for the last packet's size at the current rate. Cached, because most packets
    /// have one size, and a division would dominate the cost of the server.
    cached: Option<ServiceTime>,
}

/// A packet's service time: whole nanoseconds, and the work beyond them.
#[derive(Clone, Copy, Debug)]
struct ServiceTime {
    size: Bytes,
    work: Work,
    span: Duration,
    rest: u64,
}

impl ServiceTime {
    fn new(size: Bytes, rate: Rate) -> ServiceTime {
        let (work, rate) = (u128::from(size.0) * BYTE_WORK, u128::from(rate.0));
        ServiceTime {
            size,
            work: Work(work),
            span: Duration((work / rate) as u64),
            rest: (work % rate) as u64,
        }
    }
}

impl RateServer {
    pub(crate) fn new(rate: Rate) -> RateServer {
        RateServer { rate, work: Work(0), since: Instant::ZERO, remainder: 0, cached: None }
    }

    /// Starts a packet; returns when it is completely sent.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Instant, size: Bytes) -> Instant {
        self.since = now;
        let served = match self.cached {
            Some(served) if served.size == size => served,
            _ if self.rate == Rate::ZERO => {
                self.work = Work(u128::from(size.0) * BYTE_WORK + u128::from(self.remainder));
                return Instant::MAX;
            }
            _ => *self.cached.insert(ServiceTime::new(size, self.rate)),
        };
        self.work = Work(served.work.0 + u128::from(self.remainder));
        let to_next_ns = self.rate.0 - self.remainder;
        let carry = served.rest >= to_next_ns;
        self.remainder =
            if carry { served.rest - to_next_ns } else { self.remainder + served.rest };
        now + served.span + Duration(u64::from(carry))
    }

    fn end(&mut self) -> Instant {
        if self.rate == Rate::ZERO {
            return Instant::MAX;
        }
        let (Work(work), rate) = (self.work, u128::from(self.rate.0));
        let span = work / rate;
        self.remainder = (work % rate) as u64;
        self.since + Duration(span as u64)
    }

    /// Changes the rate; returns the new end of the current packet.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: Rate) -> Instant {
        let done = u128::from(now.since(self.since).0) * u128::from(self.rate.0);
        self.work = self.work.left(done);
        (self.since, self.rate, self.cached) = (now, rate, None);
        self.end()
    }

    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Bits of the current packet that are not sent at `now`.
    pub(crate) fn left(&self, now: Instant) -> f64 {
        let done = u128::from(now.since(self.since).0) * u128::from(self.rate.0);
        let Work(left) = self.work.left(done);
        left as f64 / 1e9
    }
}

/// Service at the opportunities of a trace.
#[derive(Debug)]
pub(crate) struct TraceServer {
    opportunities: Vec<u64>,
    /// The next opportunity: the trace's repetition, and the index in it.
    round: u64,
    place: usize,
    /// Bytes left of the current opportunity.
    credit: u64,
    credit_at: Instant,
}

impl TraceServer {
    pub(crate) fn new(trace: &Trace) -> TraceServer {
        TraceServer {
            opportunities: trace.opportunities_ms.clone(),
            round: 0,
            place: 0,
            credit: 0,
            credit_at: Instant::MAX,
        }
    }

    fn period(&self) -> u64 {
        self.opportunities.last().copied().unwrap_or(1)
    }

    fn at(&self) -> Instant {
        let ms = self.round * self.period() + self.opportunities[self.place];
        Instant(ms * 1_000_000)
    }

    fn advance(&mut self) {
        self.place += 1;
        if self.place == self.opportunities.len() {
            (self.place, self.round) = (0, self.round + 1);
        }
    }

    /// Starts a packet; returns the time of the opportunity that completes it. Opportunities
    /// without a waiting packet are lost.
    #[inline(never)]
    pub(crate) fn begin(&mut self, now: Instant, size: Bytes) -> Instant {
        if self.credit_at != now {
            self.credit = 0;
        }
        while self.at() < now {
            self.advance();
        }
        let mut end = now;
        while self.credit < size.0 {
            end = self.at();
            self.credit += OPPORTUNITY;
            self.advance();
        }
        self.credit -= size.0;
        self.credit_at = end;
        end
    }

    /// Bits that the trace can carry in [0, until], including a packet that leaves at `until`.
    pub(crate) fn capacity_bits(&self, until: Instant) -> u128 {
        let (ms, period) = (until.0 / 1_000_000, self.period());
        let (rounds, rest) = (ms / period, ms % period);
        let in_rest = self.opportunities.partition_point(|t| *t <= rest);
        let count = u128::from(rounds) * self.opportunities.len() as u128 + in_rest as u128;
        count * u128::from(OPPORTUNITY) * 8
    }
}
