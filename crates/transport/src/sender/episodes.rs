//! Begin and end of episodes of recovery, and Proportional Rate Reduction within them.

use sojourn_cc::{Controller, EcnUse};

use super::Sender;
use super::feedback::FlightSnapshot;
use crate::choices::{Profile, PrrRule};
use crate::newly::Newly;
use crate::prr::Prr;
use crate::recovery::Episode;
use crate::scoreboard::Lost;

impl<C: Controller> Sender<C> {
    fn progress(&self) -> u64 {
        match self.config.profile {
            Profile::Tcp => self.scoreboard.base(),
            Profile::Quic => self.largest_acked,
        }
    }

    /// The recovery point of an episode that begins now.
    pub(super) fn horizon(&self) -> u64 {
        match self.config.profile {
            Profile::Tcp => self.scoreboard.next(),
            Profile::Quic => self.next_number.saturating_sub(1),
        }
    }

    /// Ends the episode if its end is acknowledged. Returns whether a recovery ended.
    pub(super) fn end_episode(&mut self, newly: &Newly) -> bool {
        if newly.packets == 0 || !self.episode.ended_by(self.config.profile, self.progress()) {
            return false;
        }
        let is_recovery = self.episode.is_recovery();
        if is_recovery {
            self.detector.on_recovery_exit();
        }
        self.reduced.end();
        self.episode = Episode::None;
        is_recovery
    }

    /// Returns whether an episode of loss begins and the window must shrink for it. It need not
    /// after a mark in the same round trip (Linux: CWR turns into recovery without a second
    /// reduction).
    ///
    /// Deviation (RFC 5681 section 4.3): a lost retransmission does not reduce the window again, as
    /// in Linux.
    pub(super) fn begin_loss_episode(&mut self, lost: &Lost) -> bool {
        let (profile, until) = (self.config.profile, self.horizon());
        if lost.packets == 0 && !self.has_losses_left() {
            return false;
        }
        self.tail_probe = None;
        if profile == Profile::Quic {
            if self.reduced.covers(lost.newest, !self.is_scalable()) {
                return false;
            }
        } else if !(self.is_scalable() && matches!(self.episode, Episode::Ecn { .. })) {
            match self.episode {
                Episode::None => {}
                Episode::Ecn { prr, .. } => {
                    self.episode = Episode::Loss { until, resent_as: self.next_number, prr };
                    // The reduction for the mark remains (Linux, `tcp_enter_recovery`:
                    // `prior_ssthresh = 0`).
                    self.scoreboard.forbid_undo();
                    return false;
                }
                Episode::Loss { .. } | Episode::Timeout(_) => return false,
            }
        }
        // The reduction for the mark goes on, with a lower target.
        let prr = self.episode.prr().copied().filter(|prr| prr.rule != PrrRule::Rfc9937);
        self.episode = Episode::Loss { until, resent_as: self.next_number, prr };
        self.reduced.for_loss(until);
        self.scoreboard.begin_recovery(lost);
        if prr.is_some() {
            // As above: the reduction for the mark remains.
            self.scoreboard.forbid_undo();
        }
        self.usage.begin_recovery(self.largest_acked);
        // RFC 3168 section 6.1.2: CWR follows every reduction. Otherwise the echo of a mark in the
        // same window would cause a second one.
        self.cwr = true;
        if profile == Profile::Quic || self.config.prr.is_none() {
            // RFC 9002 section 7.3.2: one packet may leave before the window shrinks;
            // RFC 6675 section 5, step 4.3: the first retransmission does.
            self.probes = self.probes.max(1);
        }
        true
    }

    /// Whether the controller makes a small reduction for the marks of almost every round trip. A
    /// loss is a stronger signal than these marks, so the sender reacts to it as Reno does (RFC
    /// 8257 section 3.5, RFC 9331 section 4.3; Linux, `set_state` of tcp_dctcp.c and tcp_prague.c).
    ///
    /// Deviation (RFC 9002 section 7.3.2): with DCTCP or Prague, a loss in the round trip of a mark
    /// reduces the window again; the RFC has one reduction for both.
    fn is_scalable(&self) -> bool {
        matches!(self.needs.ecn, EcnUse::Counts | EcnUse::L4s)
    }

    /// Whether a recovery of TCP has just ended while packets that were sent and lost during it are
    /// not yet repaired. These are losses in another window and require another reduction (RFC 5681
    /// section 4.3; Linux, `tcp_time_to_recover`).
    fn has_losses_left(&self) -> bool {
        self.config.profile == Profile::Tcp
            && matches!(self.episode, Episode::None)
            && self.lost_end > self.scoreboard.base()
    }

    pub(super) fn begin_ecn_episode(&mut self) -> bool {
        if !matches!(self.episode, Episode::None) {
            return false;
        }
        self.episode = Episode::Ecn { until: self.horizon(), prr: None };
        self.reduced.for_mark(self.horizon());
        self.cwr = true;
        true
    }

    /// RFC 9002 section 7.6: lost packets that span three probe timeouts, with no delivery between
    /// them.
    pub(super) fn is_persistent(&self, lost: &Lost) -> bool {
        self.config.profile == Profile::Quic
            && lost.runs.longest() > self.rtt.pto(self.config.ack_delay) * 3
    }

    pub(super) fn begin_prr(&mut self, before: &FlightSnapshot) {
        let Some(rule) = self.config.prr else { return };
        if self.controller.reduces_at_once() {
            // As without the rule, the first retransmission leaves at once.
            self.probes = self.probes.max(u32::from(self.episode.is_recovery()));
            return;
        }
        let size = match rule {
            PrrRule::Rfc9937 => before.outstanding,
            PrrRule::Linux510 | PrrRule::Linux618 => before.cwnd,
        };
        let goes_on = self.episode.prr().is_some();
        if self.needs.prr && self.config.profile == Profile::Tcp && !goes_on {
            self.episode.set_prr(Prr::new(rule, self.limits.cwnd, size));
        }
    }

    #[inline(always)]
    pub(super) fn advance_prr(&mut self, newly: &Newly, lost: &Lost) {
        let (in_flight, mss) = (self.scoreboard.in_flight, self.config.mss.0);
        if let Some(prr) = self.episode.prr() {
            let repairs = match prr.rule {
                PrrRule::Rfc9937 | PrrRule::Linux618 => newly.advanced,
                PrrRule::Linux510 => newly.retransmitted,
            };
            prr.on_ack(newly.bytes, in_flight, mss, repairs && lost.packets == 0);
        }
    }
}
