//! The sender's account of its packets, from which controllers get their feedback: acknowledged, lost
//! and marked packets, round trips, delivery rates, recovery.

use std::collections::VecDeque;

use sojourn_cc::{Feedback, RateSample, Received, Sent};
use sojourn_transport::{Delivery, Newest, Stamp};
use sojourn_units::{Bytes, Duration, Instant};

/// State of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Lost,
    Arrived,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    begin: u64,
    end: u64,
    number: u64,
    sent_at: Instant,
    state: State,
    is_again: bool,
    stamp: Stamp,
}

/// An episode of recovery, until its end is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Episode {
    /// None.
    None,
    /// After a mark.
    Mark(u64),
    /// After a loss.
    Loss(u64),
    /// After a timeout.
    Timeout(u64),
}

/// An acknowledgement as the ledger needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a> {
    pub(crate) cumulative: u64,
    pub(crate) blocks: &'a [(u64, u64)],
    /// Packets newly reported with CE.
    pub(crate) marks: u64,
    /// Whether it echoes a mark.
    pub(crate) is_marked: bool,
}

/// The account.
pub(crate) struct Ledger {
    mss: u64,
    /// Whether the receiver counts marks.
    counts_marks: bool,
    packets: VecDeque<Packet>,
    /// Transmissions in their order: number and begin.
    order: VecDeque<(u64, u64)>,
    /// The latest SACK blocks.
    blocks: Vec<(u64, u64)>,
    una: u64,
    /// The end of all data sent.
    next: u64,
    /// The end of the highest data that arrived.
    highest: u64,
    /// The end of the highest data that were ever deemed lost.
    lost_end: u64,
    number: u64,
    pub(crate) in_flight: u64,
    newest: Option<u64>,
    largest_acked: u64,
    /// RACK.rtt (RFC 8985 section 6.2).
    rack_rtt: Duration,
    reorder_at: Instant,
    has_reordering: bool,
    pub(crate) srtt: Duration,
    rttvar: Duration,
    min_rtt: Duration,
    episode: Episode,
    /// Begin of the latest recovery from a loss.
    loss_at: Instant,
    delivery: Delivery,
    sent_at: Instant,
    touched_at: Instant,
    received: Vec<Received>,
    lost_numbers: Vec<u64>,
}

/// A shorter silence is no timeout (RFC 6298 section 2.4, Linux `TCP_RTO_MIN`).
const MIN_RTO: Duration = Duration::from_millis(200);
/// RFC 9293 section 3.8.6.3, and Linux's timer (`TCP_DELACK_MIN`).
const ACK_EVERY: u64 = 2;
const ACK_DELAY: Duration = Duration::from_millis(40);
/// RFC 5681 section 3.2.
const DUPLICATES: u64 = 3;

/// The news of an acknowledgement.
#[derive(Default)]
struct Newly {
    bytes: u64,
    packets: u64,
    newest: Option<Newest>,
    oldest_sent_at: Option<Instant>,
    has_again: bool,
    advanced: bool,
}

#[derive(Default)]
struct Lost {
    bytes: u64,
    packets: u64,
}

/// The meaning of a departure: a retransmission shows a loss or a timeout.
pub(crate) enum Departure {
    /// New data, or a repair of a known loss.
    Plain,
    /// The retransmission timer expired.
    Timeout {
        /// Bytes outstanding.
        in_flight: u64,
    },
    /// The packet was deemed lost.
    Loss,
}

impl Ledger {
    pub(crate) fn new(mss: u64, counts_marks: bool) -> Ledger {
        Ledger {
            mss,
            counts_marks,
            packets: VecDeque::new(),
            order: VecDeque::new(),
            blocks: Vec::new(),
            una: 0,
            next: 0,
            highest: 0,
            lost_end: 0,
            number: 0,
            in_flight: 0,
            newest: None,
            largest_acked: 0,
            rack_rtt: Duration::ZERO,
            reorder_at: Instant::MAX,
            has_reordering: false,
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            min_rtt: Duration::MAX,
            episode: Episode::None,
            loss_at: Instant::ZERO,
            delivery: Delivery::default(),
            sent_at: Instant::ZERO,
            touched_at: Instant::ZERO,
            received: Vec::new(),
            lost_numbers: Vec::new(),
        }
    }

    /// The time at which a packet is lost unless it is acknowledged before (RFC 8985 section 6.2).
    pub(crate) fn reorder_at(&self) -> Instant {
        self.reorder_at
    }

    /// The first round-trip time, of the handshake.
    pub(crate) fn begin(&mut self, rtt: Duration) {
        (self.srtt, self.rttvar, self.min_rtt) = (rtt, rtt / 2, rtt);
    }

    /// Whether the transport may still reduce the window after a loss (RFC 9937): it takes a round trip.
    pub(crate) fn reduces(&self, now: Instant) -> bool {
        matches!(self.episode, Episode::Loss(_)) && now.since(self.loss_at) < self.srtt * 2
    }

    /// RFC 6298 section 2.3, with Linux's minimum.
    fn rto(&self) -> Duration {
        self.srtt + MIN_RTO.max(self.rttvar * 4)
    }

    /// Whether data outstanding leave no room in a receive window of `window` bytes.
    pub(crate) fn fills(&self, window: u64) -> bool {
        self.next.saturating_sub(self.una) + 2 * self.mss > window
    }

    /// The meaning of data that are about to depart.
    pub(crate) fn depart(&mut self, now: Instant, begin: u64, end: u64) -> Departure {
        if begin >= self.next {
            return Departure::Plain;
        }
        let Some(place) = self.place(begin) else { return Departure::Plain };
        let packet = self.packets[place];
        if packet.state != State::InFlight {
            return Departure::Plain;
        }
        let silence = now.since(self.touched_at);
        let is_last = end >= self.next;
        let is_timeout = silence >= self.rto() * 9 / 10 && packet.begin <= self.una;
        match (is_timeout, is_last) {
            // A tail loss probe (RFC 8985 section 7.3).
            (false, true) => Departure::Plain,
            (false, false) => {
                let mut lost = Lost::default();
                self.lose(place, &mut lost);
                Departure::Loss
            }
            (true, _) => {
                let in_flight = self.outstanding();
                self.expire();
                Departure::Timeout { in_flight }
            }
        }
    }

    /// Every packet in flight counts as lost.
    fn expire(&mut self) {
        let mut lost = Lost::default();
        for place in 0..self.packets.len() {
            if self.packets[place].state == State::InFlight {
                self.lose(place, &mut lost);
            }
        }
        self.lost_numbers.clear();
        self.reorder_at = Instant::MAX;
        self.episode = Episode::Timeout(self.next);
    }

    fn outstanding(&self) -> u64 {
        let open = self.packets.iter().filter(|one| one.state != State::Arrived);
        open.map(|one| one.end - one.begin).sum()
    }

    /// Data depart, in packets of a full size. `hear` gets each.
    pub(crate) fn sent(&mut self, now: Instant, begin: u64, end: u64, mut hear: impl FnMut(&Sent)) {
        if self.packets.is_empty() && self.number == 0 {
            (self.una, self.next, self.highest) = (begin, begin, begin);
        }
        let mut at = begin;
        while at < end {
            let to = (at + self.mss).min(end);
            let sent = self.send_one(now, at, to);
            hear(&sent);
            at = to;
        }
        (self.sent_at, self.touched_at) = (now, now);
    }

    fn send_one(&mut self, now: Instant, begin: u64, end: u64) -> Sent {
        let before = self.in_flight;
        let number = self.number;
        self.number += 1;
        let stamp = self.delivery.on_sent(now, self.una == self.next);
        let is_again = begin < self.next;
        if is_again {
            self.resend(now, begin, end, stamp);
        } else {
            let state = State::InFlight;
            let packet = Packet { begin, end, number, sent_at: now, state, is_again: false, stamp };
            self.packets.push_back(packet);
            self.in_flight += end - begin;
            self.next = end;
            self.order.push_back((number, begin));
        }
        let is_idle = before == 0 && number > 0;
        let idle = if is_idle { now.since(self.sent_at) } else { Duration::ZERO };
        Sent {
            number,
            bytes: Bytes(end - begin),
            in_flight_before: Bytes(before),
            retransmission: is_again,
            app_limited: false,
            idle,
            rto: if idle > Duration::ZERO { self.rto() } else { Duration::MAX },
        }
    }

    fn resend(&mut self, now: Instant, begin: u64, end: u64, stamp: Stamp) {
        let number = self.number - 1;
        let Some(first) = self.place(begin) else { return };
        for place in first..self.packets.len() {
            let packet = &mut self.packets[place];
            if packet.begin >= end {
                break;
            }
            if packet.state == State::Arrived {
                continue;
            }
            if packet.state == State::Lost {
                self.in_flight += packet.end - packet.begin;
            }
            (packet.state, packet.is_again) = (State::InFlight, true);
            (packet.number, packet.sent_at, packet.stamp) = (number, now, stamp);
            self.order.push_back((number, packet.begin));
        }
    }

    /// The packet that has the byte at `offset`.
    fn place(&self, offset: u64) -> Option<usize> {
        let after = self.packets.partition_point(|one| one.begin <= offset);
        after.checked_sub(1).filter(|place| self.packets[*place].end > offset)
    }

    fn lose(&mut self, place: usize, lost: &mut Lost) {
        let packet = &mut self.packets[place];
        packet.state = State::Lost;
        let len = packet.end - packet.begin;
        self.in_flight -= len;
        self.lost_end = self.lost_end.max(packet.end);
        lost.bytes += len;
        lost.packets += 1;
        self.lost_numbers.push(packet.number);
    }

    /// A packet arrives at the receiver.
    fn arrive(&mut self, place: usize, newly: &mut Newly) {
        let packet = &mut self.packets[place];
        if packet.state == State::Arrived {
            return;
        }
        let len = packet.end - packet.begin;
        if packet.state == State::InFlight {
            self.in_flight -= len;
            self.has_reordering |= !packet.is_again && packet.end < self.highest;
        }
        packet.state = State::Arrived;
        let packet = *packet;
        newly.bytes += len;
        newly.packets += 1;
        newly.has_again |= packet.is_again;
        if !packet.is_again {
            let oldest = newly.oldest_sent_at.unwrap_or(packet.sent_at);
            newly.oldest_sent_at = Some(oldest.min(packet.sent_at));
        }
        let Packet { number, sent_at, .. } = packet;
        if newly.newest.is_none_or(|newest| newest.number <= number) {
            let stamp = Some(packet.stamp);
            newly.newest = Some(Newest { number, sent_at, retransmitted: packet.is_again, stamp });
        }
        let bytes = Bytes(len);
        self.received.push(Received { number, sent_at, received_at: Instant::ZERO, bytes });
    }

    fn acknowledge(&mut self, report: &Report<'_>) -> Newly {
        let mut newly = Newly::default();
        self.received.clear();
        if report.cumulative > self.una {
            newly.advanced = true;
            self.una = report.cumulative;
        }
        while let Some(front) = self.packets.front().filter(|one| one.begin < self.una) {
            if front.end <= self.una {
                self.arrive(0, &mut newly);
                self.packets.pop_front();
                continue;
            }
            // A part of a packet arrived: the rest stays.
            let part = self.una - front.begin;
            let is_in_flight = front.state == State::InFlight;
            newly.bytes += part;
            self.in_flight -= if is_in_flight { part } else { 0 };
            self.packets[0].begin = self.una;
            break;
        }
        let before = self.highest;
        let una = self.una;
        for (begin, end) in report.blocks.iter().copied().filter(|one| one.0 >= una) {
            let known = self.blocks.iter().find(|old| old.0 <= begin && begin <= old.1);
            let from = known.map_or(begin, |old| old.1.max(begin));
            self.arrive_block(from, end, &mut newly);
        }
        self.highest = before.max(self.una);
        let ends = report.blocks.iter().map(|one| one.1);
        self.highest = ends.fold(self.highest, u64::max);
        self.blocks.clear();
        self.blocks.extend_from_slice(report.blocks);
        newly
    }

    fn arrive_block(&mut self, begin: u64, end: u64, newly: &mut Newly) {
        let first = self.packets.partition_point(|one| one.begin < begin);
        for place in first..self.packets.len() {
            if self.packets[place].end > end {
                break;
            }
            self.arrive(place, newly);
        }
    }

    fn measure(&mut self, now: Instant, newly: &Newly) -> Option<Duration> {
        let least = self.min_rtt;
        let sample = newly.newest.and_then(|newest| {
            let sample = now.since(newest.sent_at);
            (!newest.retransmitted || sample >= least).then_some(sample)
        });
        if let Some(sample) = sample {
            self.min_rtt = self.min_rtt.min(sample);
            self.rack_rtt = sample;
        }
        let smoothed = match newly.has_again {
            true => sample,
            false => newly.oldest_sent_at.map(|at| now.since(at)),
        };
        if let Some(sample) = smoothed {
            self.smooth(sample);
        }
        sample
    }

    /// RFC 6298 section 2.
    fn smooth(&mut self, sample: Duration) {
        if self.srtt == Duration::ZERO {
            (self.srtt, self.rttvar) = (sample, sample / 2);
            return;
        }
        let deviation = Duration(self.srtt.0.abs_diff(sample.0));
        self.rttvar = Duration((3 * self.rttvar.0 + deviation.0) / 4);
        self.srtt = Duration((7 * self.srtt.0 + sample.0) / 8);
    }

    /// RFC 8985 section 6.2, step 5.
    fn detect(&mut self, now: Instant) -> Lost {
        let mut lost = Lost::default();
        self.reorder_at = Instant::MAX;
        let Some(newest) = self.newest else { return lost };
        let is_eager = matches!(self.episode, Episode::Loss(_) | Episode::Timeout(_))
            || self.arrived_beyond() >= DUPLICATES;
        let window = match !self.has_reordering && is_eager {
            true => Duration::ZERO,
            false => (self.min_rtt / 4).min(self.srtt),
        };
        while let Some(&(number, begin)) = self.order.front() {
            let place = self.place(begin).filter(|place| {
                let packet = &self.packets[*place];
                packet.number == number && packet.state == State::InFlight
            });
            let Some(place) = place else {
                self.order.pop_front();
                continue;
            };
            if number >= newest {
                break;
            }
            let due = self.packets[place].sent_at + self.rack_rtt + window;
            if due > now {
                self.reorder_at = due;
                break;
            }
            self.lose(place, &mut lost);
            self.order.pop_front();
        }
        lost
    }

    /// Packets that arrived beyond the first gap, up to the threshold.
    fn arrived_beyond(&self) -> u64 {
        let bytes: u64 = self.blocks.iter().filter(|b| b.0 >= self.una).map(|b| b.1 - b.0).sum();
        bytes.div_ceil(self.mss.max(1))
    }

    fn begin_loss(&mut self, now: Instant, lost: &Lost) -> bool {
        let before = self.episode;
        // Packets sent and lost during a recovery that has just ended are losses of another window
        // (RFC 5681 section 4.3).
        let has_left = before == Episode::None && self.lost_end > self.una;
        if lost.packets == 0 && !has_left {
            return false;
        }
        match before {
            Episode::Loss(_) | Episode::Timeout(_) => return false,
            Episode::Mark(_) if !self.counts_marks => {
                self.episode = Episode::Loss(self.next);
                return false;
            }
            Episode::None | Episode::Mark(_) => self.episode = Episode::Loss(self.next),
        }
        self.loss_at = now;
        true
    }

    fn end_episode(&mut self, newly: &Newly) {
        let (Episode::Mark(until) | Episode::Loss(until) | Episode::Timeout(until)) = self.episode
        else {
            return;
        };
        if newly.packets > 0 && self.una >= until {
            self.episode = Episode::None;
        }
    }

    /// RFC 5681 section 4.2: see `longest_ack_delay` of the transport.
    fn ack_delay(&self, newly: &Newly, report: &Report<'_>) -> Duration {
        let Some(newest) = newly.newest else { return Duration::ZERO };
        let oldest = newly.oldest_sent_at.unwrap_or(newest.sent_at);
        let next = self.packets.front().map_or(self.touched_at, |one| one.sent_at);
        let is_full = newly.packets >= ACK_EVERY || !report.blocks.is_empty();
        if is_full || next.since(oldest) < ACK_DELAY {
            return Duration::ZERO;
        }
        ACK_DELAY.saturating_sub(newest.sent_at.since(oldest))
    }

    /// An acknowledgement arrives. `hear` gets the feedback.
    pub(crate) fn answer(
        &mut self,
        now: Instant,
        report: &Report<'_>,
        is_limited: bool,
        hear: impl FnOnce(&Feedback<'_>),
    ) {
        let before = self.in_flight;
        let newly = self.acknowledge(report);
        let rtt = self.measure(now, &newly);
        // A spurious repair, whose original arrived, has no round trip (RFC 8985 section 6.2, step 2).
        let rate = self.deliver(now, &newly, rtt.is_some());
        for one in &mut self.received {
            one.received_at = now;
        }
        self.received.sort_unstable_by_key(|one| one.number);
        self.end_episode(&newly);
        let lost = if newly.packets > 0 { self.detect(now) } else { Lost::default() };
        let loss_event = self.begin_loss(now, &lost);
        let ecn_event = report.is_marked && self.episode == Episode::None;
        if ecn_event {
            self.episode = Episode::Mark(self.next);
        }
        let ack_delay = self.ack_delay(&newly, report);
        hear(&Feedback {
            acked: Bytes(newly.bytes),
            acked_packets: newly.packets,
            lost: Bytes(lost.bytes),
            lost_packets: lost.packets,
            lost_numbers: &self.lost_numbers,
            ce_packets: report.marks.min(newly.packets.max(1)),
            ect0_packets: newly.packets.saturating_sub(report.marks),
            loss_event,
            ecn_event,
            is_duplicate: !newly.advanced,
            rtt,
            ack_delay,
            rate,
            in_flight_before: Bytes(before),
            cwnd_limited: is_limited,
            // Linux, `tcp_is_cwnd_limited`: in slow start.
            slow_start_to: Bytes(2 * before),
            received: &self.received,
            ..self.feedback()
        });
        self.lost_numbers.clear();
        self.touched_at = now;
    }

    fn deliver(&mut self, now: Instant, newly: &Newly, is_timed: bool) -> Option<RateSample> {
        if newly.packets == 0 {
            return None;
        }
        self.delivery.on_delivered(now, newly.bytes);
        let newest = newly.newest?;
        self.largest_acked = self.largest_acked.max(newest.number);
        self.newest = self.newest.max(Some(newest.number).filter(|_| is_timed));
        self.delivery.sample(&newest, self.min_rtt)
    }

    /// The timer of the loss detector, or a departure, shows losses.
    pub(crate) fn lose_late(&mut self, now: Instant, hear: impl FnOnce(&Feedback<'_>)) {
        let before = self.in_flight;
        let known = self.lost_numbers.len() as u64;
        let mut lost = self.detect(now);
        lost.packets += known;
        lost.bytes += known * self.mss;
        let loss_event = self.begin_loss(now, &lost);
        hear(&Feedback {
            lost: Bytes(lost.bytes),
            lost_packets: lost.packets,
            lost_numbers: &self.lost_numbers,
            loss_event,
            in_flight_before: Bytes(before),
            ..self.feedback()
        });
        self.lost_numbers.clear();
    }

    fn feedback(&self) -> Feedback<'static> {
        Feedback {
            in_recovery: matches!(self.episode, Episode::Mark(_) | Episode::Loss(_)),
            after_timeout: matches!(self.episode, Episode::Timeout(_)),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            delivered: Bytes(self.delivery.delivered),
            in_flight_before: Bytes(self.in_flight),
            in_flight: Bytes(self.in_flight),
            cwnd_limited: true,
            largest_acked: self.largest_acked,
            next_number: self.number,
            ..Feedback::default()
        }
    }
}
