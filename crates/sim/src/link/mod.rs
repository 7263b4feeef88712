//! A one-way link: a queue, a server and a wire.

mod damage;
mod device_ring;
mod disorder;
mod even;
mod host_noise;
mod line;
pub(crate) mod network;
pub(crate) mod observed;
mod overtaking;
pub(crate) mod packet;
mod readings;
pub(crate) mod route;
pub(crate) mod server;
mod service;
mod slots;
mod waiting;

use std::marker::PhantomData;

use sojourn_queue::{DropReason, FlowLabels, Packet as _};
use sojourn_scenario as scenario;
use sojourn_trace::Histogram;
use sojourn_transport::Noise;
use sojourn_units::{Duration, Instant, Rate};

use crate::events::{Clock, EventQueue, Kind};
use crate::link::damage::Damage;
use crate::link::line::{DelayLine, Losses};
use crate::link::observed::Observed;
use crate::link::packet::Packet;
use crate::link::server::Server;
use crate::link::service::{Service, limit_in_time};
use crate::link::waiting::Begun;
use crate::meter::{Metering, Part};
use crate::peak::{SharedPeak, SpikeTracker};
use crate::seed::{RandomEvent, Stream, Uniform, seed};

/// Counters of a link, in packets unless stated otherwise.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Packets that arrived at the link.
    pub(crate) arrived: u64,
    /// Packets that left at the far end.
    pub(crate) delivered: u64,
    /// Dropped by the queue.
    pub(crate) dropped: u64,
    /// Bits of those packets.
    pub(crate) dropped_bits: u64,
    /// Each connection's bytes of data that the queue dropped, if a sending host limits its part of
    /// the queue.
    dropped_by: Option<Vec<u64>>,
    /// Lost on the wire.
    pub(crate) lost: u64,
    /// Copies that the wire made.
    pub(crate) duplicated: u64,
    /// Marked by this link's queue.
    pub(crate) marked: u64,
    /// Bits sent, of completely sent packets.
    pub(crate) sent_bits: u64,
    /// Greatest waiting time since the last sample of the series, and since an observer's reading.
    pub(crate) longest_wait: SharedPeak,
}

impl Counts {
    /// Counts a packet that the queue drops.
    fn note_drop(&mut self, packet: &Packet) {
        self.dropped += 1;
        self.dropped_bits += packet.size().0 * 8;
        if let Some(bytes) = &mut self.dropped_by
            && packet.is_adaptive()
        {
            bytes[packet.account()] += packet.size().0;
        }
    }
}

/// A link.
pub(crate) struct Link<M> {
    pub(crate) name: String,
    overhead: u32,
    /// `None` for a link without a queue and a server.
    service: Option<Service>,
    /// End of the current transmission, or of a shaper's wait; `Instant::MAX` if there is neither.
    pub(crate) departs_at: Instant,
    pub(crate) wire: Wire,
    pub(crate) counts: Counts,
    /// Queueing delays since the end of the warm-up.
    pub(crate) delays: Histogram,
    /// Counts at the end of the warm-up.
    pub(crate) warm_up: WarmUp,
    /// Each connection's bytes of data sent, if the bounds of changes of capacity need the shares.
    pub(crate) sent_by: Option<Vec<u64>>,
    /// One tracker for each change of capacity so far.
    pub(crate) trackers: Vec<SpikeTracker>,
    /// The backlog and the departures of a link outside the simulation.
    observed: Option<Observed>,
    /// Packets dropped, lost or copied since the engine last read them.
    pub(crate) notices: Vec<Notice>,
    /// Capacity summed over time up to `capacity_at`, in bit/s times nanoseconds.
    capacity_bit_ns: u128,
    capacity_at: Instant,
    metering: PhantomData<M>,
}

/// A link's counts at the end of the warm-up, which utilisation and percentiles leave out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WarmUp {
    pub(crate) sent_bits: f64,
    pub(crate) could_send_bits: f64,
    /// Sum and count of the waits, in nanoseconds.
    waited: (u64, u64),
}

/// A packet's fate inside a link, for the engine.
pub(crate) enum Notice {
    /// The queue dropped it, or the wire lost it.
    Gone(Packet),
    /// The wire copied it; original and copy both travel on.
    Copied(Packet),
}

/// The line, and the wire's losses and copies. The line also holds the packet in transmission and
/// a drop-tail queue.
pub(crate) struct Wire {
    /// The link's index.
    pub(crate) link: usize,
    pub(crate) line: DelayLine,
    pub(crate) losses: Losses,
    pub(crate) copies: Option<RandomEvent>,
    pub(crate) damage: Option<Box<Damage>>,
    /// Whether it keeps packets in order, and neither copies, changes nor batches them. All others
    /// take the slow path.
    is_plain: bool,
}

impl<M: Metering> Link<M> {
    pub(crate) fn new(
        spec: &scenario::Link,
        index: usize,
        run_seed: u64,
        connections: Option<usize>,
        mtu: u32,
        noise: Noise,
    ) -> Link<M> {
        let draws = |stream| Uniform::new(run_seed, stream, &spec.name);
        let copies = (spec.duplicate.probability > 0.0)
            .then(|| RandomEvent::new(spec.duplicate, draws(Stream::Duplicate)));
        Link {
            name: spec.name.clone(),
            overhead: spec.overhead.0 as u32,
            service: Service::new(spec, seed(run_seed, Stream::Queue, &spec.name), mtu),
            departs_at: Instant::MAX,
            wire: Wire {
                link: index,
                line: DelayLine::new(spec, noise, draws),
                losses: Losses::new(&spec.loss, draws(Stream::Loss)),
                is_plain: spec.is_plain(),
                copies,
                damage: Damage::new(spec, draws).map(Box::new),
            },
            counts: Counts::default(),
            delays: Histogram::default(),
            warm_up: WarmUp::default(),
            sent_by: connections.map(|n| vec![0; n]),
            trackers: Vec::new(),
            observed: None,
            notices: Vec::new(),
            capacity_bit_ns: 0,
            capacity_at: Instant::ZERO,
            metering: PhantomData,
        }
    }

    /// A packet arrives.
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
            counts.note_drop(&p);
            notices.push(Notice::Gone(p));
        });
        M::enter(Part::Engine);
        if !line.is_sending() {
            self.serve_newcomer(now, events);
        }
    }

    /// A packet enters the wire of a link without a server.
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

    // `inline(always)`: see `sojourn_queue`'s `slow_path.rs`.
    #[inline(always)]
    pub(crate) fn lose(&mut self, packet: Packet) {
        self.counts.lost += 1;
        self.notices.push(Notice::Gone(packet));
    }

    /// Slow path for an idle link. A busy link does not need it.
    #[inline(never)]
    fn serve_newcomer(&mut self, now: Instant, events: &mut EventQueue) {
        let before = self.departs_at;
        self.serve(now, events);
        if !self.wire.is_plain {
            self.expect_overtaker(before, events);
        }
    }

    /// Starts to send the next waiting packet.
    #[inline(always)]
    pub(crate) fn serve(&mut self, now: Instant, events: &mut EventQueue) {
        let Some(service) = &mut self.service else { return };
        let (notices, counts) = (&mut self.notices, &mut self.counts);
        M::enter(Part::Queue);
        let line = &mut self.wire.line;
        let next = service.waiting.begin(now, line, &mut |p, _: DropReason| {
            counts.note_drop(&p);
            notices.push(Notice::Gone(p));
        });
        M::enter(Part::Engine);
        match next {
            Some(Begun { size, enqueued_at, is_marked }) => {
                self.departs_at = service.server.begin(now, size);
                // A burst of a trace sends a packet at one instant, so its wait lasts until then.
                let leaves_at = match &service.server {
                    Server::Rate(_) => now,
                    Server::Trace(_) => self.departs_at,
                    Server::Even(server) => server.began(),
                };
                self.note_wait(leaves_at, enqueued_at, is_marked);
            }
            None => {
                let ready_at = service.waiting.ready_at().unwrap_or(Instant::MAX);
                // A packet that queues behind a shaper does not change its release time.
                if std::mem::replace(&mut self.departs_at, ready_at) == ready_at {
                    return;
                }
            }
        }
        if self.wire.line.is_wire_empty() {
            self.expect_departure(events);
        }
    }

    /// The longest wait of the packets that still wait at the end of a run, if the link goes on to send
    /// them at its last rate; at a rate of zero, until the end. Removes them.
    #[cold]
    pub(crate) fn longest_wait_left(&mut self, end: Instant) -> Option<Duration> {
        let service = self.service.as_mut()?;
        let line = &mut self.wire.line;
        let (mut at, mut longest) = (end, None);
        if line.is_sending() && self.departs_at < Instant::MAX {
            at = self.departs_at.max(end);
        }
        loop {
            line.depart(at);
            let Some(begun) = service.waiting.begin(at, line, &mut |_, _| {}) else {
                // A shaper holds them back.
                match service.waiting.ready_at().filter(|ready_at| *ready_at > at) {
                    Some(ready_at) if ready_at < Instant::MAX => at = ready_at,
                    _ => return longest,
                }
                continue;
            };
            longest = longest.max(Some(at.since(begun.enqueued_at)));
            let sent_at = service.server.begin(at, begun.size);
            at = if sent_at < Instant::MAX { sent_at } else { at };
        }
    }

    #[inline(always)]
    fn note_wait(&mut self, leaves_at: Instant, enqueued_at: Instant, marked: bool) {
        M::enter(Part::Recording);
        let wait = leaves_at.since(enqueued_at);
        self.delays.record(wait.0);
        self.counts.longest_wait.note(wait);
        self.counts.marked += u64::from(marked);
        if !self.trackers.is_empty() {
            self.track(leaves_at, enqueued_at, wait);
        }
        M::enter(Part::Engine);
    }

    /// Adds a wait to the spike of the last change before the packet arrived, its part since each
    /// later change to that one's, and the wait to the record of waits since the last change of all.
    #[inline(never)]
    fn track(&mut self, leaves_at: Instant, enqueued_at: Instant, wait: Duration) {
        let count_before = self.trackers.partition_point(|tracker| tracker.from <= enqueued_at);
        if let Some(tracker) = count_before.checked_sub(1).and_then(|at| self.trackers.get_mut(at))
        {
            tracker.on_wait(leaves_at, enqueued_at, wait, self.counts.dropped);
        }
        for tracker in &mut self.trackers[count_before..] {
            let since = leaves_at.since(tracker.from);
            tracker.on_wait(leaves_at, tracker.from, since, self.counts.dropped);
        }
        if let Some(last) = self.trackers.last_mut() {
            last.extend(leaves_at, wait);
        }
    }

    /// Counts the data of each of `accounts` that leaves the queue, for [`Link::has_left`]. Returns
    /// whether the link has a queue.
    pub(crate) fn count_accounts(&mut self, accounts: usize) -> bool {
        if self.service.is_none() {
            return false;
        }
        self.sent_by.get_or_insert_with(|| vec![0; accounts]);
        self.counts.dropped_by.get_or_insert_with(|| vec![0; accounts]);
        true
    }

    /// Whether it counts the data of each account.
    pub(crate) fn counts_accounts(&self) -> bool {
        self.counts.dropped_by.is_some()
    }

    /// Bytes of an account's data that the link has sent or its queue has dropped, with the overhead
    /// of the link.
    pub(crate) fn has_left(&self, account: usize) -> u64 {
        let of = |bytes: &Option<Vec<u64>>| bytes.as_ref().map_or(0, |bytes| bytes[account]);
        of(&self.sent_by) + of(&self.counts.dropped_by)
    }

    /// Size on this link of a packet of `ip_size` bytes.
    pub(crate) fn size_of(&self, ip_size: u32) -> u64 {
        u64::from(ip_size + self.overhead)
    }

    /// Sets the labels of the packets with this flow hash.
    pub(crate) fn label_flow(&mut self, flow_hash: u64, labels: FlowLabels) {
        if let Some(service) = &mut self.service {
            service.waiting.label_flow(flow_hash, labels);
        }
    }

    /// Processes the departures due since the last call. The check is separate, since a departure
    /// is rarely due. See `depart_until`.
    #[inline]
    pub(crate) fn catch_up(&mut self, clock: Clock, events: &mut EventQueue) {
        if self.departs_at < clock.horizon {
            self.catch_up_slow(clock, events);
        }
    }

    #[inline(never)]
    fn catch_up_slow(&mut self, clock: Clock, events: &mut EventQueue) {
        if self.wire.is_plain {
            self.depart_until(clock, events);
        } else {
            self.depart_reordering_until(clock, events);
        }
    }

    /// While packets are on the wire, the link has no departure events. It processes due departures
    /// when a packet enters or arrives, or before a reading.
    #[inline(always)]
    fn depart_until(&mut self, clock: Clock, events: &mut EventQueue) {
        while self.departs_at < clock.horizon {
            self.depart(self.departs_at, events);
        }
    }

    /// Ends the current transmission, or a shaper's wait.
    #[inline(always)]
    fn depart(&mut self, at: Instant, events: &mut EventQueue) {
        let is_lost = self.wire.line.is_sending() && self.wire.losses.next();
        let line = &mut self.wire.line;
        if let Some(packet) = if is_lost { line.lose() } else { line.depart(at) } {
            self.counts.sent_bits += packet.size().0 * 8;
            // Datagrams and acknowledgements do not react to capacity.
            if let Some(sent_by) = &mut self.sent_by
                && packet.is_adaptive()
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

    /// Whether the wire keeps packets in order, and neither copies, changes nor batches them.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.wire.is_plain
    }

    /// The packet that arrives at the far end now, on a plain wire.
    #[inline(always)]
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

    /// Schedules the end of the current transmission or of a shaper's wait, if any.
    pub(crate) fn expect_departure(&self, events: &mut EventQueue) {
        if self.departs_at < Instant::MAX {
            events.push(self.departs_at, Kind::Departure, self.wire.link);
        }
    }

    pub(crate) fn set_delay(&mut self, delay: Duration) {
        self.wire.line.delay = delay;
    }

    /// Changes the probability of a loss. Call [`Link::catch_up`] before.
    pub(crate) fn set_loss(&mut self, p: f64) {
        self.wire.losses.set_probability(p);
    }

    /// Changes the capacity, also for the packet in transmission. Call [`Link::catch_up`] before.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: Rate, events: &mut EventQueue) {
        self.count_capacity(now);
        let Some(service) = &mut self.service else { return };
        if service.has_shaper_changes {
            return service.set_shaper_rate(rate);
        }
        let Server::Rate(server) = &mut service.server else { return };
        let end = server.set_rate(now, rate);
        // During an outage, a buffer given in time keeps its size.
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
}
