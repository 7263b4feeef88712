//! The sender's timers: reordering, tail loss probe, RTO and PTO.

use sojourn_cc::{Controller, Feedback};
use sojourn_units::{Bytes, Duration, Instant};

use super::Sender;
use crate::choices::Profile;
use crate::f_rto::FRto;
use crate::newly::Newly;
use crate::recovery::{Episode, Timeout};
use crate::tail_probe::TailProbe;

/// RFC 9002 section 6.2.4: up to two packets as probes.
const PTO_PROBES: u32 = 2;

impl<C: Controller> Sender<C> {
    /// When to call [`Sender::on_timer`]; [`Instant::MAX`] for never.
    // `inline(always)`: the profiled simulation is a second caller.
    #[inline(always)]
    pub fn timer(&self) -> Instant {
        if self.scoreboard.is_empty() {
            return Instant::MAX;
        }
        // One timer at a time: the reordering timer suspends the others (RFC 8985 section 8, RFC
        // 9002 section 6.2.1).
        let due = match self.reorder_at {
            Instant::MAX => self.tail_probe_at().unwrap_or(self.timeout_at()),
            reorder_at => reorder_at,
        };
        due.max(self.touched_at)
    }

    /// Expiry of the RTO or PTO.
    fn timeout_at(&self) -> Instant {
        match self.config.profile {
            Profile::Tcp => self.progress_at + self.rtt.backed_off_rto(self.backoff),
            // RFC 9002 appendix A.8: the PTO runs from the last packet sent.
            Profile::Quic => {
                self.sent_at + self.rtt.backed_off_pto(self.backoff, self.config.ack_delay)
            }
        }
    }

    /// Departure of the tail loss probe, no later than the RTO that it replaces (RFC 8985 section
    /// 7.2). A probe leaves only outside recovery, without selective acknowledgements, and one at a
    /// time; and only if the receiver could send them (section 4).
    #[inline(always)]
    fn tail_probe_at(&self) -> Option<Instant> {
        let open = self.has_tail_probes
            && !self.episode.is_recovery()
            && self.scoreboard.sacked_segments() == 0
            && self.tail_probe.is_none();
        open.then(|| {
            let span = match self.scoreboard.len() {
                1 => self.rtt.tlp_alone(),
                _ => self.rtt.tlp() + self.config.timer_slack,
            };
            let armed = self.sent_at.max(self.progress_at);
            self.expiry(armed, span).min(self.timeout_at())
        })
    }

    /// Sets the reordering timer to the time at which the next packet is deemed lost, which is
    /// [`Instant::MAX`] without one (RFC 8985 section 6.2). Linux waits longer, up to the RTO
    /// (`tcp_rack_mark_lost`).
    pub(super) fn arm_reordering(&mut self, next: Instant) {
        self.reorder_at = next;
        if self.config.timer_slack > Duration::ZERO && next < Instant::MAX {
            let mut at = self.touched_at;
            // A timer that expires early, since it was armed late in a tick, is armed again.
            while at < next {
                at = self.expiry(at, next.since(at) + self.config.timer_slack);
            }
            self.reorder_at = next.max(at.min(self.timeout_at()));
        }
    }

    /// Expiry of a timer that is armed for a span, in the host's ticks (`usecs_to_jiffies`,
    /// `sk_reset_timer`).
    fn expiry(&self, armed: Instant, span: Duration) -> Instant {
        let tick = self.config.timer_tick.0;
        if tick == 0 {
            return armed + span;
        }
        let last = Instant(armed.0 - armed.0 % tick);
        last + Duration(span.0.next_multiple_of(tick))
    }

    /// Handles the timer that is due.
    pub fn on_timer(&mut self, now: Instant) {
        if self.timer() > now || self.scoreboard.is_empty() {
            return;
        }
        self.touched_at = now;
        if self.reorder_at < Instant::MAX {
            self.on_reorder_timer(now);
        } else if self.tail_probe_at().is_some() {
            self.send_tail_probe(now);
        } else {
            self.on_timeout(now);
        }
    }

    fn on_reorder_timer(&mut self, now: Instant) {
        let before = self.flight_snapshot();
        let lost = self.detect(now);
        let starts = self.begin_loss_episode(&lost);
        if starts {
            self.validate_congestion(now, before.in_flight, true);
        }
        let feedback = Feedback {
            lost: Bytes(lost.bytes),
            lost_packets: lost.packets,
            lost_numbers: self.scoreboard.lost_numbers(),
            loss_event: starts,
            in_flight_before: Bytes(before.in_flight),
            ..self.feedback()
        };
        self.controller.on_feedback(now, &feedback);
        self.scoreboard.forget_lost_numbers();
        self.apply_decision(now, &before, starts, &Newly::default(), &lost);
    }

    /// `TLP_send_probe` (RFC 8985 section 7.3): sends new data, or else the last segment again,
    /// regardless of the window. The RTO restarts.
    fn send_tail_probe(&mut self, now: Instant) {
        let end = self.scoreboard.next();
        if self.new_data() > 0 {
            self.tail_probe = Some(TailProbe { end: end + 1, resent: None });
        } else if let Some((place, len)) = self.scoreboard.last_in_flight() {
            self.scoreboard.begin_probe();
            self.scoreboard.repeat(place);
            self.tail_probe = Some(TailProbe { end, resent: Some(len) });
        } else {
            return self.on_timeout(now);
        }
        self.progress_at = now;
        self.probes = 1;
    }

    fn on_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        self.backoff += 1;
        self.note_ecn_timeout();
        match self.config.profile {
            Profile::Tcp => self.on_retransmission_timeout(now),
            Profile::Quic => self.on_probe_timeout(),
        }
    }

    /// RFC 6298 section 5.4 to 5.6 with RFC 8985 section 6.3.
    fn on_retransmission_timeout(&mut self, now: Instant) {
        // RFC 5681's FlightSize without the selectively acknowledged bytes. Bytes in flight would
        // be too few: recovery may already have deemed most of the data lost.
        let outstanding = Bytes(self.scoreboard.outstanding());
        self.progress_at = now;
        self.tail_probe = None;
        let mends = self.episode.is_recovery();
        self.episode = Episode::Timeout(self.new_timeout(now));
        self.cwr = true;
        self.detector.set_window(&self.rtt, true);
        let lost = self.scoreboard.lose_overdue(now, &self.detector);
        let (_, next) = self.scoreboard.detect(now, &self.detector);
        self.arm_reordering(next);
        self.note_lost(&lost, true);
        if !mends {
            self.scoreboard.begin_recovery(&lost);
            self.usage.begin_recovery(self.largest_acked);
        }
        self.unreported.bytes += lost.bytes;
        self.unreported.packets += lost.packets;
        self.validate_timeout();
        self.controller.on_timeout(now, outstanding);
        self.refresh(now);
        self.probes = 1;
    }

    /// The recovery that a timeout begins. F-RTO starts outside a recovery (RFC 5682 section 3.1,
    /// step 1).
    ///
    /// Deviation (Linux): F-RTO is for senders without timestamps; with them, the echo alone
    /// decides (Eifel). Linux runs both, and sends two new packets before it repairs a true
    /// timeout.
    /// Deviation (RFC 5682 section 3.1, step 1; Linux `tcp_enter_loss`): a further timeout of the
    /// same first segment uses F-RTO too if no new data left since the earlier one, and if that one
    /// used it. Linux has neither condition; the RFC leaves every timeout below the earlier
    /// recovery point to conventional recovery.
    fn new_timeout(&self, now: Instant) -> Timeout {
        let (until, head) = (self.horizon(), self.scoreboard.base());
        let new = Timeout {
            until,
            head,
            head_sent_at: self.scoreboard.base_sent_at().unwrap_or(now),
            resent_as: self.next_number,
            f_rto: FRto::Over,
        };
        match self.episode {
            Episode::Timeout(earlier) if earlier.head == head => {
                let f_rto = if earlier.until == until { earlier.f_rto } else { FRto::Over };
                Timeout { until, f_rto, ..earlier }
            }
            Episode::Timeout(_) => new,
            Episode::Loss { resent_as, .. } => Timeout { resent_as, ..new },
            Episode::Ecn { .. } | Episode::None if self.config.has_echoes() => new,
            Episode::Ecn { .. } | Episode::None => Timeout { f_rto: FRto::Sent, ..new },
        }
    }

    /// RFC 9002 section 6.2.4: probes leave regardless of the window, with new data if there is
    /// any. The window does not change.
    fn on_probe_timeout(&mut self) {
        self.probes = PTO_PROBES;
        if self.scoreboard.next_lost().is_some() || self.new_data() > 0 {
            return;
        }
        self.scoreboard.begin_probe();
        for _ in 0..PTO_PROBES {
            if let Some(place) = self.scoreboard.first_in_flight() {
                self.scoreboard.repeat(place);
            }
        }
    }
}
