//! A one-way link: a queue, a server, a wire.

use std::marker::PhantomData;

use sojourn_queue::{DropReason, Limit, Packet as _, Shaping};
use sojourn_scenario::{self as scenario, Buffer, Capacity};
use sojourn_trace::Histogram;
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::events::{Clock, EventQueue, Kind};
use crate::line::{DelayLine, Losses};
use crate::measure::{Peak, SpikeTracker};
use crate::meter::{Metering, Part};
use crate::packet::{Packet, PacketKind};
use crate::seed::{Event, Stream, Uniform, seed};
use crate::server::{RateServer, Server, TraceServer, mean_rate};
use crate::waiting::{Begun, Waiting};

/// What a link has counted, in packets unless said otherwise.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Came in.
    pub(crate) arrived: u64,
    /// Went out at the far end.
    pub(crate) delivered: u64,
    /// Dropped by the queue.
    pub(crate) dropped: u64,
    /// Bits of those packets.
    pub(crate) dropped_bits: u64,
    /// Lost on the wire.
    pub(crate) lost: u64,
    /// Copies that the wire made.
    pub(crate) duplicated: u64,
    /// Marked by this link's queue.
    pub(crate) marked: u64,
    /// Bits sent, of packets that are through.
    pub(crate) sent_bits: u64,
    /// Greatest waiting time since the last sample, where there was one.
    pub(crate) longest: Peak,
}

/// A link.
pub(crate) struct Link<M> {
    pub(crate) name: String,
    overhead: u32,
    /// None where the link only delays.
    service: Option<Service>,
    /// When the packet under way is through, or a shaper is ready again; never where
    /// the link only delays.
    pub(crate) departs_at: Instant,
    pub(crate) wire: Wire,
    pub(crate) counts: Counts,
    pub(crate) delays: Histogram,
    /// Bytes of data sent for each connection, where changes of capacity are to be
    /// judged by who used the link.
    pub(crate) sent_by: Option<Vec<u64>>,
    /// One for each change of capacity so far.
    pub(crate) trackers: Vec<SpikeTracker>,
    /// Packets that were dropped, lost or copied since the engine last looked.
    pub(crate) notices: Vec<Notice>,
    /// Bits that could have been sent up to `capacity_at`.
    capacity_bits: u128,
    capacity_at: Instant,
    metering: PhantomData<M>,
}

/// What the engine must know of a packet inside a link.
pub(crate) enum Notice {
    /// The queue dropped it, or the wire lost it.
    Gone(Packet),
    /// The wire copied it: both packets travel on.
    Copied(Packet),
}

/// The line, with the packet under way and what waits on it, and what the wire loses and
/// copies.
pub(crate) struct Wire {
    /// The link's place among all.
    pub(crate) link: usize,
    pub(crate) line: DelayLine,
    pub(crate) losses: Losses,
    pub(crate) copies: Option<Event>,
    /// Whether it keeps packets in order and copies none.
    is_plain: bool,
}

struct Service {
    waiting: Waiting,
    server: Server,
    /// The buffer, where it is given in time.
    time_limit: Option<Duration>,
    /// What the queue holds all that leaves to; the link's rate is then constant.
    shaping: Option<Shaping>,
    /// Largest packet as the link counts it.
    mtu: Bytes,
}

impl<M: Metering> Link<M> {
    pub(crate) fn new(
        spec: &scenario::Link,
        index: usize,
        run_seed: u64,
        connections: Option<usize>,
        mtu: u32,
        host_noise: Duration,
    ) -> Link<M> {
        let draws = |stream| Uniform::new(run_seed, stream, &spec.name);
        let copies = (spec.duplicate.probability > 0.0)
            .then(|| Event::new(spec.duplicate, draws(Stream::Duplicate)));
        Link {
            name: spec.name.clone(),
            overhead: spec.overhead.0 as u32,
            service: Service::new(spec, seed(run_seed, Stream::Queue, &spec.name), mtu),
            departs_at: Instant::MAX,
            wire: Wire {
                link: index,
                line: DelayLine::new(spec, host_noise, draws),
                losses: Losses::new(spec.loss, draws(Stream::Loss)),
                is_plain: !spec.may_reorder() && copies.is_none(),
                copies,
            },
            counts: Counts::default(),
            delays: Histogram::default(),
            sent_by: connections.map(|n| vec![0; n]),
            trackers: Vec::new(),
            notices: Vec::new(),
            capacity_bits: 0,
            capacity_at: Instant::ZERO,
            metering: PhantomData,
        }
    }

    /// A packet comes in.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, clock: Clock, mut packet: Packet, events: &mut EventQueue) {
        self.catch_up(clock, events);
        let now = clock.now;
        self.counts.arrived += 1;
        packet.enter_link(self.overhead);
        let Some(service) = &mut self.service else {
            return self.leave(now, packet, events);
        };
        let (notices, counts) = (&mut self.notices, &mut self.counts);
        let line = &mut self.wire.line;
        M::enter(Part::Queue);
        service.waiting.enqueue(now, packet, line, &mut |p, _: DropReason| {
            counts.dropped += 1;
            counts.dropped_bits += p.size().0 * 8;
            notices.push(Notice::Gone(p));
        });
        M::enter(Part::Engine);
        if !line.is_sending() {
            self.serve_newcomer(now, events);
        }
    }

    /// A packet leaves the host, where there is no server.
    #[inline(always)]
    fn leave(&mut self, now: Instant, packet: Packet, events: &mut EventQueue) {
        if self.wire.losses.next() {
            self.lose(packet);
        } else if !self.wire.is_plain {
            self.put_on_wire(now, packet, events);
        } else if let Some(arrival) = self.wire.line.push(now, packet) {
            events.push_arrival(arrival, self.wire.link);
        }
    }

    // Always: see `sojourn_queue`'s `apart.rs`.
    #[inline(always)]
    pub(crate) fn lose(&mut self, packet: Packet) {
        self.counts.lost += 1;
        self.notices.push(Notice::Gone(packet));
    }

    /// The link was idle: apart, since a busy link has no need of it.
    #[inline(never)]
    fn serve_newcomer(&mut self, now: Instant, events: &mut EventQueue) {
        let before = self.departs_at;
        self.serve(now, events);
        if !self.wire.is_plain {
            self.expect_overtaker(before, events);
        }
    }

    /// Begins to send the next packet that waits.
    #[inline(always)]
    pub(crate) fn serve(&mut self, now: Instant, events: &mut EventQueue) {
        let Some(service) = &mut self.service else { return };
        let (notices, counts) = (&mut self.notices, &mut self.counts);
        M::enter(Part::Queue);
        let line = &mut self.wire.line;
        let next = service.waiting.begin(now, line, &mut |p, _: DropReason| {
            counts.dropped += 1;
            counts.dropped_bits += p.size().0 * 8;
            notices.push(Notice::Gone(p));
        });
        M::enter(Part::Engine);
        match next {
            Some(Begun { size, enqueued_at, is_marked }) => {
                self.departs_at = service.server.begin(now, size);
                // An opportunity takes no time: all before it is waiting.
                let until = match service.server {
                    Server::Rate(_) => now,
                    Server::Trace(_) => self.departs_at,
                };
                self.note_wait(until, enqueued_at, is_marked);
            }
            None => {
                let ready_at = service.waiting.ready_at().unwrap_or(Instant::MAX);
                // Known already, if another packet only came to wait behind a shaper.
                if std::mem::replace(&mut self.departs_at, ready_at) == ready_at {
                    return;
                }
            }
        }
        if self.wire.line.is_wire_empty() {
            self.expect_departure(events);
        }
    }

    #[inline(always)]
    fn note_wait(&mut self, now: Instant, enqueued_at: Instant, marked: bool) {
        M::enter(Part::Recording);
        let wait = now.since(enqueued_at);
        self.delays.record(wait.0);
        self.counts.longest.note(wait);
        self.counts.marked += u64::from(marked);
        if !self.trackers.is_empty() {
            self.track(now, enqueued_at, wait);
        }
        M::enter(Part::Engine);
    }

    #[inline(never)]
    /// A wait counts for the change that was the last when the packet came in,
    /// and shows how long the last one's spike lasts.
    fn track(&mut self, now: Instant, enqueued_at: Instant, wait: Duration) {
        let came = self.trackers.partition_point(|tracker| tracker.from <= enqueued_at);
        if let Some(tracker) = came.checked_sub(1).and_then(|at| self.trackers.get_mut(at)) {
            tracker.meet(now, enqueued_at, wait, self.counts.dropped);
        }
        if let Some(last) = self.trackers.last_mut() {
            last.follow(now, wait);
        }
    }

    /// Does what has become due since the link was last looked at; apart, since mostly
    /// that is nothing. See `depart_until`.
    #[inline]
    pub(crate) fn catch_up(&mut self, clock: Clock, events: &mut EventQueue) {
        if self.departs_at < clock.horizon {
            self.catch_up_apart(clock, events);
        }
    }

    #[inline(never)]
    fn catch_up_apart(&mut self, clock: Clock, events: &mut EventQueue) {
        if self.wire.is_plain {
            self.depart_until(clock, events);
        } else {
            self.depart_in_disorder_until(clock, events);
        }
    }

    /// Departures have no events of their own while something is on the wire: nobody
    /// can see them before a packet comes in or arrives, and then they are made up for,
    /// each at its own time.
    #[inline(always)]
    fn depart_until(&mut self, clock: Clock, events: &mut EventQueue) {
        while self.departs_at < clock.horizon {
            self.depart(self.departs_at, events);
        }
    }

    /// The packet under way is through, or a shaper is ready again.
    #[inline(always)]
    fn depart(&mut self, at: Instant, events: &mut EventQueue) {
        let is_lost = self.wire.line.is_sending() && self.wire.losses.next();
        let line = &mut self.wire.line;
        if let Some(packet) = if is_lost { line.lose() } else { line.depart(at) } {
            self.counts.sent_bits += packet.size().0 * 8;
            // Datagrams and acknowledgements answer to no capacity.
            if let Some(sent_by) = &mut self.sent_by
                && packet.kind() == PacketKind::Data
            {
                sent_by[packet.account()] += packet.size().0;
            }
            if is_lost {
                self.lose(packet);
            } else if let Some(arrival) = line.only_arrival() {
                events.push_arrival(arrival, self.wire.link);
            }
        }
        self.serve(at, events);
    }

    /// Whether the wire keeps packets in order and copies none.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.wire.is_plain
    }

    /// The packet that arrives at the far end now; of a plain wire.
    #[inline]
    pub(crate) fn take_arrival(&mut self, clock: Clock, events: &mut EventQueue) -> Option<Packet> {
        debug_assert!(self.wire.is_plain);
        self.depart_until(clock, events);
        let packet = self.wire.line.arrive()?;
        self.counts.delivered += 1;
        match self.wire.line.next_arrival() {
            Some(at) => events.push_arrival(at, self.wire.link),
            None => self.expect_departure(events),
        }
        Some(packet)
    }

    /// What is under way will be on the wire.
    pub(crate) fn expect_departure(&self, events: &mut EventQueue) {
        if self.departs_at < Instant::MAX {
            events.push(self.departs_at, Kind::Departure, self.wire.link);
        }
    }

    pub(crate) fn set_delay(&mut self, delay: Duration) {
        self.wire.line.delay = delay;
    }

    /// Changes the capacity, for a packet under way as well.
    /// [`Link::catch_up`] comes first.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: Rate, events: &mut EventQueue) {
        self.count_capacity(now);
        let Some(service) = &mut self.service else { return };
        let Server::Rate(server) = &mut service.server else { return };
        let end = server.set_rate(now, rate);
        // A buffer in time keeps its size through an outage.
        if let Some(span) = service.time_limit.filter(|_| rate > Rate::ZERO) {
            service.waiting.set_limit(limit_in_time(rate, span, service.mtu));
        }
        if self.wire.line.is_sending() {
            self.departs_at = end;
            if self.wire.line.is_wire_empty() || self.wire.line.may_overtake() {
                self.expect_departure(events);
            }
        }
    }

    fn count_capacity(&mut self, now: Instant) {
        let span = now.since(self.capacity_at);
        self.capacity_bits += u128::from(self.rate().0) * u128::from(span.0);
        self.capacity_at = now;
    }

    /// The rate, or that of a shaper in front of it; zero for a link without one.
    pub(crate) fn rate(&self) -> Rate {
        match &self.service {
            Some(Service { server: Server::Rate(server), shaping, .. }) => {
                shaping.map_or(Rate::MAX, |shaping| shaping.rate).min(server.rate())
            }
            _ => Rate::ZERO,
        }
    }

    /// Bits that the link could have sent so far; none where it has no rate.
    pub(crate) fn could_send_bits(&mut self, now: Instant) -> Option<f64> {
        self.count_capacity(now);
        let service = self.service.as_ref()?;
        match &service.server {
            Server::Rate(server) => {
                let bits = self.capacity_bits as f64 / 1e9;
                let most = server.rate().as_f64() * now.as_secs_f64();
                Some(service.beyond_rate().map_or(bits, |more| (bits + more).min(most)))
            }
            Server::Trace(server) => Some(server.capacity_bits(now) as f64),
        }
    }

    /// Bits that the link has sent, the part of the packet under way included: no whole number,
    /// since at a low rate a fraction of a bit is a large part of what it sends in an interval.
    pub(crate) fn sent_bits(&self, now: Instant) -> f64 {
        let part = self.service.as_ref().map_or(0.0, |service| {
            match (self.wire.line.sending(), &service.server) {
                (Some(packet), Server::Rate(server)) => {
                    (packet.size().as_f64() * 8.0 - server.left(now)).max(0.0)
                }
                _ => 0.0,
            }
        });
        self.counts.sent_bits as f64 + part
    }

    /// Bits that came in, the packets under way, waiting and dropped included: a sum, so that
    /// no packet's arrival has to count them.
    pub(crate) fn arrived_bits(&self) -> u64 {
        let waiting = self.service.as_ref().map(|s| s.waiting.all(&self.wire.line));
        let sending = self.wire.line.sending().map_or(Bytes::ZERO, |packet| packet.size());
        let inside = waiting.unwrap_or_default().bytes + sending;
        self.counts.sent_bits + self.counts.dropped_bits + inside.0 * 8
    }

    /// Packets and bytes that wait in the queue: not the one under way, nor those
    /// in the device's ring.
    pub(crate) fn backlog(&self) -> sojourn_queue::Backlog {
        self.service.as_ref().map(|s| s.waiting.backlog(&self.wire.line)).unwrap_or_default()
    }

    /// How long a packet that comes in now would wait in a FIFO; zero where the link has
    /// no rate of its own, or none now.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        let Some(service) = &self.service else { return Duration::ZERO };
        let Server::Rate(server) = &service.server else { return Duration::ZERO };
        if server.rate() == Rate::ZERO {
            return Duration::ZERO;
        }
        let waiting = service.waiting.all(&self.wire.line).bytes;
        let under_way = if self.wire.line.is_sending() { server.left(now) } else { 0.0 };
        server.rate().time_for(waiting + Bytes((under_way / 8.0) as u64))
    }

    /// Packets that arrived behind one that had left after them (RFC 4737 section 3.3).
    pub(crate) fn reordered(&self) -> u64 {
        self.wire.line.reordered()
    }

    /// Conservation: what came in, and what the wire copied, went out, was dropped, or is
    /// still here.
    pub(crate) fn is_conserving(&self) -> bool {
        let waiting = self.service.as_ref().map(|s| s.waiting.all(&self.wire.line));
        let waiting = waiting.unwrap_or_default().packets;
        let inside = waiting + self.wire.line.packets_inside() as u64;
        let counts = &self.counts;
        counts.arrived + counts.duplicated
            == counts.delivered + counts.dropped + counts.lost + inside
    }
}

impl Service {
    fn new(spec: &scenario::Link, seed: u64, mtu: u32) -> Option<Service> {
        let server = match &spec.rate {
            Capacity::Unlimited => return None,
            Capacity::Rate(schedule) => Server::Rate(RateServer::new(schedule.start)),
            Capacity::Trace(trace) => Server::Trace(TraceServer::new(trace)),
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
            mtu,
        })
    }

    /// Bits that a shaper lets through beyond its rate: the burst, and the rest of the
    /// packet that uses it up.
    fn beyond_rate(&self) -> Option<f64> {
        self.shaping.map(|shaping| (shaping.burst + self.mtu).as_f64() * 8.0)
    }
}

/// A buffer in time: what the link carries in it at this rate, and at least
/// one packet, since each passes through the queue.
fn limit_in_time(rate: Rate, span: Duration, mtu: Bytes) -> Limit {
    Limit { bytes: rate.bytes_in(span).max(mtu), packets: u64::MAX }
}

/// The rate at the start; a trace has only its mean.
fn rate_at_start(capacity: &Capacity) -> Rate {
    match capacity {
        Capacity::Unlimited => Rate::MAX,
        Capacity::Rate(schedule) => schedule.start,
        Capacity::Trace(trace) => mean_rate(trace),
    }
}
