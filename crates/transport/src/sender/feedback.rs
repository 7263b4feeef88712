//! Processing of acknowledgements, and the feedback that the controller gets from them.

use sojourn_cc::{Controller, Feedback, RateSample, Received};
use sojourn_units::{Bytes, Duration, Instant};

use super::Sender;
use crate::choices::Profile;
use crate::newly::Newly;
use crate::recovery::Episode;
use crate::scoreboard::Lost;
use crate::tail_probe::Outcome;
use crate::wire::{Ack, EcnCounts};

/// The flight before an acknowledgement or a timer changes it.
#[derive(Clone, Copy)]
pub(super) struct FlightSnapshot {
    pub(super) in_flight: u64,
    pub(super) outstanding: u64,
    pub(super) cwnd: u64,
}

/// The effects of an acknowledgement, for [`Sender::observe_acked`].
struct Observed {
    /// Bytes in flight before it, and bytes that it acknowledges.
    flight: u64,
    acked: u64,
    /// It ends a recovery.
    ended: bool,
    /// It begins one.
    starts: bool,
    /// A loss or a mark that it reports reduces the window.
    reduces: bool,
}

impl<C: Controller> Sender<C> {
    /// Processes an acknowledgement. Returns its sample of the round-trip time.
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) -> Option<Duration> {
        self.touched_at = now;
        if self.is_fast_path(ack) {
            self.on_ack_fast_path(now, ack)
        } else {
            self.on_ack_slow_path(now, ack)
        }
    }

    /// Whether `ack` acknowledges packets in order, and no loss, mark, duplicate, probe or recovery
    /// is pending.
    #[inline(always)]
    fn is_fast_path(&self, ack: &Ack) -> bool {
        !self.has_observers
            && matches!(self.episode, Episode::None)
            && self.tail_probe.is_none()
            && self.unreported.packets == 0
            && self.lost_end <= self.scoreboard.base()
            && !(ack.ece | ack.duplicate)
            && (ack.counts.ce == self.counts.ce || self.uses_ece_flag())
            && self.scoreboard.is_acked_in_order(ack, &self.detector)
    }

    #[inline(always)]
    fn on_ack_fast_path(&mut self, now: Instant, ack: &Ack) -> Option<Duration> {
        let in_flight_before = Bytes(self.scoreboard.in_flight);
        if self.announced.is_some() {
            self.note_window(ack);
        }
        let newly = self.scoreboard.acknowledge_in_order(ack);
        let rtt = self.measure(now, ack, &newly);
        let rate = self.deliver(now, &newly);
        debug_assert!(self.scoreboard.is_in_order(&self.detector), "no packet can be lost");
        self.reorder_at = Instant::MAX;
        let ecn = self.count_ecn(ack);
        let feedback = Feedback {
            acked: Bytes(newly.bytes),
            acked_packets: newly.packets,
            ect0_packets: ecn.ect0,
            ect1_packets: ecn.ect1,
            rtt,
            ack_delay: self.ack_delay(now, ack, &newly),
            rate,
            in_flight_before,
            ..self.feedback()
        };
        self.controller.on_feedback(now, &feedback);
        self.refresh(now);
        rtt
    }

    /// Losses, marks, gaps and recovery. A separate function lets the fast path keep its values in
    /// registers.
    #[inline(never)]
    fn on_ack_slow_path(&mut self, now: Instant, ack: &Ack) -> Option<Duration> {
        let before = self.flight_snapshot();
        let newly = &mut Newly::default();
        if !self.config.has_echoes() {
            // RFC 8985 section 6.2 step 2: one that left later cannot have been answered yet.
            self.scoreboard.trust_until(now, self.rtt.min);
        }
        self.acknowledge(ack, newly);
        let rtt = self.measure(now, ack, newly);
        self.scoreboard.add_plausible(newly);
        let rate = self.deliver(now, newly);
        let ecn = self.count_ecn(ack);
        let ecn = self.validate_ecn(ecn);
        let is_marked = self.reports_mark(ecn.ce > 0, ack.ece);
        if is_marked {
            // Congestion is proven (Linux, `tcp_enter_cwr` and `tcp_fastretrans_alert`).
            self.scoreboard.forbid_undo();
        }
        let is_explained = self.count_duplicates(ack);
        let repaired = self.end_tail_probe(ack, is_explained);
        let spurious = self.undo_if_spurious(now, ack, newly, is_explained);
        self.advance_f_rto(ack, newly);
        // Deviation (RFC 9002 section 7.3.2): all bytes of the acknowledgement that ends a recovery
        // increase the window.
        let ended = self.end_episode(newly);
        // Loss detection runs only after a delivery. The reordering timer calls it separately.
        let lost = if newly.packets > 0 { self.detect(now) } else { Lost::default() };
        let starts = self.begin_loss_episode(&lost);
        let repaired = if starts { None } else { self.respond_to_probe(repaired) };
        let ecn_event = repaired.is_none() && is_marked && self.begin_ecn_episode();
        let (mut cwnd_limited, mut slow_start_to) = (self.is_limited(), self.slow_start_to());
        if self.has_observers {
            let (flight, acked) = (before.in_flight, newly.bytes);
            let reduces = starts || ecn_event || repaired.is_some();
            let observed = Observed { flight, acked, ended, starts, reduces };
            if let Some(is_validated) = self.observe_acked(now, &observed) {
                (cwnd_limited, slow_start_to) = (is_validated, Bytes::ZERO);
            }
        }
        let unreported = std::mem::take(&mut self.unreported);
        let feedback = Feedback {
            acked: Bytes(newly.bytes),
            acked_packets: newly.packets,
            lost: Bytes(lost.bytes + unreported.bytes + repaired.unwrap_or(0)),
            lost_packets: lost.packets + unreported.packets + u64::from(repaired.is_some()),
            lost_numbers: self.scoreboard.lost_numbers(),
            ce_packets: ecn.ce,
            ect0_packets: ecn.ect0,
            ect1_packets: ecn.ect1,
            loss_event: starts || repaired.is_some(),
            ecn_event,
            is_duplicate: self.is_duplicate(newly),
            spurious,
            rtt,
            ack_delay: self.ack_delay(now, ack, newly),
            rate,
            in_flight_before: Bytes(before.in_flight),
            cwnd_limited,
            slow_start_to,
            received: &self.received,
            ..self.feedback()
        };
        self.controller.on_feedback(now, &feedback);
        self.scoreboard.forget_lost_numbers();
        self.apply_decision(now, &before, starts || ecn_event, newly, &lost);
        rtt
    }

    pub(super) fn flight_snapshot(&self) -> FlightSnapshot {
        FlightSnapshot {
            in_flight: self.scoreboard.in_flight,
            outstanding: self.scoreboard.outstanding(),
            cwnd: self.limits.cwnd.0,
        }
    }

    /// Applies the controller's decision after it has received `newly` and `lost`. `reduces`: a
    /// reduction of the window begins.
    #[inline(always)]
    pub(super) fn apply_decision(
        &mut self,
        now: Instant,
        before: &FlightSnapshot,
        reduces: bool,
        newly: &Newly,
        lost: &Lost,
    ) {
        if self.is_persistent(lost) {
            self.validate_timeout();
            self.controller.on_timeout(now, Bytes(before.in_flight));
            // RFC 9002 appendix B.8: persistent congestion ends the recovery period.
            //
            // Deviation (RFC 9002 section 7.6.2): the window after persistent congestion is one
            // packet, by the controllers' response to a timeout; Copa's is two, as the section
            // requires, and Rapid's rate falls.
            // Deviation (RFC 9002 section 5.2): persistent congestion keeps the minimum round-trip
            // time; the section takes the newest sample.
            self.episode = Episode::None;
            self.reduced.forget();
        }
        self.refresh(now);
        if reduces {
            self.begin_prr(before);
        }
        self.advance_prr(newly, lost);
    }

    /// Applies the receive window that `ack` announces. An acknowledgement that was overtaken does not
    /// lower it (RFC 9293 section 3.10.7.4).
    fn note_window(&mut self, ack: &Ack) {
        let Some(announced) = &mut self.announced else { return };
        let Some(update) = ack.window() else { return };
        announced.on_ack(&update, self.next_number, self.largest_acked);
        let known = self.config.receive_window.unwrap_or(Bytes::ZERO);
        self.config.receive_window = Some(known.max(update.window));
    }

    /// Whether the window must not grow because the acknowledgement does not advance SND.UNA.
    ///
    /// Deviation (RFC 3042 section 2): after packets were reordered by more than three, the window
    /// grows by duplicate acknowledgements with `growth_by_sack = false` too, as in Linux
    /// (`tcp_may_raise_cwnd`).
    fn is_duplicate(&self, newly: &Newly) -> bool {
        let by_sack = self.config.growth_by_sack || self.detector.expects_reordering();
        !(newly.advanced || by_sack)
    }

    fn acknowledge(&mut self, ack: &Ack, newly: &mut Newly) {
        if self.announced.is_some() {
            self.note_window(ack);
        }
        if self.has_observers {
            self.acknowledge_observed(ack, newly);
        } else {
            self.scoreboard.acknowledge(ack, newly, &mut |_| {});
        }
    }

    #[inline(never)]
    fn acknowledge_observed(&mut self, ack: &Ack, newly: &mut Newly) {
        if self.needs.receive_times {
            return self.acknowledge_with_times(ack, newly);
        }
        let (path, requester) = (&mut self.ecn_path, &mut self.requester);
        self.scoreboard.acknowledge(ack, newly, &mut |s| {
            path.iter_mut().for_each(|path| path.on_acked(s.number));
            requester.iter_mut().for_each(|requester| requester.on_acked(s.number));
        });
    }

    fn acknowledge_with_times(&mut self, ack: &Ack, newly: &mut Newly) {
        self.received.clear();
        let delivered = &mut self.delivered_now;
        delivered.clear();
        self.scoreboard.acknowledge(ack, newly, &mut |s| {
            delivered.push((s.number, s.sent_at, s.len));
        });
        delivered.sort_unstable();
        if let Some(path) = &mut self.ecn_path {
            delivered.iter().for_each(|d| path.on_acked(d.0));
        }
        if let Some(requester) = &mut self.requester {
            delivered.iter().for_each(|d| requester.on_acked(d.0));
        }
        let times = ack.received().iter().filter_map(|&(number, received_at)| {
            let found = delivered.binary_search_by_key(&number, |d| d.0).ok()?;
            let (_, sent_at, len) = delivered[found];
            Some(Received { number, sent_at, received_at, bytes: Bytes(u64::from(len)) })
        });
        self.received.extend(times);
        self.received.sort_unstable_by_key(|r| r.number);
    }

    /// Takes round-trip time samples and restarts the timers. The controller gets the sample of the
    /// newest packet. TCP smooths the sample of the oldest packet, which includes the receiver's
    /// delay (RFC 7323 section 4.3). If the acknowledgement covers a retransmission, the oldest
    /// packet may have waited behind the gap that the retransmission filled. Then only the echo
    /// gives a valid sample (RFC 6298 section 3; Linux, `FLAG_RETRANS_DATA_ACKED`). QUIC smooths
    /// only the sample of the largest packet number (RFC 9002 section 5.1).
    #[inline(always)]
    fn measure(&mut self, now: Instant, ack: &Ack, newly: &Newly) -> Option<Duration> {
        if newly.advanced {
            // RFC 6298 section 5.3. RFC 6675 section 6: SACK alone does not restart the timer.
            self.progress_at = now;
        }
        let least = self.rtt.min;
        let sample = newly.newest.and_then(|newest| {
            let sample = now.since(newest.sent_at);
            (!newest.retransmitted || sample >= least).then_some(sample)
        });
        if let Some(sample) = sample {
            self.rtt.observe(sample);
        }
        let smoothed = match self.config.profile {
            Profile::Tcp if newly.retransmitted => sample,
            Profile::Tcp => newly.oldest_sent_at.map(|at| now.since(at)),
            Profile::Quic => {
                sample.filter(|_| newly.newest.is_some_and(|n| n.number == ack.newest))
            }
        };
        if let Some(smoothed) = smoothed {
            self.rtt.smooth(now, smoothed, ack.delay.min(self.config.ack_delay));
        }
        // RFC 6298 section 5.7 keeps the back-off until a new sample, RFC 9002 section 6.2.1 until
        // any acknowledgement.
        if smoothed.is_some() || (self.config.profile == Profile::Quic && newly.packets > 0) {
            self.backoff = 0;
        }
        sample
    }

    /// Passes single values on, so that `newly` stays in registers.
    #[inline(always)]
    fn ack_delay(&self, now: Instant, ack: &Ack, newly: &Newly) -> Duration {
        if !self.needs.ack_delay {
            return Duration::ZERO;
        }
        let Some(newest) = &newly.newest else { return Duration::ZERO };
        let oldest_at = newly.oldest_sent_at.unwrap_or(newest.sent_at);
        self.longest_ack_delay(now, ack, newly.packets, (oldest_at, newest.sent_at))
    }

    /// The longest time for which the receiver may have held `ack`. QUIC's says it (RFC 9002 section
    /// 5.3). TCP's receiver sends one at once for `ack_every` packets, and beyond a gap (RFC 5681
    /// section 4.2). Otherwise its timer may have sent it, unless the next packet followed before
    /// the timer, which starts with the first packet, could expire.
    #[cold]
    #[inline(never)]
    fn longest_ack_delay(
        &self,
        now: Instant,
        ack: &Ack,
        packets: u64,
        (oldest_at, newest_at): (Instant, Instant),
    ) -> Duration {
        let most = self.config.ack_delay;
        if self.config.profile == Profile::Quic {
            return ack.delay.min(most);
        }
        let next_at = self.scoreboard.base_sent_at().unwrap_or(now);
        let is_full = packets >= self.config.ack_every;
        if is_full || !ack.ranges().is_empty() || next_at.since(oldest_at) < most {
            return Duration::ZERO;
        }
        most.saturating_sub(newest_at.since(oldest_at))
    }

    #[inline(always)]
    fn deliver(&mut self, now: Instant, newly: &Newly) -> Option<RateSample> {
        if newly.packets == 0 {
            return None;
        }
        self.delivery.on_delivered(now, newly.bytes);
        self.detector.on_delivered(now, newly, &self.rtt);
        let newest = newly.newest?;
        self.largest_acked = self.largest_acked.max(newest.number);
        self.delivery.sample(&newest, self.rtt.min)
    }

    /// RFC 8985 section 7.4. Also passes a duplicate to the loss detector (section 6.2 step 4).
    /// `is_explained`: a retransmission explains the duplicate.
    ///
    /// Deviation (RFC 8985 section 6.2, step 4): a duplicate that a tail loss probe (as in Linux,
    /// `FLAG_DSACK_TLP`) or the network caused does not widen the reordering window.
    fn end_tail_probe(&mut self, ack: &Ack, is_explained: bool) -> Outcome {
        let outcome = self.tail_probe.map_or(Outcome::Pending, |probe| probe.outcome(ack));
        if is_explained && outcome != Outcome::Redundant {
            self.detector.on_duplicate(self.scoreboard.base(), self.scoreboard.next());
        }
        if outcome != Outcome::Pending {
            self.tail_probe = None;
        }
        outcome
    }

    /// Returns the bytes of a loss that a probe repaired, if the controller must still react to it
    /// (RFC 8985 section 7.4.2). It must unless an episode already lasts. The repair is complete,
    /// so the window shrinks at once (Linux, `tcp_process_tlp_ack`).
    fn respond_to_probe(&mut self, outcome: Outcome) -> Option<u64> {
        let Outcome::Repaired(bytes) = outcome else { return None };
        self.stats.lost += 1;
        if !matches!(self.episode, Episode::None) {
            return None;
        }
        self.cwr = true;
        // The loss was real, so an earlier recovery cannot be undone either.
        self.scoreboard.forbid_undo();
        Some(bytes)
    }

    /// RFC 8985 section 6.2 step 5, RFC 9002 section 6.1.
    #[inline]
    pub(super) fn detect(&mut self, now: Instant) -> Lost {
        if self.scoreboard.is_in_order(&self.detector) {
            self.reorder_at = Instant::MAX;
            return Lost::default();
        }
        self.look_for_losses(now)
    }

    #[inline(always)]
    fn look_for_losses(&mut self, now: Instant) -> Lost {
        let eager = self.episode.is_recovery() || self.scoreboard.sacked_segments() >= 3;
        self.detector.set_window(&self.rtt, eager);
        let (lost, next) = self.scoreboard.detect(now, &self.detector);
        self.arm_reordering(next);
        self.note_lost(&lost, false);
        lost
    }

    /// `overdue`: a timeout deemed these packets lost.
    pub(super) fn note_lost(&mut self, lost: &Lost, overdue: bool) {
        self.watch_lost(overdue);
        self.stats.lost += lost.packets;
        self.lost_end = self.lost_end.max(lost.end);
    }

    #[inline]
    fn uses_ece_flag(&self) -> bool {
        self.config.uses_ece_flag(&self.needs)
    }

    /// The increase of the ECN counts. An acknowledgement that was overtaken does not count (RFC
    /// 9000 section 13.4.2.1).
    #[inline(always)]
    fn count_ecn(&mut self, ack: &Ack) -> EcnCounts {
        if self.uses_ece_flag() {
            return EcnCounts::default();
        }
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

    /// Whether the controller is notified of a mark.
    fn reports_mark(&self, counted: bool, ece: bool) -> bool {
        let heard = if self.uses_ece_flag() { ece } else { counted };
        heard && self.config.has_ecn(&self.needs) && !self.ignores_marks()
    }

    /// Passes an acknowledgement to the rules that observe it. Returns whether the window may grow, if
    /// one of them decides it.
    #[inline(never)]
    fn observe_acked(&mut self, now: Instant, observed: &Observed) -> Option<bool> {
        self.request_acks();
        self.validate_acked(now, observed.acked, observed.ended);
        if observed.reduces {
            self.validate_congestion(now, observed.flight, observed.starts);
        }
        self.is_validated(now)
    }

    /// Decides at the end of a round trip on a request for acknowledgements.
    fn request_acks(&mut self) {
        let Some(requester) = &mut self.requester else { return };
        requester.on_feedback(self.largest_acked);
        if self.largest_acked >= self.round_end {
            self.round_end = self.next_number;
            requester.on_round(self.limits.cwnd, self.config.mss, self.rtt.srtt);
        }
        self.config.ack_delay = requester.max_ack_delay();
    }

    /// Whether the window, or its pacing, limits the sender.
    #[inline(always)]
    pub(super) fn is_limited(&self) -> bool {
        self.usage.is_filled(self.largest_acked) || self.usage.is_held(self.largest_acked)
    }

    /// [`Feedback::slow_start_to`]; zero with QUIC, because RFC 9002 section 7.8 has no such growth.
    #[inline(always)]
    pub(super) fn slow_start_to(&self) -> Bytes {
        Bytes(self.usage.slow_start_to())
    }

    /// The fields that every feedback has.
    #[inline(always)]
    pub(super) fn feedback(&self) -> Feedback<'static> {
        Feedback {
            in_recovery: self.episode.holds(),
            after_timeout: matches!(self.episode, Episode::Timeout(_)),
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min,
            delivered: Bytes(self.delivery.delivered),
            in_flight_before: Bytes(self.scoreboard.in_flight),
            in_flight: Bytes(self.scoreboard.in_flight),
            cwnd_limited: self.is_limited(),
            cwnd_filled: self.usage.is_filled(self.largest_acked),
            slow_start_to: self.slow_start_to(),
            largest_acked: self.largest_acked,
            next_number: self.next_number,
            ..Feedback::default()
        }
    }
}
