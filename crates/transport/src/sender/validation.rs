//! Validation of the congestion window while the sender uses only a part of it (setting
//! `cwnd_validation`): RFC 7661, and Linux's stepwise decay.

use std::collections::VecDeque;

use sojourn_cc::{Controller, Sent};
use sojourn_units::{Bytes, Duration, Instant};

use super::Sender;
use crate::choices::CwndValidation;
use crate::config::Config;
use crate::recovery::Episode;

/// Time after which an unused part of the window is given up, the NVP (RFC 7661 sections 4.4.3 and 5).
const NON_VALIDATED: Duration = Duration::from_secs(300);
/// Least period of samples of pipeACK (RFC 7661 section 4.2).
const LEAST_PERIOD: Duration = Duration::from_secs(1);

/// The state of the rule that applies.
#[derive(Debug)]
pub(super) enum Validation {
    PipeAck(PipeAck),
    Linux(Decay),
}

impl Validation {
    /// Whether it follows each acknowledgement and retransmission.
    pub(super) fn observes_acks(&self) -> bool {
        matches!(self, Validation::PipeAck(_))
    }

    /// The rule of `config`; `None` if the controller's own restart after an idle period applies.
    pub(super) fn new(config: &Config) -> Option<Box<Validation>> {
        let initial = config.mss.0 * config.initial_window;
        let rule = match config.cwnd_validation {
            CwndValidation::Rfc5681 => return None,
            CwndValidation::Rfc7661 => Validation::PipeAck(PipeAck::new(initial)),
            CwndValidation::Linux => Validation::Linux(Decay::new(config.mss.0, initial)),
        };
        Some(Box::new(rule))
    }
}

/// RFC 7661: pipeACK, the volume of data that a round trip has recently acknowledged. A window that
/// fills
/// up in the non-validated phase does not grow until pipeACK validates it, as section 4.4 permits.
///
/// Deviation (RFC 7661 section 4.4.2): bursts are limited by the setting `pacing` alone; the
/// section recommends a limit.
#[derive(Debug)]
pub(super) struct PipeAck {
    initial: u64,
    /// Bytes acknowledged in each round trip of the sampling period; `None` while undefined (section
    /// 4.1).
    samples: Option<VecDeque<(Instant, u64)>>,
    /// Packet number that ends the current round trip, and the bytes acknowledged in it.
    round: Option<(u64, u64)>,
    period: Duration,
    /// Start of the non-validated phase, or of its current five minutes.
    since: Option<Instant>,
    overshoot: Option<Overshoot>,
}

/// A recovery that began in the non-validated phase (section 4.4.1).
#[derive(Debug)]
struct Overshoot {
    /// The greater of pipeACK and the flight size at the loss.
    carried: u64,
    /// R: bytes retransmitted in the recovery. Repeated retransmissions of a segment count once.
    repaired: u64,
    /// The segment after the last that counts in `repaired`. Retransmissions leave in ascending order.
    next: u64,
}

impl PipeAck {
    fn new(initial: u64) -> PipeAck {
        PipeAck {
            initial,
            samples: None,
            round: None,
            period: LEAST_PERIOD,
            since: None,
            overshoot: None,
        }
    }

    /// Makes pipeACK undefined, which begins the validated phase.
    fn reset(&mut self) {
        (self.samples, self.round, self.since, self.overshoot) = (None, None, None, None);
    }

    /// Section 4.2: counts `acked` bytes outside a recovery. `progress`: largest packet number
    /// acknowledged and the next one to be sent.
    fn on_ack(&mut self, now: Instant, acked: u64, progress: (u64, u64), srtt: Duration) {
        self.period = (srtt * 3).max(LEAST_PERIOD);
        let (largest, next) = progress;
        let Some((end, volume)) = &mut self.round else {
            // A round trip's volume counts from the acknowledgement after this one.
            self.round = Some((next, 0));
            return;
        };
        *volume += acked;
        if largest >= *end {
            let volume = *volume;
            self.samples.get_or_insert_default().push_back((now, volume));
            self.round = Some((next, 0));
        }
    }

    /// The greatest sample of the period; zero without samples, `None` while undefined.
    fn volume(&mut self, now: Instant) -> Option<u64> {
        let period = self.period;
        let samples = self.samples.as_mut()?;
        while samples.front().is_some_and(|(at, _)| now.since(*at) > period) {
            samples.pop_front();
        }
        Some(samples.iter().map(|(_, volume)| *volume).max().unwrap_or(0))
    }

    /// Section 4.3: whether the window is validated, so that it may grow.
    fn is_validated(&mut self, now: Instant, cwnd: u64) -> bool {
        self.volume(now).is_none_or(|volume| volume.saturating_mul(2) >= cwnd)
    }

    /// Section 4.4.3: the window to use from now on, after each five minutes in the non-validated
    /// phase half of it and at least the initial one.
    fn decayed(&mut self, now: Instant, cwnd: u64) -> Option<u64> {
        let last_sample = self.samples.as_ref().and_then(|samples| samples.back()).map(|s| s.0);
        if self.is_validated(now, cwnd) {
            self.since = None;
            return None;
        }
        // A sender that resumes after an idle period has been non-validated since its samples
        // expired.
        let began = last_sample.map_or(now, |at| (at + self.period).min(now));
        let since = self.since.get_or_insert(began);
        let mut window = cwnd;
        while now.since(*since) >= NON_VALIDATED && window > self.initial {
            *since += NON_VALIDATED;
            window = (window / 2).max(self.initial);
        }
        (window < cwnd).then_some(window)
    }

    /// Section 4.4.1: a loss or a mark in the non-validated phase ends it. Returns the data that the path
    /// carried, to which the controller's reduction applies. `flight`: FlightSize; `recovers`:
    /// whether a
    /// recovery begins.
    ///
    /// Deviation (RFC 7661 section 4.4.1): until the end of the recovery, the controller's own
    /// factor applies to the data that the path carried; the section halves them.
    fn on_congestion(
        &mut self,
        now: Instant,
        cwnd: u64,
        flight: u64,
        recovers: bool,
    ) -> Option<u64> {
        let is_validated = self.is_validated(now, cwnd);
        let carried = self.volume(now).unwrap_or(0).max(flight);
        if is_validated {
            self.overshoot = None;
            return None;
        }
        self.reset();
        self.overshoot = recovers.then_some(Overshoot { carried, repaired: 0, next: 0 });
        Some(carried)
    }

    /// Segment `place` of `len` bytes is retransmitted.
    fn on_retransmission(&mut self, place: u64, len: u64) {
        if let Some(overshoot) = self.overshoot.as_mut().filter(|overshoot| place >= overshoot.next)
        {
            overshoot.repaired += len;
            overshoot.next = place + 1;
        }
    }

    /// A recovery ends: pipeACK becomes undefined (sections 4.2 and 4.4.1). Returns the window if it began
    /// in the non-validated phase (section 4.4.1).
    fn on_recovery_end(&mut self) -> Option<u64> {
        let overshoot = self.overshoot.take();
        self.reset();
        overshoot.map(|o| o.carried.saturating_sub(o.repaired) / 2)
    }
}

/// Linux's decay (`tcp_cwnd_validate`, `tcp_cwnd_restart`, `tcp_cwnd_application_limited`; the
/// default, `net.ipv4.tcp_slow_start_after_idle = 1`). Windows are in whole packets.
#[derive(Debug)]
pub(super) struct Decay {
    mss: u64,
    /// The initial window in packets.
    initial: u64,
    /// Greatest number of packets in flight since `stamp` (`snd_cwnd_used`).
    used: u64,
    /// Last time at which the window limited the sender, or shrank (`snd_cwnd_stamp`).
    stamp: Instant,
}

impl Decay {
    fn new(mss: u64, initial: u64) -> Decay {
        Decay { mss, initial: initial / mss.max(1), used: 0, stamp: Instant::ZERO }
    }

    /// `tcp_cwnd_restart`: halves the window for each timeout in an idle period, but not below the
    /// initial one.
    fn restarted(&mut self, now: Instant, cwnd: u64, idle: Duration, rto: Duration) -> u64 {
        let mut packets = cwnd / self.mss;
        let least = self.initial.min(packets);
        let mut left = idle;
        while left > rto && packets > least {
            left = left.saturating_sub(rto);
            packets /= 2;
        }
        (self.used, self.stamp) = (0, now);
        packets.max(least) * self.mss
    }

    /// `tcp_cwnd_validate` after a batch has left that filled the window.
    fn filled(&mut self, now: Instant) {
        (self.used, self.stamp) = (0, now);
    }

    /// `tcp_cwnd_validate` after a batch has left that did not fill the window: a sender that has
    /// not filled it for a timeout loses half of the unused part, if `is_open`.
    fn validated(
        &mut self,
        now: Instant,
        in_flight: u64,
        cwnd: u64,
        rto: Duration,
        is_open: bool,
    ) -> Option<u64> {
        self.used = self.used.max(in_flight.div_ceil(self.mss));
        if now.since(self.stamp) < rto {
            return None;
        }
        let (used, packets) = (self.used.max(self.initial), cwnd / self.mss);
        let shrinks = is_open && used < packets;
        if is_open {
            self.used = 0;
        }
        self.stamp = now;
        shrinks.then_some((packets + used) / 2 * self.mss)
    }
}

impl<C: Controller> Sender<C> {
    /// Reports a packet after an idle period. The rule replaces the controller's own restart.
    pub(super) fn report_sent_validated(&mut self, now: Instant, sent: &Sent) {
        let cwnd = self.limits.cwnd.0;
        let window = match self.validation.as_deref_mut() {
            Some(Validation::PipeAck(rule)) => rule.decayed(now, cwnd),
            Some(Validation::Linux(rule)) if sent.idle > sent.rto && !sent.retransmission => {
                Some(rule.restarted(now, cwnd, sent.idle, sent.rto))
            }
            Some(Validation::Linux(_)) | None => None,
        };
        self.set_validated(now, window, false);
        self.controller.on_sent(now, &Sent { rto: Duration::MAX, ..*sent });
        self.limits = self.controller.limits();
    }

    /// A packet has left. `resent`: the segment that it retransmits, and its length.
    pub(super) fn validate_use(&mut self, resent: Option<(u64, u64)>) {
        self.note_use();
        if let Some(Validation::PipeAck(rule)) = self.validation.as_deref_mut() {
            resent.iter().for_each(|(place, len)| rule.on_retransmission(*place, *len));
        }
    }

    /// No further packet leaves for now: Linux validates the window after each batch.
    pub fn end_batch(&mut self, now: Instant) {
        if !std::mem::take(&mut self.is_unvalidated) {
            return;
        }
        self.note_use();
        let (in_flight, cwnd) = (self.scoreboard.in_flight, self.limits.cwnd.0);
        let (is_filled, is_open) = (self.uses_window(), self.is_open());
        if let Some(Validation::Linux(rule)) = self.validation.as_deref_mut() {
            let window = if is_filled {
                rule.filled(now);
                None
            } else {
                rule.validated(now, in_flight, cwnd, self.rtt.rto(), is_open)
            };
            self.set_validated(now, window, false);
            self.limits = self.controller.limits();
        }
    }

    /// Whether the window limits the sender, or leads slow start (`tcp_is_cwnd_limited`).
    fn uses_window(&self) -> bool {
        let cwnd = self.limits.cwnd;
        let leads = || self.controller.probe().ssthresh.is_none_or(|ssthresh| cwnd < ssthresh);
        self.is_limited() || (cwnd < self.slow_start_to() && leads())
    }

    fn is_open(&self) -> bool {
        matches!(self.episode, Episode::None)
    }

    /// An acknowledgement of `acked` bytes was processed. `ended`: it ended a recovery.
    pub(super) fn validate_acked(&mut self, now: Instant, acked: u64, ended: bool) {
        let (progress, srtt) = ((self.largest_acked, self.next_number), self.rtt.srtt);
        let (cwnd, recovers) = (self.limits.cwnd.0, self.episode.is_recovery());
        let Some(Validation::PipeAck(rule)) = self.validation.as_deref_mut() else { return };
        let window = if ended {
            rule.on_recovery_end()
        } else {
            // Section 4.2: pipeACK must not be updated during fast recovery.
            if acked > 0 && !recovers {
                rule.on_ack(now, acked, progress, srtt);
            }
            rule.decayed(now, cwnd)
        };
        self.set_validated(now, window, ended);
    }

    /// A loss or a mark is about to reduce the controller's window. `recovers`: a recovery begins.
    pub(super) fn validate_congestion(&mut self, now: Instant, flight: u64, recovers: bool) {
        let cwnd = self.limits.cwnd.0;
        let Some(Validation::PipeAck(rule)) = self.validation.as_deref_mut() else { return };
        let window = rule.on_congestion(now, cwnd, flight, recovers);
        self.set_validated(now, window, false);
    }

    /// A timeout ends the non-validated phase (RFC 7661 section 4.4).
    pub(super) fn validate_timeout(&mut self) {
        if let Some(Validation::PipeAck(rule)) = self.validation.as_deref_mut() {
            rule.reset();
        }
    }

    /// Whether the window may grow, if RFC 7661 decides it.
    pub(super) fn is_validated(&mut self, now: Instant) -> Option<bool> {
        let cwnd = self.limits.cwnd.0;
        match self.validation.as_deref_mut() {
            Some(Validation::PipeAck(rule)) => Some(rule.is_validated(now, cwnd)),
            Some(Validation::Linux(_)) | None => None,
        }
    }

    fn set_validated(&mut self, now: Instant, window: Option<u64>, ends_recovery: bool) {
        if let Some(window) = window {
            self.controller.on_validation(now, Bytes(window), ends_recovery);
        }
    }
}
