//! The sending end.

use sojourn_cc::{Controller, EcnUse, Feedback, Limits, Needs, Pacing, Received, Sent, Signal};
use sojourn_units::{Bytes, Duration, Ecn, Instant};

use crate::config::{Config, Profile};
use crate::delivery::Delivery;
use crate::loss::Detector;
use crate::pacer::Pacer;
use crate::prr::Prr;
use crate::recovery::Episode;
use crate::rtt::Rtt;
use crate::scoreboard::{Lost, Newly, Scoreboard, Segment};
use crate::wire::{Ack, Data, EcnCounts};

/// What the sender wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// To send this packet now.
    Packet(Data),
    /// To send at this time, when the pacer lets it.
    Wait(Instant),
    /// Nothing, until an acknowledgement, a timer or the application.
    Blocked,
}

/// What a sender has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Packets deemed lost.
    pub lost: u64,
    /// Retransmission timeouts; probe timeouts for QUIC.
    pub timeouts: u64,
}

/// Sends a stream of bytes under a congestion controller.
#[derive(Debug)]
pub struct Sender<C> {
    config: Config,
    needs: Needs,
    controller: C,
    limits: Limits,
    scoreboard: Scoreboard,
    detector: Detector,
    delivery: Delivery,
    rtt: Rtt,
    pacer: Pacer,
    episode: Episode,
    /// Bytes that the application has written, and that were sent.
    written: u64,
    offset: u64,
    next_number: u64,
    largest_acked: u64,
    counts: EcnCounts,
    /// CWR is due on the next new data (RFC 3168 section 6.1.2).
    cwr: bool,
    /// The window has limited the sender: in this round trip, and in the last.
    limited: [bool; 2],
    limited_until: u64,
    /// When the loss detector wants to look again.
    reorder_at: Instant,
    /// Last time that the timer of RTO or PTO started anew.
    progress_at: Instant,
    /// Last time that anything was sent.
    sent_at: Instant,
    backoff: u32,
    /// A tail loss probe is out.
    probing: bool,
    /// Packets that may leave whatever the window says.
    probes: u32,
    stats: Stats,
    /// Losses that a timeout found, told with the next feedback.
    untold: (u64, u64),
    received: Vec<Received>,
    delivered_now: Vec<(u64, Instant, u32)>,
}

impl<C: Controller> Sender<C> {
    /// A sender that has sent nothing.
    pub fn new(config: Config, needs: Needs, controller: C) -> Sender<C> {
        let limits = controller.limits();
        Sender {
            needs,
            limits,
            controller,
            scoreboard: Scoreboard::default(),
            detector: Detector::new(config.profile),
            delivery: Delivery::default(),
            rtt: Rtt::new(config.profile, config.min_rto),
            pacer: Pacer::default(),
            episode: Episode::None,
            written: 0,
            offset: 0,
            next_number: 0,
            largest_acked: 0,
            counts: EcnCounts::default(),
            cwr: false,
            limited: [false; 2],
            limited_until: 0,
            reorder_at: Instant::MAX,
            progress_at: Instant::ZERO,
            sent_at: Instant::ZERO,
            backoff: 0,
            probing: false,
            probes: 0,
            stats: Stats::default(),
            untold: (0, 0),
            received: Vec::new(),
            delivered_now: Vec::new(),
            config,
        }
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// The application will write no more than it has sent so far.
    pub fn stop(&mut self) {
        self.written = self.offset;
    }

    /// The packet to send now, if one may leave. Call again until it gives none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Poll {
        let lost = self.scoreboard.next_lost();
        let len = match lost {
            Some((_, len)) => u64::from(len),
            None => self.new_data(),
        };
        if len == 0 {
            return self.nothing_to_send();
        }
        if self.probes == 0 {
            if self.scoreboard.in_flight + len > self.cwnd().0 {
                self.limited[0] = true;
                return Poll::Blocked;
            }
            if self.pacer.next() > now {
                return Poll::Wait(self.pacer.next());
            }
        }
        self.probes = self.probes.saturating_sub(1);
        Poll::Packet(self.transmit(now, lost.map(|(place, _)| place), len))
    }

    /// Length of the next new packet, as far as data and receive window allow.
    #[inline]
    fn new_data(&self) -> u64 {
        let len = self.config.mss.0.min(self.written - self.offset);
        let base = self.scoreboard.base_offset().unwrap_or(self.offset);
        let open = self.config.receive_window.0.saturating_sub(self.offset - base);
        if len <= open { len } else { 0 }
    }

    fn nothing_to_send(&mut self) -> Poll {
        if self.written == self.offset && self.scoreboard.in_flight < self.limits.cwnd.0 {
            self.delivery.on_app_limited(self.scoreboard.in_flight);
        }
        Poll::Blocked
    }

    fn transmit(&mut self, now: Instant, lost: Option<u64>, len: u64) -> Data {
        let in_flight_before = self.scoreboard.in_flight;
        let idle = if in_flight_before == 0 && self.next_number > 0 {
            now.since(self.sent_at.max(self.progress_at))
        } else {
            Duration::ZERO
        };
        let stamp = self.delivery.on_sent(now, in_flight_before);
        let number = self.next_number;
        let (segment, place) = match lost {
            Some(place) => (self.scoreboard.resend(place, number, now, &stamp), place),
            None => {
                let segment = Segment::new(self.offset, len as u32, number, now, &stamp);
                let place = self.scoreboard.next();
                self.scoreboard.push(segment);
                self.offset += len;
                (segment, place)
            }
        };
        if in_flight_before == 0 {
            self.progress_at = now;
        }
        self.next_number += 1;
        self.stats.sent += 1;
        self.stats.retransmitted += u64::from(lost.is_some());
        self.sent_at = now;
        if let Some(prr) = self.episode.prr() {
            prr.on_sent(len);
        }
        let sent = Sent {
            number,
            bytes: Bytes(len),
            in_flight_before: Bytes(in_flight_before),
            retransmission: lost.is_some(),
            idle,
            rto: if idle > Duration::ZERO { self.rtt.rto() } else { Duration::MAX },
        };
        self.controller.on_sent(now, &sent);
        self.limits = self.controller.limits();
        self.pace(now, Bytes(len));
        let cwr = self.cwr && lost.is_none();
        self.cwr &= !cwr;
        Data {
            number,
            segment: place,
            offset: segment.offset,
            len: len as u32,
            ecn: self.codepoint(lost),
            cwr,
        }
    }

    /// ECN field of a data packet. A classic TCP's retransmissions are not
    /// ECN-capable (RFC 3168 section 6.1.5).
    fn codepoint(&self, lost: Option<u64>) -> Ecn {
        match self.needs.ecn {
            _ if !self.config.ecn => Ecn::NotEct,
            EcnUse::Classic if lost.is_some() && self.config.profile == Profile::Tcp => Ecn::NotEct,
            used => used.codepoint(),
        }
    }

    /// A sender whose controller does not pace may still be paced, a quarter
    /// faster than its window a round trip (RFC 9002 section 7.7).
    fn pace(&mut self, now: Instant, len: Bytes) {
        match self.limits.pacing {
            Pacing::Rate(rate) => self.pacer.sent_at_rate(now, len, rate, self.limits.burst),
            Pacing::Gap(gap) => self.pacer.sent_with_gap(now, gap),
            Pacing::Unpaced if self.config.pacing && self.rtt.srtt > Duration::ZERO => {
                let cwnd = self.limits.cwnd;
                let rate = sojourn_units::Rate::from_transfer(cwnd + cwnd / 4, self.rtt.srtt);
                // RFC 9002 section 7.7: bursts of at most the initial window.
                self.pacer.sent_at_rate(now, len, rate, self.config.mss * 10);
            }
            Pacing::Unpaced => {}
        }
    }

    /// The window for now: the controller's, or what PRR makes of it.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        match &self.episode {
            Episode::Ecn { prr: Some(prr), .. } | Episode::Loss { prr: Some(prr), .. } => {
                prr.cwnd()
            }
            _ => self.limits.cwnd,
        }
    }

    /// An acknowledgement arrived. Returns the round-trip time that it gives.
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) -> Option<Duration> {
        let in_flight_before = self.scoreboard.in_flight;
        let outstanding = self.scoreboard.outstanding();
        let newly = self.take_in(ack);
        let rtt = self.measure(now, ack, &newly);
        let rate = self.deliver(now, &newly);
        if ack.duplicate {
            self.detector.on_duplicate();
        }
        self.end_episode(&newly);
        let lost = self.detect(now, &newly);
        let (loss_event, reduces) = self.begin_loss_episode(&lost);
        let ce = self.count_ecn(ack);
        let ecn_event = self.begin_ecn_episode(ce.ce > 0, ack.ece);
        self.turn_round();
        let persistent = self.is_persistent(&lost);
        let untold = std::mem::take(&mut self.untold);
        let received = std::mem::take(&mut self.received);
        let feedback = Feedback {
            acked: Bytes(newly.bytes),
            acked_packets: newly.packets,
            lost: Bytes(lost.bytes + untold.0),
            lost_packets: lost.packets + untold.1,
            ce_packets: if self.needs.ecn == EcnUse::Classic { 0 } else { ce.ce },
            ect0_packets: ce.ect0,
            ect1_packets: ce.ect1,
            loss_event,
            ecn_event,
            rtt,
            rate,
            in_flight_before: Bytes(in_flight_before),
            received: &received,
            ..self.feedback()
        };
        self.controller.on_feedback(now, &feedback);
        self.received = received;
        if persistent {
            self.controller.on_timeout(now, Bytes(in_flight_before));
        }
        self.refresh(now);
        if reduces || ecn_event {
            self.begin_prr(outstanding);
        }
        self.advance_prr(&newly, &lost);
        if newly.packets > 0 {
            (self.backoff, self.probing, self.progress_at) = (0, false, now);
        }
        rtt
    }

    fn take_in(&mut self, ack: &Ack) -> Newly {
        self.received.clear();
        if !self.needs.receive_times {
            return self.scoreboard.acknowledge(ack, &mut |_| {});
        }
        let delivered = &mut self.delivered_now;
        delivered.clear();
        let newly = self.scoreboard.acknowledge(ack, &mut |s| {
            delivered.push((s.number, s.sent_at, s.len));
        });
        delivered.sort_unstable();
        let times = ack.received.iter().filter_map(|&(number, received_at)| {
            let found = delivered.binary_search_by_key(&number, |d| d.0).ok()?;
            let (_, sent_at, len) = delivered[found];
            Some(Received { number, sent_at, received_at, bytes: Bytes(u64::from(len)) })
        });
        self.received.extend(times);
        self.received.sort_unstable_by_key(|r| r.number);
        newly
    }

    /// Round-trip times; the one that the controller sees is of the newest
    /// packet, the smoothed one of the oldest (RFC 7323 section 4.3), which
    /// has the receiver's delay in it.
    fn measure(&mut self, now: Instant, ack: &Ack, newly: &Newly) -> Option<Duration> {
        let newest = newly.newest?;
        self.largest_acked = self.largest_acked.max(newest.number);
        let sample = now.since(newest.sent_at);
        if newest.retransmitted && sample < self.rtt.min {
            return None;
        }
        self.rtt.observe(sample);
        let smoothed = match self.config.profile {
            Profile::Tcp => newly.oldest_sent_at.map(|at| now.since(at)),
            Profile::Quic => (newest.number == ack.newest).then_some(sample),
        };
        if let Some(smoothed) = smoothed {
            self.rtt.smooth(now, smoothed, ack.delay.min(self.config.ack_delay));
        }
        Some(sample)
    }

    fn deliver(&mut self, now: Instant, newly: &Newly) -> Option<sojourn_cc::RateSample> {
        if newly.packets == 0 {
            return None;
        }
        self.delivery.on_delivered(now, newly.bytes);
        self.detector.on_delivered(now, newly, &self.rtt);
        let newest = newly.newest?;
        self.delivery.sample(&newest.stamp(), newest.sent_at, self.rtt.min)
    }

    fn detect(&mut self, now: Instant, newly: &Newly) -> Lost {
        // Nothing new was learned, and the timer has its own call.
        if newly.packets == 0 {
            return Lost::default();
        }
        let eager = matches!(self.episode, Episode::Loss { .. } | Episode::Timeout { .. })
            || self.scoreboard.sacked_segments() >= 3;
        self.detector.set_window(&self.rtt, eager);
        let (lost, next) = self.scoreboard.detect(now, &self.detector);
        self.reorder_at = next;
        self.stats.lost += lost.packets;
        lost
    }

    fn progress(&self) -> u64 {
        match self.config.profile {
            Profile::Tcp => self.scoreboard.base(),
            Profile::Quic => self.largest_acked,
        }
    }

    /// Where an episode that begins now will end.
    fn horizon(&self) -> u64 {
        match self.config.profile {
            Profile::Tcp => self.scoreboard.next(),
            Profile::Quic => self.next_number.saturating_sub(1),
        }
    }

    fn end_episode(&mut self, newly: &Newly) {
        if newly.packets > 0 && self.episode.ended_by(self.config.profile, self.progress()) {
            self.episode = Episode::None;
            self.detector.on_recovery_exit();
        }
    }

    /// Returns whether an episode of loss begins, and whether the window is to
    /// be reduced for it: not where a mark in the same round trip has already
    /// done so (Linux: CWR turns into recovery without another reduction).
    fn begin_loss_episode(&mut self, lost: &Lost) -> (bool, bool) {
        let profile = self.config.profile;
        let until = self.horizon();
        if lost.packets == 0 {
            return (false, false);
        }
        if let (Episode::Ecn { prr, .. }, Profile::Tcp) = (self.episode, profile) {
            self.episode = Episode::Loss { until, prr };
            return (false, false);
        }
        if !self.episode.is_outlived_by(profile, lost.newest) {
            return (false, false);
        }
        self.episode = Episode::Loss { until, prr: None };
        (true, true)
    }

    fn count_ecn(&mut self, ack: &Ack) -> EcnCounts {
        let new = EcnCounts {
            ect0: ack.counts.ect0.saturating_sub(self.counts.ect0),
            ect1: ack.counts.ect1.saturating_sub(self.counts.ect1),
            ce: ack.counts.ce.saturating_sub(self.counts.ce),
        };
        self.counts = EcnCounts {
            ect0: self.counts.ect0 + new.ect0,
            ect1: self.counts.ect1 + new.ect1,
            ce: self.counts.ce + new.ce,
        };
        new
    }

    /// A TCP whose controller uses classic ECN hears the echo flag, all others
    /// exact counts.
    fn begin_ecn_episode(&mut self, counted: bool, ece: bool) -> bool {
        let classic = self.needs.ecn == EcnUse::Classic && self.config.profile == Profile::Tcp;
        let heard = if classic { ece } else { counted };
        let uses = self.needs.ecn != EcnUse::None && self.config.ecn;
        if !heard || !uses || !matches!(self.episode, Episode::None) {
            return false;
        }
        self.episode = Episode::Ecn { until: self.horizon(), prr: None };
        self.cwr = true;
        true
    }

    /// Forgets after a round trip that the window was the limit.
    fn turn_round(&mut self) {
        if self.largest_acked >= self.limited_until {
            self.limited = [false, self.limited[0]];
            self.limited_until = self.next_number;
        }
    }

    /// RFC 9002 section 7.6: a run of packets, lost without one delivered
    /// between them, that spans three probe timeouts.
    fn is_persistent(&self, lost: &Lost) -> bool {
        let (Profile::Quic, Some((first, last))) = (self.config.profile, lost.sent) else {
            return false;
        };
        let contiguous = lost.newest - lost.oldest + 1 == lost.packets;
        let sampled = self.rtt.first_sample.is_some_and(|at| at <= first);
        contiguous && sampled && last.since(first) > self.rtt.pto(self.config.ack_delay) * 3
    }

    /// What every feedback says.
    fn feedback(&self) -> Feedback<'static> {
        Feedback {
            acked: Bytes::ZERO,
            acked_packets: 0,
            lost: Bytes::ZERO,
            lost_packets: 0,
            ce_packets: 0,
            ect0_packets: 0,
            ect1_packets: 0,
            loss_event: false,
            ecn_event: false,
            in_recovery: self.episode.holds(),
            after_timeout: matches!(self.episode, Episode::Timeout { .. }),
            rtt: None,
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min,
            rate: None,
            delivered: Bytes(self.delivery.delivered),
            in_flight_before: Bytes(self.scoreboard.in_flight),
            in_flight: Bytes(self.scoreboard.in_flight),
            cwnd_limited: self.limited[0] || self.limited[1],
            largest_acked: self.largest_acked,
            next_number: self.next_number,
            received: &[],
        }
    }

    fn refresh(&mut self, now: Instant) {
        self.limits = self.controller.limits();
        if let Pacing::Rate(rate) = self.limits.pacing {
            self.pacer.rate_rose(now, self.config.mss, rate);
        }
    }

    fn begin_prr(&mut self, outstanding: u64) {
        if self.needs.prr && self.config.profile == Profile::Tcp {
            self.episode.set_prr(Prr::new(self.limits.cwnd, outstanding));
        }
    }

    fn advance_prr(&mut self, newly: &Newly, lost: &Lost) {
        let (in_flight, mss) = (self.scoreboard.in_flight, self.config.mss.0);
        if let Some(prr) = self.episode.prr() {
            prr.on_ack(newly.bytes, in_flight, mss, newly.advanced && lost.packets == 0);
        }
    }

    /// When to call [`Sender::on_timer`]; [`Instant::MAX`] for never.
    #[inline]
    pub fn timer(&self) -> Instant {
        if self.scoreboard.is_empty() {
            return Instant::MAX;
        }
        let timeout = self.timeout_at();
        let probe = self.tail_probe_at().unwrap_or(Instant::MAX);
        self.reorder_at.min(timeout.min(probe))
    }

    /// When RTO or PTO expires.
    fn timeout_at(&self) -> Instant {
        let (base, span) = match self.config.profile {
            Profile::Tcp => (self.progress_at, self.rtt.rto()),
            // RFC 9002 section 6.2.1: from the last packet sent.
            Profile::Quic => (self.sent_at, self.rtt.pto(self.config.ack_delay)),
        };
        base + Duration(span.0.saturating_mul(1 << self.backoff.min(16)))
    }

    /// When a tail loss probe leaves (RFC 8985 section 7.2): only outside
    /// recovery, and one at a time.
    fn tail_probe_at(&self) -> Option<Instant> {
        let open = self.config.profile == Profile::Tcp
            && matches!(self.episode, Episode::None | Episode::Ecn { .. })
            && self.scoreboard.sacked_segments() == 0
            && !self.probing;
        let one = self.scoreboard.in_flight <= self.config.mss.0;
        open.then(|| self.sent_at.max(self.progress_at) + self.rtt.tlp(one, self.config.ack_delay))
    }

    /// The timer is due.
    pub fn on_timer(&mut self, now: Instant) {
        if self.scoreboard.is_empty() {
            return;
        }
        if self.reorder_at <= now {
            self.on_reorder_timer(now);
        } else if self.timeout_at() <= now {
            self.on_timeout(now);
        } else if self.tail_probe_at().is_some_and(|at| at <= now) {
            self.probing = true;
            self.progress_at = now;
            self.probe(1);
        }
    }

    fn on_reorder_timer(&mut self, now: Instant) {
        let (outstanding, in_flight_before) =
            (self.scoreboard.outstanding(), self.scoreboard.in_flight);
        let (lost, next) = self.scoreboard.detect(now, &self.detector);
        self.reorder_at = next;
        self.stats.lost += lost.packets;
        let (loss_event, reduces) = self.begin_loss_episode(&lost);
        let feedback = Feedback {
            lost: Bytes(lost.bytes),
            lost_packets: lost.packets,
            loss_event,
            in_flight_before: Bytes(in_flight_before),
            ..self.feedback()
        };
        self.controller.on_feedback(now, &feedback);
        self.refresh(now);
        if reduces {
            self.begin_prr(outstanding);
        }
        self.advance_prr(&Newly::default(), &lost);
    }

    fn on_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        self.backoff += 1;
        self.progress_at = now;
        match self.config.profile {
            Profile::Tcp => self.on_retransmission_timeout(now),
            // RFC 9002 section 6.2.4: two probes, and no change of the window.
            Profile::Quic => self.probe(2),
        }
    }

    /// RFC 6298 section 5.4 to 5.6 with RFC 8985 section 6.3.
    fn on_retransmission_timeout(&mut self, now: Instant) {
        let in_flight = Bytes(self.scoreboard.in_flight);
        let first = self.scoreboard.lose_first();
        self.detector.set_window(&self.rtt, true);
        let (lost, next) = self.scoreboard.detect(now, &self.detector);
        self.reorder_at = next;
        self.stats.lost += first.packets + lost.packets;
        self.untold.0 += first.bytes + lost.bytes;
        self.untold.1 += first.packets + lost.packets;
        self.episode = Episode::Timeout { until: self.horizon() };
        self.controller.on_timeout(now, in_flight);
        self.refresh(now);
        self.probes = 1;
    }

    /// Lets `count` packets leave whatever the window says: new data, or else
    /// what was sent last (TCP) or first (QUIC).
    fn probe(&mut self, count: u32) {
        self.probes = count;
        if self.scoreboard.next_lost().is_some() || self.new_data() > 0 {
            return;
        }
        let place = match self.config.profile {
            Profile::Tcp => self.scoreboard.last_in_flight(),
            Profile::Quic => self.scoreboard.first_in_flight(),
        };
        self.probes = 1;
        if let Some(place) = place {
            self.scoreboard.lose_again(place);
        }
    }

    /// The bottleneck itself says what this flow may send.
    pub fn on_signal(&mut self, now: Instant, signal: Signal) {
        self.controller.on_signal(now, signal);
        self.refresh(now);
    }

    /// The controller.
    pub fn controller(&self) -> &C {
        &self.controller
    }
    /// What the controller said last.
    pub fn limits(&self) -> Limits {
        self.limits
    }
    /// What was counted.
    pub fn stats(&self) -> Stats {
        self.stats
    }
    /// Bytes in flight.
    pub fn in_flight(&self) -> Bytes {
        Bytes(self.scoreboard.in_flight)
    }
    /// Smoothed, latest and least round-trip time; none before the first sample.
    pub fn rtts(&self) -> Option<(Duration, Duration, Duration)> {
        self.rtt.first_sample.map(|_| (self.rtt.srtt, self.rtt.latest, self.rtt.min))
    }
    /// Bytes delivered, as far as the sender knows.
    pub fn delivered(&self) -> Bytes {
        Bytes(self.delivery.delivered)
    }
    /// Whether all that was written was acknowledged.
    pub fn is_done(&self) -> bool {
        self.written == self.offset && self.scoreboard.is_empty()
    }
}
