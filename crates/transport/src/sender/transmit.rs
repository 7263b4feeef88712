//! Transmission of packets.
//!
//! Deviation (RFC 9293 section 3.7.4): the sender does not implement the Nagle algorithm.

use sojourn_cc::{Controller, EcnUse, Pacing, Sent};
use sojourn_units::{Bytes, Duration, Ecn, Instant};

use super::{Poll, Sender};
use crate::choices::Profile;
use crate::delivery::Stamp;
use crate::recovery::Episode;
use crate::scoreboard::Segment;
use crate::wire::Data;

impl<C: Controller> Sender<C> {
    /// The packet to send now, if one may leave. Call it until it returns no packet.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Poll {
        if self.has_only_new_data() {
            return self.poll_fast_path(now);
        }
        let poll =
            if self.goes_on_with_burst() { self.poll_burst(now) } else { self.poll_slow_path(now) };
        let has_left = matches!(poll, Poll::Packet(_));
        if !has_left {
            self.end_batch(now);
        }
        self.is_unvalidated |= has_left && self.validation.is_some();
        poll
    }

    /// Whether only the window limits the next packet of a burst.
    #[inline(always)]
    fn goes_on_with_burst(&self) -> bool {
        self.tso.is_under_way()
            && !(self.has_observers || self.needs.rate_samples || self.config.pacing)
            && self.probes == 0
            && matches!(self.episode, Episode::None)
            && matches!(self.limits.pacing, Pacing::Unpaced)
            && !self.scoreboard.has_repairs()
    }

    #[inline(always)]
    fn poll_burst(&mut self, now: Instant) -> Poll {
        let len = self.new_data();
        if len == 0 {
            return self.nothing_to_send(now);
        }
        if self.is_blocked_by_window(now, self.limits.cwnd, len) {
            return Poll::Blocked;
        }
        let mut data = self.transmit(now, None, len, None);
        data.is_burst_end = self.tso.on_sent();
        Poll::Packet(data)
    }

    /// Whether the fast path applies: only new data may leave, and only the window limits it.
    #[inline(always)]
    fn has_only_new_data(&self) -> bool {
        self.is_simple
            && self.probes == 0
            && matches!(self.episode, Episode::None)
            && matches!(self.limits.pacing, Pacing::Unpaced)
            && !self.scoreboard.has_repairs()
    }

    #[inline(always)]
    fn poll_fast_path(&mut self, now: Instant) -> Poll {
        let len = self.new_data();
        if len == 0 {
            return self.nothing_to_send(now);
        }
        if self.is_blocked_by_window(now, self.limits.cwnd, len) {
            return Poll::Blocked;
        }
        Poll::Packet(self.transmit(now, None, len, None))
    }

    /// Retransmissions, probes, pacing and bursts. A separate function lets the fast path keep its
    /// values in registers.
    #[inline(never)]
    fn poll_slow_path(&mut self, now: Instant) -> Poll {
        let lost = self.next_lost();
        let len = match lost {
            Some((_, len)) => u64::from(len),
            None if self.awaits_f_rto() => 0,
            None => self.new_data(),
        };
        if len == 0 {
            return self.nothing_to_send(now);
        }
        if self.probes == 0
            && let Some(hindrance) = self.hindrance(now, len)
        {
            return hindrance;
        }
        let is_probe = self.probes > 0;
        self.probes = self.probes.saturating_sub(1);
        let is_first = self.scoreboard.is_empty();
        let stamp = self.needs.rate_samples.then(|| self.delivery.on_sent(now, is_first));
        let mut data = self.transmit(now, lost.map(|(place, _)| place), len, stamp);
        data.is_burst_end = self.tso.on_sent();
        if let Some(prr) = self.episode.prr() {
            prr.on_sent(len);
        }
        if let (None, Episode::Timeout(timeout)) = (lost, &mut self.episode) {
            timeout.f_rto.on_new_data();
        }
        if self.has_observers {
            self.observe_sent(&data, is_probe, lost.is_some());
        }
        Poll::Packet(data)
    }

    #[inline(never)]
    fn observe_sent(&mut self, data: &Data, is_probe: bool, is_resent: bool) {
        self.note_ecn_sent(data);
        self.validate_use(is_resent.then_some((data.segment, u64::from(data.len))));
        if let Some(requester) = &mut self.requester {
            requester.on_sent(data.number, is_probe);
            self.config.ack_delay = requester.max_ack_delay();
        }
    }

    /// The segment to retransmit now, if any. F-RTO holds all retransmissions until step 3 decides;
    /// it enters that step only with new data to send.
    #[inline]
    fn next_lost(&mut self) -> Option<(u64, u32)> {
        if self.f_rto_new_data().is_some() { None } else { self.scoreboard.next_lost() }
    }

    fn f_rto_new_data(&self) -> Option<u8> {
        match self.episode {
            Episode::Timeout(timeout) => timeout.f_rto.new_data_left(),
            _ => None,
        }
    }

    /// Whether F-RTO holds all packets until the next acknowledgement.
    fn awaits_f_rto(&self) -> bool {
        self.f_rto_new_data() == Some(0)
    }

    /// Whether the window `cwnd` has no room for `len` bytes; if so, records that it limits the
    /// sender.
    ///
    /// Deviation (RFC 5681 section 3.1): one packet may always be in flight, unless the window is
    /// zero. A sender with a window of less than one packet, which the RFC does not have, would
    /// otherwise wait for ever.
    #[inline(always)]
    fn is_blocked_by_window(&mut self, now: Instant, cwnd: Bytes, len: u64) -> bool {
        let in_flight = self.scoreboard.in_flight;
        let is_full = in_flight + len > cwnd.0 && (in_flight > 0 || cwnd == Bytes::ZERO);
        if is_full {
            if self.closed_since < Instant::MAX {
                self.count_closed(now);
            }
            self.usage.fill(self.next_number);
            self.tso.end();
            self.pacer.note_wait(false);
        }
        is_full
    }

    /// The reason why `len` bytes may not leave now.
    fn hindrance(&mut self, now: Instant, len: u64) -> Option<Poll> {
        if self.is_blocked_by_window(now, self.cwnd(), len) {
            return Some(Poll::Blocked);
        }
        if self.tso.is_under_way() {
            return None;
        }
        let next = self.pacer.next();
        if next <= now {
            return self.begin_burst(now);
        }
        if self.would_fill_window() {
            self.usage.hold(self.next_number);
        }
        self.count_closed(now);
        self.note_use();
        self.pacer.note_wait(true);
        Some(if next < Instant::MAX { Poll::Wait(next) } else { Poll::Blocked })
    }

    /// Packets may have left, and something else than the window stops the sender.
    pub(super) fn note_use(&mut self) {
        // A full window limits the sender without more data too (RFC 9002 section 7.8; Linux,
        // `tcp_write_xmit`).
        if self.has_full_window() {
            self.usage.fill(self.next_number);
        } else if self.config.profile == Profile::Tcp {
            let flight = self.scoreboard.outstanding();
            self.usage.leave_room(self.largest_acked, self.next_number, flight);
        }
    }

    /// Whether only pacing keeps the sender from filling its window. Such a sender does not
    /// underutilize the window (RFC 9002 section 7.8).
    fn would_fill_window(&self) -> bool {
        let new = (self.written - self.offset).min(self.receive_room());
        let waiting = self.scoreboard.lost_bytes().saturating_add(new);
        self.fills_window(self.scoreboard.in_flight.saturating_add(waiting))
    }

    /// Whether the data in flight leave no room for a full packet in the window. A window below one
    /// packet is full with any.
    pub(super) fn has_full_window(&self) -> bool {
        self.scoreboard.in_flight > 0 && self.fills_window(self.scoreboard.in_flight)
    }

    fn fills_window(&self, flight: u64) -> bool {
        flight.saturating_add(self.config.mss.0) > self.cwnd().0
    }

    /// Length of the next new packet, limited by data and receive window.
    #[inline]
    pub(super) fn new_data(&self) -> u64 {
        let len = self.config.mss.0.min(self.written - self.offset);
        let Some(window) = self.config.receive_window else { return len };
        let base = self.scoreboard.base_offset().unwrap_or(self.offset);
        let open = window.0.saturating_sub(self.offset - base);
        // RFC 9293 section 3.8.6.2.1: avoid silly windows, unless no data is outstanding whose
        // acknowledgement could open the window.
        if len <= open || base == self.offset { len.min(open) } else { 0 }
    }

    fn nothing_to_send(&mut self, now: Instant) -> Poll {
        self.note_receive_window(now);
        self.probes = 0;
        self.tso.end();
        self.pacer.note_wait(false);
        self.note_use();
        // The handshake holds new data, and F-RTO lost segments.
        let is_held = self.waiting.is_some() || self.scoreboard.lost_bytes() > 0;
        if !is_held && self.written == self.offset && self.scoreboard.in_flight < self.cwnd().0 {
            self.delivery.on_app_limited(self.scoreboard.in_flight);
        }
        Poll::Blocked
    }

    /// Notes whether the receive window alone keeps data from leaving.
    fn note_receive_window(&mut self, now: Instant) {
        self.count_closed(now);
        let has_data = self.written > self.offset && self.waiting.is_none();
        if has_data && self.new_data() == 0 && !self.has_full_window() {
            self.closed_since = now;
        }
    }

    /// Counts the time since when it does.
    fn count_closed(&mut self, now: Instant) {
        let since = std::mem::replace(&mut self.closed_since, Instant::MAX);
        self.rwnd_limited += now.since(since);
    }

    /// Sends segment `lost` again, or `len` bytes of new data. `stamp`: for a rate sample.
    #[inline(always)]
    fn transmit(
        &mut self,
        now: Instant,
        lost: Option<u64>,
        len: u64,
        stamp: Option<Stamp>,
    ) -> Data {
        let in_flight_before = self.scoreboard.in_flight;
        // RFC 5681 section 4.1: idle time counts from the last data sent.
        let is_idle = in_flight_before == 0 && self.next_number > 0;
        let idle = if is_idle { now.since(self.sent_at) } else { Duration::ZERO };
        let number = self.next_number;
        let segment = lost.unwrap_or(self.scoreboard.next());
        if lost.is_some() {
            self.scoreboard.resend(segment, number, now, stamp);
        } else {
            self.scoreboard.push(Segment::new(self.offset, len as u32, number, now), stamp);
            self.offset += len;
        }
        // RFC 6298 section 5.1 starts the timer if it does not run. RFC 6675 section 6 restarts it
        // with every retransmission in a recovery, so that it does not expire while repairs make
        // progress.
        if in_flight_before == 0 || lost.is_some() {
            self.progress_at = now;
        }
        self.next_number += 1;
        self.stats.sent += 1;
        self.stats.retransmitted += u64::from(lost.is_some());
        (self.sent_at, self.touched_at) = (now, now);
        if self.needs.every_packet || is_idle {
            let sent = Sent {
                number,
                bytes: Bytes(len),
                in_flight_before: Bytes(in_flight_before),
                retransmission: lost.is_some(),
                app_limited: stamp.is_some_and(|stamp| stamp.app_limited > 0),
                idle,
                rto: if idle > Duration::ZERO { self.idle_timeout() } else { Duration::MAX },
            };
            self.report_sent(now, &sent);
        }
        if self.limits.pacing != Pacing::Unpaced || self.config.pacing {
            self.pace(now, Bytes(len));
        }
        let ecn = self.codepoint(lost);
        // RFC 3168 section 6.1.2: in the first new packet of a sender that uses ECN.
        let cwr = self.cwr && lost.is_none() && ecn != Ecn::NotEct;
        self.cwr &= !cwr;
        Data { number, segment, len: len as u32, ecn, cwr, is_burst_end: false }
    }

    /// The timeout whose expiry makes a sender idle (RFC 5681 section 4.1). QUIC's allows for a delayed
    /// acknowledgement (RFC 9002 section 6.2.1): its smoothed round-trip time has no such delay, and a
    /// sender with one packet in flight would be idle at each acknowledgement.
    fn idle_timeout(&self) -> Duration {
        match self.config.profile {
            Profile::Tcp => self.rtt.rto(),
            Profile::Quic => self.rtt.pto(self.config.ack_delay),
        }
    }

    #[inline(never)]
    fn report_sent(&mut self, now: Instant, sent: &Sent) {
        if self.validation.is_some() {
            return self.report_sent_validated(now, sent);
        }
        self.controller.on_sent(now, sent);
        self.limits = self.controller.limits();
    }

    /// ECN field of a data packet. Retransmissions of a classic TCP are not ECN-capable (RFC 3168
    /// section 6.1.5).
    fn codepoint(&self, lost: Option<u64>) -> Ecn {
        match self.needs.ecn {
            EcnUse::Classic if lost.is_some() && self.config.profile == Profile::Tcp => Ecn::NotEct,
            _ => self.codepoint,
        }
    }

    fn pace(&mut self, now: Instant, len: Bytes) {
        // The pacer's schedule stays valid even if the controller stops pacing.
        self.is_simple = false;
        if self.next_number < self.unpaced && !matches!(self.limits.pacing, Pacing::Gap(_)) {
            return;
        }
        // RFC 9002 section 7.7: bursts of at most the initial window.
        //
        // Deviation (Linux): after a pause, a paced sender with `tso` may catch up by as much as
        // without it, rounded up to whole bursts; Linux by half a burst.
        let burst = match self.limits.pacing {
            Pacing::Gap(gap) => return self.pacer.sent_with_gap(now, gap),
            Pacing::Rate(_) => self.limits.burst,
            Pacing::Unpaced => self.config.mss * 10,
        };
        if let Some(rate) = self.pacing_rate() {
            self.pacer.sent_at_rate(now, len, rate, burst);
        }
    }
}
