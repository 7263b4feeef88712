//! The long-term model: the bound on data in flight that probing has found (sections
//! 5.3.3.5, 5.3.3.6 and 5.3.3.9).

use sojourn_units::Bytes;

use super::cycle::Phase;
use super::sample::Sample;
use super::{Bbr3, State};

/// The meaning of acknowledgements for the probe (`BBR.ack_phase`, section 2.14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// No probe.
    #[default]
    Init,
    /// The pipe is being filled.
    Refilling,
    /// The probe has begun, but its packets are not acknowledged yet.
    ProbeStarting,
    /// Acknowledgements report on packets of the probe.
    ProbeFeedback,
    /// Probing has stopped, but acknowledgements still report on its packets.
    ProbeStopping,
}

/// Progress of probing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    /// `BBR.ack_phase`.
    pub(super) ack_phase: AckPhase,
    /// `BBR.is_bw_probe_sample`.
    pub(super) is_bw_probe_sample: bool,
    /// `BBR.bw_probe_up_rounds`.
    pub(super) bw_probe_up_rounds: u32,
    /// `BBR.bw_probe_up_acked`.
    pub(super) bw_probe_up_acked: Bytes,
    /// `BBR.probe_up_acked_per_inc`; [`Bytes::MAX`] for infinity.
    pub(super) probe_up_acked_per_inc: Bytes,
    /// `BBR.prev_probe_too_high`.
    pub(super) prev_probe_too_high: bool,
    /// `BBR.prev_probe_precautionary`.
    pub(super) prev_probe_precautionary: bool,
}

impl Default for Probing {
    fn default() -> Probing {
        Probing {
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            bw_probe_up_rounds: 0,
            bw_probe_up_acked: Bytes::ZERO,
            probe_up_acked_per_inc: Bytes::MAX,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
        }
    }
}

impl Bbr3 {
    /// `AdaptLongTermModel`: returns whether it changed the state.
    pub(super) fn adapt_long_term_model(&mut self, rs: &Sample) -> bool {
        let in_probe_bw = matches!(self.state, State::ProbeBw(_));
        let probing = &mut self.probing;
        match probing.ack_phase {
            AckPhase::ProbeStarting if self.round.start => {
                probing.ack_phase = AckPhase::ProbeFeedback;
            }
            AckPhase::ProbeStopping if self.round.start => {
                probing.is_bw_probe_sample = false;
                probing.ack_phase = AckPhase::Init;
                // Precautionary Bandwidth Probing: Acceleration.
                let again = probing.prev_probe_precautionary && !probing.prev_probe_too_high;
                if self.ends_bw_cycle(in_probe_bw, rs) {
                    self.advance_max_bw_filter();
                }
                if in_probe_bw && again {
                    self.start_probe_bw_refill();
                    return true;
                }
            }
            _ => {}
        }
        if self.handle_ecn_too_high(rs) {
            return false;
        }
        if !self.is_inflight_too_high(&rs.loss) && self.inflight_longterm < Bytes::MAX {
            self.inflight_longterm = self.inflight_longterm.max(rs.loss.tx_in_flight);
            if self.state == State::ProbeBw(Phase::Up) {
                self.probe_inflight_longterm_upward(rs);
            }
        }
        false
    }

    /// Whether this sample, the first of a round trip after a probe, ends a cycle of the bandwidth's
    /// filter: the network alone has limited it.
    ///
    /// A ProbeRTT marks all data in flight as application-limited. After a fall of the capacity before
    /// a deep buffer, half of the old bandwidth-delay product stays in flight during each ProbeRTT, so
    /// that the queue remains and becomes the minimum round-trip time, and the window grows with it.
    /// Once a cycle takes as long as the interval of ProbeRTT, 5 s, no cycle ends with an unmarked
    /// sample, and the old bandwidth stays for ever. Google's code does the same (google/bbr,
    /// `bbr_adapt_upper_bounds`).
    ///
    /// Deviation (draft-ietf-ccwg-bbr-06 section 5.5.6): with `max_bw_filter = "repaired"`, a ProbeRTT
    /// ends a cycle, and its marks do not keep the next one from ending.
    fn ends_bw_cycle(&self, in_probe_bw: bool, rs: &Sample) -> bool {
        if self.config.is_filter_repaired {
            !rs.is_limited_by_app
        } else {
            in_probe_bw && !rs.loss.is_app_limited
        }
    }

    /// `RaiseInflightLongtermSlope`: each round trip of probing adds twice as many packets
    /// as the one before.
    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let probing = &mut self.probing;
        let growth_this_round = 1 << probing.bw_probe_up_rounds;
        probing.bw_probe_up_rounds = (probing.bw_probe_up_rounds + 1).min(30);
        let per_inc = self.window.cwnd / growth_this_round;
        probing.probe_up_acked_per_inc = per_inc.max(self.config.smss);
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_inflight_longterm_upward(&mut self, rs: &Sample) {
        if !self.is_bound_by_longterm(rs) {
            return;
        }
        let probing = &mut self.probing;
        probing.bw_probe_up_acked += rs.newly_acked;
        let per_inc = probing.probe_up_acked_per_inc;
        if probing.bw_probe_up_acked >= per_inc {
            let delta = probing.bw_probe_up_acked.0 / per_inc.0;
            probing.bw_probe_up_acked -= per_inc * delta;
            self.inflight_longterm += self.config.smss * delta;
        }
        if self.round.start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// Whether `inflight_longterm` limits the sender.
    pub(super) fn is_bound_by_longterm(&self, rs: &Sample) -> bool {
        rs.is_cwnd_limited && self.window.cwnd >= self.inflight_longterm
    }

    /// `InflightWithHeadroom`.
    pub(super) fn inflight_with_headroom(&self) -> Bytes {
        if self.inflight_longterm == Bytes::MAX {
            return Bytes::MAX;
        }
        let headroom = self.config.headroom.of_bytes(self.inflight_longterm);
        let headroom = headroom.max(self.config.smss);
        self.inflight_longterm.saturating_sub(headroom).max(self.config.least_cwnd)
    }

    /// `TargetInflight` (section 5.3.3.8.3).
    pub(super) fn target_inflight(&self) -> Bytes {
        self.bdp().min(self.window.cwnd)
    }
}
