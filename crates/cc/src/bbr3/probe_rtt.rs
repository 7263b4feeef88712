//! The minimum round-trip time, and ProbeRTT, which empties the queue to measure it
//! (section 5.3.4).

use sojourn_units::{Bytes, Duration, Instant};

use super::long_term::AckPhase;
use super::sample::Sample;
use super::{Bbr3, State};

/// Minimum round-trip times over two windows (section 5.3.4.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    /// `BBR.min_rtt`; [`Duration::MAX`] for infinity.
    min_rtt: Duration,
    /// `BBR.min_rtt_stamp`.
    min_rtt_stamp: Instant,
    /// `BBR.probe_rtt_min_delay`; [`Duration::MAX`] for infinity.
    pub(super) probe_rtt_min_delay: Duration,
    /// `BBR.probe_rtt_min_stamp`.
    probe_rtt_min_stamp: Instant,
    /// `BBR.probe_rtt_expired`.
    pub(super) probe_rtt_expired: bool,
}

impl Default for MinRtt {
    fn default() -> MinRtt {
        MinRtt {
            min_rtt: Duration::MAX,
            min_rtt_stamp: Instant::ZERO,
            probe_rtt_min_delay: Duration::MAX,
            probe_rtt_min_stamp: Instant::ZERO,
            probe_rtt_expired: false,
        }
    }
}

impl MinRtt {
    pub(super) fn begin(&mut self, now: Instant) {
        (self.min_rtt_stamp, self.probe_rtt_min_stamp) = (now, now);
    }

    /// `OnInit`: takes the handshake's smoothed round-trip time.
    pub(super) fn init(&mut self, srtt: Duration) {
        self.min_rtt = srtt;
    }

    /// `BBR.min_rtt`, or `None` before the first sample.
    pub(super) fn get(&self) -> Option<Duration> {
        (self.min_rtt < Duration::MAX).then_some(self.min_rtt)
    }
}

/// Progress of ProbeRTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dip {
    /// `BBR.probe_rtt_done_stamp`; `None` while too much is in flight.
    done_stamp: Option<Instant>,
    /// `BBR.probe_rtt_round_done`.
    round_done: bool,
}

impl Bbr3 {
    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, rs: &Sample) {
        let (known, config) = (&mut self.min_rtt, &self.config);
        let now = rs.now;
        known.probe_rtt_expired = now > known.probe_rtt_min_stamp + config.probe_rtt_interval;
        if let Some(rtt) = rs.rtt
            && (rtt < known.probe_rtt_min_delay || known.probe_rtt_expired)
        {
            (known.probe_rtt_min_delay, known.probe_rtt_min_stamp) = (rtt, now);
        }
        let min_rtt_expired = now > known.min_rtt_stamp + config.min_rtt_filter_len;
        if known.probe_rtt_min_delay < known.min_rtt || min_rtt_expired {
            known.min_rtt = known.probe_rtt_min_delay;
            known.min_rtt_stamp = known.probe_rtt_min_stamp;
        }
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, rs: &Sample) {
        if !self.is_in_probe_rtt() && self.min_rtt.probe_rtt_expired && !self.idle_restart {
            // EnterProbeRTT. As in the draft, the state changes before the window is saved,
            // so that a greater window saved by an earlier ProbeRTT is kept.
            self.state = State::ProbeRtt(Dip::default());
            self.save_cwnd();
            self.probing.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if let State::ProbeRtt(dip) = self.state {
            self.handle_probe_rtt(dip, rs);
        }
        if rs.delivered > Bytes::ZERO {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, mut dip: Dip, rs: &Sample) {
        self.mark_connection_app_limited();
        if dip.done_stamp.is_some() {
            dip.round_done |= self.round.start;
        } else if rs.in_flight <= self.probe_rtt_cwnd() {
            dip = Dip {
                done_stamp: Some(rs.now + self.config.probe_rtt_duration),
                round_done: false,
            };
            self.start_round();
        }
        self.state = State::ProbeRtt(dip);
        if dip.round_done {
            self.check_probe_rtt_done(rs.now);
        }
    }

    /// `CheckProbeRTTDone`, and `ExitProbeRTT` (section 5.3.4.4).
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        let State::ProbeRtt(Dip { done_stamp: Some(done_stamp), .. }) = self.state else { return };
        if now <= done_stamp {
            return;
        }
        self.min_rtt.probe_rtt_min_stamp = now;
        self.window.restore();
        self.reset_short_term_model();
        if self.full_bw.reached {
            self.start_probe_bw_down(now);
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }
}
