//! A link's delay line: propagation delay, jitter and loss. It holds the packets on the wire, the
//! packet in transmission, and the packets of a drop-tail queue. Order is kept unless packets may
//! overtake.

use sojourn_queue::Packet as _;
use sojourn_scenario::{Distribution, Link, Loss, Schedule};
use sojourn_transport::Noise;
use sojourn_units::ring::RingBuffer;
use sojourn_units::{Duration, Instant};

use crate::link::host_noise::HostNoise;
use crate::link::overtaking::{Overtaking, Turn};
use crate::link::packet::Packet;
use crate::link::slots::Slots;
use crate::seed::{Correlated, Stream, Uniform};

/// Packets in a block. Blocks are large because links are few.
const BLOCK: usize = 512;

/// Packets in the order of arrival: those on the wire, then the packet in transmission, then those
/// that wait, if their order is fixed. A packet therefore stays in one place in memory until it
/// arrives. One event serves all of them.
#[derive(Debug)]
pub(crate) struct DelayLine {
    packets: RingBuffer<Packet, BLOCK>,
    on_wire: usize,
    is_sending: bool,
    last_arrival: Instant,
    /// Time at which the last packet was ready for a slot.
    last_ready: Instant,
    pub(crate) delay: Duration,
    jitter: Duration,
    /// Whether the jitter is normal; otherwise it is uniform.
    is_normal: bool,
    draws: Correlated,
    /// The host at the far end, if it takes time.
    host: Option<HostNoise>,
    /// State of packets that may overtake each other. Boxed, so that other links pay one
    /// comparison.
    overtaking: Option<Box<Overtaking>>,
    /// The slots of a medium that delivers in batches.
    slots: Option<Box<Slots>>,
}

impl DelayLine {
    /// `draws`: creates the random stream of a given name of this link.
    ///
    /// The host behind the link processes packets later by its noise, in order.
    ///
    /// Deviation (ns-2 `overhead_`): `noise` belongs to the link in front of a host, also for
    /// flows that go on to another link, and a route without links has none. In ns-2, it delays the
    /// packets that a sender sends.
    pub(crate) fn new(spec: &Link, noise: Noise, draws: impl Fn(Stream) -> Uniform) -> DelayLine {
        DelayLine {
            packets: RingBuffer::default(),
            on_wire: 0,
            is_sending: false,
            last_arrival: Instant::ZERO,
            last_ready: Instant::ZERO,
            delay: spec.delay.start,
            jitter: spec.jitter.span,
            is_normal: spec.jitter.distribution == Distribution::Normal,
            draws: Correlated::new(spec.jitter.correlation, draws(Stream::Jitter)),
            host: HostNoise::new(noise, draws(Stream::HostNoise)),
            overtaking: Overtaking::new(spec, draws(Stream::Reorder)).map(Box::new),
            slots: spec.slots.map(|slots| Box::new(Slots::new(slots, draws(Stream::Slots)))),
        }
    }

    /// Appends a waiting packet.
    #[inline(always)]
    pub(crate) fn wait(&mut self, packet: Packet) {
        self.packets.push(packet);
    }

    /// Packets that wait.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> usize {
        self.packets.len() - self.packets_on_line()
    }

    /// Starts to send this packet, if no packet waits here.
    #[inline(always)]
    pub(crate) fn begin(&mut self, packet: Packet) {
        debug_assert!(!self.is_sending && self.waiting() == 0);
        self.is_sending = true;
        self.wait(packet);
    }

    /// Starts to send the first packet that waits here.
    #[inline(always)]
    pub(crate) fn begin_first(&mut self) -> Option<&Packet> {
        debug_assert!(!self.is_sending, "a link sends one packet at a time");
        let next = self.packets.get(self.on_wire)?;
        self.is_sending = true;
        Some(next)
    }

    /// The packet in transmission.
    #[inline]
    pub(crate) fn sending(&self) -> Option<&Packet> {
        if self.is_sending { self.packets.get(self.on_wire) } else { None }
    }

    #[inline]
    pub(crate) fn is_sending(&self) -> bool {
        self.is_sending
    }

    /// Puts the packet in transmission, if any, on the wire. Returns it as it was before, so that
    /// the caller does not read a value that was just written.
    #[inline(always)]
    pub(crate) fn depart(&mut self, now: Instant) -> Option<Packet> {
        if !std::mem::take(&mut self.is_sending) {
            return None;
        }
        let arrival = self.arrival(now);
        let packet = self.packets.get_mut(self.on_wire)?;
        let sent = *packet;
        packet.leave_link(arrival);
        self.on_wire += 1;
        Some(sent)
    }

    /// Loses the packet in transmission, if no packet waits here.
    #[cold]
    pub(crate) fn lose(&mut self) -> Option<Packet> {
        self.take_sent()
    }

    /// Removes the packet in transmission, if any, if no packet waits here.
    pub(crate) fn take_sent(&mut self) -> Option<Packet> {
        debug_assert_eq!(self.waiting(), 0);
        if std::mem::take(&mut self.is_sending) { self.packets.pop_last() } else { None }
    }

    /// A packet leaves without transmission time. Returns its arrival if it is the only one on the
    /// line.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Instant, mut packet: Packet) -> Option<Instant> {
        debug_assert!(!self.is_sending, "what holds packets up sends them");
        let arrival = self.arrival(now);
        packet.leave_link(arrival);
        self.packets.push(packet);
        self.on_wire += 1;
        self.only_arrival()
    }

    /// As above, on a wire that is not plain. Returns the older acknowledgement that the packet
    /// replaces, if any.
    pub(crate) fn put(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        if self.overtaking.is_some() {
            self.put_overtaking(now, packet);
            return None;
        }
        if self.slots.is_some() {
            return self.put_in_slot(now, packet);
        }
        self.push(now, packet);
        None
    }

    /// As above, if packets arrive in slots.
    fn put_in_slot(&mut self, now: Instant, mut packet: Packet) -> Option<Packet> {
        let ready = self.own_arrival(now).max(self.last_ready);
        self.last_ready = ready;
        let slots = self.slots.as_mut()?;
        if slots.filters_acks()
            && let Some(older) = waiting_ack(&mut self.packets, self.on_wire, &packet, ready)
        {
            // The newer one takes the older one's slot.
            packet.leave_link(older.stamp);
            return Some(std::mem::replace(older, packet));
        }
        let arrival = slots.assign(now, ready, packet.size().0);
        packet.leave_link(arrival);
        self.last_arrival = arrival;
        self.packets.push(packet);
        self.on_wire += 1;
        None
    }

    /// As above, if packets may overtake each other.
    fn put_overtaking(&mut self, now: Instant, mut packet: Packet) {
        let Some(overtaking) = &mut self.overtaking else { return };
        let (turn, by_jitter) = (overtaking.turn(), overtaking.by_jitter);
        let arrival = match turn {
            Turn::Early => self.processed(now),
            Turn::InOrder | Turn::Late(_) if by_jitter => self.own_arrival(now),
            Turn::InOrder | Turn::Late(_) => self.arrival(now),
        };
        let late = if let Turn::Late(late) = turn { late } else { Duration::ZERO };
        packet.leave_link(arrival + late);
        let Some(overtaking) = &mut self.overtaking else { return };
        if turn == Turn::InOrder && arrival >= self.last_arrival {
            overtaking.enter_line();
            self.last_arrival = arrival;
            self.packets.push(packet);
            self.on_wire += 1;
        } else {
            overtaking.set_aside(packet);
        }
    }

    /// Arrival time of a packet that leaves now. If the delay shrinks, the packet queues behind
    /// those in flight.
    ///
    /// Deviation (Linux sch_netem.c): packets with jitter keep their order without `reorder`;
    /// netem's do so only if it has a rate.
    /// Deviation (RFC 8868 section 4.5.2): packets of all flows keep their order, not only those of
    /// one flow.
    #[inline(always)]
    fn arrival(&mut self, now: Instant) -> Instant {
        let arrival = self.own_arrival(now);
        self.last_arrival = self.last_arrival.max(arrival);
        self.last_arrival
    }

    /// As above, regardless of packets in flight.
    ///
    /// Deviation (Linux sch_netem.c): jitter is uniform above the delay; netem's is around it.
    /// Deviation (RFC 8868 section 4.5.3): jitter is uniform; there, it is the absolute value of a
    /// Gaussian.
    #[inline(always)]
    fn own_arrival(&mut self, now: Instant) -> Instant {
        let mut delay = self.delay;
        if self.jitter > Duration::ZERO {
            delay = self.jittered();
        }
        self.processed(now + delay)
    }

    /// The time at which the host at the far end processes a packet that arrives at `at`.
    #[inline(always)]
    fn processed(&mut self, at: Instant) -> Instant {
        match &mut self.host {
            Some(host) => host.processed(at),
            None => at,
        }
    }

    /// The delay of a packet with its jitter.
    #[inline(never)]
    fn jittered(&mut self) -> Duration {
        if !self.is_normal {
            return self.delay + Duration(self.draws.below(self.jitter.0 + 1));
        }
        let extra = (self.draws.normal() * self.jitter.0 as f64) as i64;
        Duration(self.delay.0.saturating_add_signed(extra))
    }

    /// The packet that arrives now, if order is kept.
    #[inline(always)]
    pub(crate) fn arrive(&mut self) -> Option<Packet> {
        debug_assert!(self.overtaking.is_none());
        self.on_wire = self.on_wire.checked_sub(1)?;
        self.packets.pop()
    }

    /// As above, if packets may overtake each other or be copied.
    pub(crate) fn arrive_of_all(&mut self) -> Option<Packet> {
        let line = self.next_arrival();
        let Some(overtaking) = &mut self.overtaking else { return self.arrive() };
        if let Some(packet) = overtaking.arrive(line) {
            return Some(packet);
        }
        self.on_wire = self.on_wire.checked_sub(1)?;
        overtaking.leave_line();
        self.packets.pop()
    }

    /// Arrival time of the next packet on the line.
    #[inline(always)]
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        if self.is_wire_empty() { None } else { self.packets.first().map(|next| next.stamp) }
    }

    /// As above, including the packets beside the line.
    pub(crate) fn next_arrival_of_all(&self) -> Option<Instant> {
        let aside = self.overtaking.as_ref().and_then(|overtaking| overtaking.next_arrival());
        self.next_arrival().into_iter().chain(aside).min()
    }

    /// Whether the line holds no packet except the one in transmission.
    #[inline]
    pub(crate) fn is_wire_empty(&self) -> bool {
        self.on_wire == 0
    }

    /// Whether packets may overtake each other.
    pub(crate) fn may_overtake(&self) -> bool {
        self.overtaking.is_some()
    }

    /// Packets that arrived after one that had left later.
    pub(crate) fn reordered(&self) -> u64 {
        self.overtaking.as_ref().map_or(0, |overtaking| overtaking.reordered)
    }

    /// Arrival time of the last packet on the wire, if it is the only one.
    #[inline(always)]
    pub(crate) fn only_arrival(&self) -> Option<Instant> {
        (self.on_wire == 1).then_some(self.last_arrival)
    }

    /// Packets on the line: those in flight, and the one in transmission.
    #[inline(always)]
    fn packets_on_line(&self) -> usize {
        self.on_wire + usize::from(self.is_sending)
    }

    /// As above, including the packets beside the line.
    pub(crate) fn packets_inside(&self) -> usize {
        self.packets_on_line() + self.overtaking.as_ref().map_or(0, |overtaking| overtaking.len())
    }
}

/// The newest acknowledgement of a connection among the `on_wire` packets in front of the line, if
/// `newer` makes it redundant and is ready by its slot.
fn waiting_ack<'a>(
    packets: &'a mut RingBuffer<Packet, BLOCK>,
    on_wire: usize,
    newer: &Packet,
    ready: Instant,
) -> Option<&'a mut Packet> {
    let is_of_slot = |packet: &Packet| packet.stamp >= ready;
    let mut waiting = (0..on_wire).rev().map_while(|place| {
        packets.get(place).filter(|packet| is_of_slot(packet)).map(|packet| (place, packet))
    });
    let is_redundant = |older: &Packet| newer.replaces(older) && !older.echoes_ecn();
    let (place, _) = waiting.find(|(_, older)| is_redundant(older))?;
    packets.get_mut(place)
}

/// The loss model of a wire.
#[derive(Debug)]
pub(crate) struct Losses {
    model: Loss,
    bad: bool,
    /// Packets since the last periodic loss.
    since: u64,
    draws: Uniform,
}

impl Losses {
    pub(crate) fn new(spec: &Loss, draws: Uniform) -> Losses {
        Losses { model: spec.clone(), bad: false, since: 0, draws }
    }

    /// Loses each later packet with this probability.
    pub(crate) fn set_probability(&mut self, p: f64) {
        self.model = Loss::Random(Schedule::constant(p));
    }

    /// Whether the next packet is lost.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> bool {
        !matches!(self.model, Loss::None) && self.draw()
    }

    #[inline(never)]
    fn draw(&mut self) -> bool {
        match &self.model {
            Loss::None => false,
            Loss::Random(schedule) => self.draws.next() < schedule.start,
            Loss::Periodic(every) => {
                self.since = (self.since + 1) % *every;
                self.since == 0
            }
            // Deviation (Linux sch_netem.c): the state changes before the draw of the loss; netem
            // draws by the state before the change.
            &Loss::GilbertElliott { p, r, loss_bad, loss_good } => {
                let flips = self.draws.next() < if self.bad { r } else { p };
                self.bad ^= flips;
                self.draws.next() < if self.bad { loss_bad } else { loss_good }
            }
        }
    }
}
