//! Transmission of packets.

use sojourn_cc::{Controller, EcnUse, Pacing, Sent};
use sojourn_units::{Bytes, Duration, Ecn, Instant};

use super::{Poll, Sender};
use crate::config::Profile;
use crate::recovery::Episode;
use crate::scoreboard::Segment;
use crate::wire::Data;

impl<C: Controller> Sender<C> {
    /// The packet to send now, if one may leave. Call it until it returns no packet.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Poll {
        if self.is_plain() { self.poll::<true>(now) } else { self.poll_apart(now) }
    }

    /// Whether the fast path applies: only data and window decide.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.is_simple
            && self.probes == 0
            && matches!(self.episode, Episode::None)
            && matches!(self.limits.pacing, Pacing::Unpaced)
            && self.scoreboard.is_untroubled()
    }

    #[inline(never)]
    fn poll_apart(&mut self, now: Instant) -> Poll {
        self.poll::<false>(now)
    }

    /// `PLAIN`: skip the checks that [`Sender::is_plain`] has ruled out.
    #[inline(always)]
    fn poll<const PLAIN: bool>(&mut self, now: Instant) -> Poll {
        let lost = if PLAIN { None } else { self.next_lost() };
        let len = match lost {
            Some((_, len)) => u64::from(len),
            None if !PLAIN && self.awaits_f_rto() => 0,
            None => self.new_data(),
        };
        if len == 0 {
            return self.nothing_to_send();
        }
        if (PLAIN || self.probes == 0)
            && let Some(hindrance) = self.hindrance::<PLAIN>(now, len)
        {
            return hindrance;
        }
        if !PLAIN {
            self.probes = self.probes.saturating_sub(1);
        }
        Poll::Packet(self.transmit::<PLAIN>(now, lost.map(|(place, _)| place), len))
    }

    /// The segment to retransmit now, if any.
    #[inline]
    fn next_lost(&mut self) -> Option<(u64, u32)> {
        match self.f_rto_new_data() {
            Some(left) if left == 0 || self.new_data() > 0 => None,
            _ => self.scoreboard.next_lost(),
        }
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

    /// The reason why `len` bytes may not leave now.
    #[inline(always)]
    fn hindrance<const PLAIN: bool>(&mut self, now: Instant, len: u64) -> Option<Poll> {
        let cwnd = if PLAIN { self.limits.cwnd.0 } else { self.cwnd().0 };
        let in_flight = self.scoreboard.in_flight;
        // One packet may always be in flight: a sender with a window of less than one packet would
        // otherwise wait for ever (RFC 5681 section 3.1 has no such window). Only a window of zero
        // forbids it.
        if in_flight + len > cwnd && (in_flight > 0 || cwnd == 0) {
            self.limited[0] = true;
            self.tso.end();
            return Some(Poll::Blocked);
        }
        if PLAIN {
            return None;
        }
        if self.tso.is_under_way() {
            return None;
        }
        let next = self.pacer.next();
        if next <= now {
            return self.begin_burst(now);
        }
        self.limited[0] |= self.would_fill_window();
        Some(if next < Instant::MAX { Poll::Wait(next) } else { Poll::Blocked })
    }

    /// Whether only this transport's pacing keeps the sender from filling its window. Such a sender
    /// is not application-limited (RFC 9002 section 7.8). A controller that paces itself gives a
    /// rate.
    fn would_fill_window(&self) -> bool {
        let waiting = self.scoreboard.lost_bytes() + (self.written - self.offset);
        self.limits.pacing == Pacing::Unpaced
            && self.scoreboard.in_flight.saturating_add(waiting) >= self.limits.cwnd.0
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

    fn nothing_to_send(&mut self) -> Poll {
        self.probes = 0;
        self.tso.end();
        let waits = self.waiting.is_some();
        if !waits && self.written == self.offset && self.scoreboard.in_flight < self.cwnd().0 {
            self.delivery.on_app_limited(self.scoreboard.in_flight);
        }
        Poll::Blocked
    }

    #[inline(always)]
    fn transmit<const PLAIN: bool>(&mut self, now: Instant, lost: Option<u64>, len: u64) -> Data {
        let in_flight_before = self.scoreboard.in_flight;
        // RFC 5681 section 4.1: idle time counts from the last data sent.
        let is_idle = in_flight_before == 0 && self.next_number > 0;
        let idle = if is_idle { now.since(self.sent_at) } else { Duration::ZERO };
        let is_first = self.scoreboard.is_empty();
        let stamp =
            (!PLAIN && self.needs.rate_samples).then(|| self.delivery.on_sent(now, is_first));
        let number = self.next_number;
        let segment = lost.unwrap_or(self.scoreboard.next());
        if lost.is_some() {
            self.scoreboard.resend(segment, number, now, stamp);
        } else {
            self.scoreboard.push(Segment::new(self.offset, len as u32, number, now), stamp);
            self.offset += len;
            if !PLAIN && let Episode::Timeout(timeout) = &mut self.episode {
                timeout.f_rto.on_new_data();
            }
        }
        // RFC 6298 section 5.1 starts the timer if it does not run. RFC 6675 section 6 restarts it
        // with every retransmission in a recovery, so that it does not expire while repairs make
        // progress.
        if in_flight_before == 0 || lost.is_some() {
            self.progress_at = now;
        }
        self.next_number += 1;
        self.stats.sent += 1;
        if !PLAIN {
            self.tso.on_sent();
        }
        self.stats.retransmitted += u64::from(lost.is_some());
        (self.sent_at, self.touched_at) = (now, now);
        if !PLAIN && let Some(prr) = self.episode.prr() {
            prr.on_sent(len);
        }
        if (!PLAIN && self.needs.every_packet) || is_idle {
            let marks = (lost.is_some(), stamp.is_some_and(|stamp| stamp.app_limited > 0));
            self.tell_of(now, number, len, marks, (in_flight_before, idle));
        }
        // A controller may start to pace after an idle period.
        if (!PLAIN || is_idle) && (self.limits.pacing != Pacing::Unpaced || self.config.pacing) {
            self.pace(now, Bytes(len));
        }
        let cwr = self.cwr && lost.is_none();
        self.cwr &= !cwr;
        Data { number, segment, len: len as u32, ecn: self.codepoint(lost), cwr }
    }

    /// Reports a departing packet to the controller. `marks`: whether it is a retransmission, and
    /// whether it is application-limited. `before`: bytes in flight, and the idle time.
    fn tell_of(
        &mut self,
        now: Instant,
        number: u64,
        len: u64,
        marks: (bool, bool),
        before: (u64, Duration),
    ) {
        let sent = Sent {
            number,
            bytes: Bytes(len),
            in_flight_before: Bytes(before.0),
            retransmission: marks.0,
            app_limited: marks.1,
            idle: before.1,
            rto: if before.1 > Duration::ZERO { self.rtt.rto() } else { Duration::MAX },
        };
        self.controller.on_sent(now, &sent);
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
