//! The minimum round-trip time, and PROBE_RTT, which empties the queue to measure it (draft
//! sections 4.1.2 and 4.3.5).

use sojourn_units::{Bytes, Duration, Instant};

use super::ack::Ack;
use super::{Bbr, Mode};

/// The minimum round-trip time of the last ten seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    /// [`Duration::MAX`] before the first sample.
    pub(super) rtt: Duration,
    /// Time of its measurement, or the end of the last PROBE_RTT.
    pub(super) stamp: Instant,
}

/// Progress of PROBE_RTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dip {
    /// Earliest end; `None` while more than the minimum is in flight.
    done_at: Option<Instant>,
    /// Whether a round has passed at the minimum.
    round_done: bool,
}

/// Packets sent in PROBE_RTT, identified by the delivered bytes when they were sent. Their
/// samples count as application-limited; otherwise they would lower the estimate of the
/// bandwidth (`bbr_update_min_rtt` sets `tp->app_limited` for that).
#[derive(Clone, Copy, Debug)]
pub(super) struct DipSamples {
    from: Bytes,
    until: Bytes,
}

impl DipSamples {
    pub(super) fn contains(&self, prior_delivered: Bytes) -> bool {
        (self.from..=self.until).contains(&prior_delivered)
    }
}

impl Bbr {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = ack.now > self.min_rtt.stamp + self.config.min_rtt_win;
        if let Some(rtt) = ack.rtt {
            // A delayed acknowledgement may lower the minimum, but must not replace an
            // expired one.
            if rtt < self.min_rtt.rtt || (expired && !ack.maybe_delayed) {
                self.min_rtt = MinRtt { rtt, stamp: ack.now };
            }
        }
        let wanted = self.config.probe_rtt_mode > Duration::ZERO && expired;
        // A restart from idle has just measured an empty path.
        if wanted && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt(_)) {
            self.mode = Mode::ProbeRtt(Dip::default());
            // As in the kernel, the mode changes before the window is saved, so that a
            // greater window saved by an earlier PROBE_RTT is kept.
            self.window.save(self.in_probe_rtt());
            self.dip_samples = Some(DipSamples { from: ack.delivered, until: ack.delivered });
        }
        if let Mode::ProbeRtt(dip) = self.mode {
            self.hold_dip(dip, ack);
        }
        self.idle_restart = false;
    }

    /// Stays at the minimum for 200 ms or a round, whichever is longer.
    fn hold_dip(&mut self, mut dip: Dip, ack: &Ack) {
        if let Some(samples) = &mut self.dip_samples {
            samples.until = ack.delivered + ack.bytes_in_flight;
        }
        if dip.done_at.is_some() {
            dip.round_done |= self.round.start;
        } else if ack.in_flight <= self.config.cwnd_min_target {
            dip.done_at = Some(ack.now + self.config.probe_rtt_mode);
            self.round.restart(ack.delivered);
        }
        self.mode = Mode::ProbeRtt(dip);
        if dip.round_done {
            self.check_dip_done(ack.now);
        }
    }

    /// Ends PROBE_RTT once its time is up (`bbr_check_probe_rtt_done`).
    pub(super) fn check_dip_done(&mut self, now: Instant) {
        let Mode::ProbeRtt(Dip { done_at: Some(done_at), .. }) = self.mode else { return };
        if now <= done_at {
            return;
        }
        self.min_rtt.stamp = now;
        self.window.restore();
        // bbr_reset_mode
        if self.full_pipe.reached {
            self.enter_probe_bw();
        } else {
            self.mode = Mode::Startup;
        }
    }
}
