//! The congestion window (section 5.6.4).

use sojourn_units::{Bytes, Rate};

use super::config::Config;
use super::cycle::Phase;
use super::factor::Factor;
use super::sample::Sample;
use super::{Bbr3, State};

/// The window, and its value before recovery or ProbeRTT.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// `C.cwnd`.
    pub(super) cwnd: Bytes,
    /// `BBR.prior_cwnd`.
    prior_cwnd: Bytes,
    /// `InLossRecovery`.
    pub(super) in_loss_recovery: bool,
    /// `BBR.max_inflight`.
    pub(super) max_inflight: Bytes,
}

impl Window {
    pub(super) fn new(config: &Config) -> Window {
        let (cwnd, none) = (config.initial_cwnd, Bytes::ZERO);
        Window { cwnd, prior_cwnd: none, in_loss_recovery: false, max_inflight: none }
    }

    /// `RestoreCwnd` (section 5.6.4.4).
    pub(super) fn restore(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

impl Bbr3 {
    /// `SaveCwnd` (section 5.6.4.4): a window that recovery or ProbeRTT has reduced must
    /// not replace a greater one.
    pub(super) fn save_cwnd(&mut self) {
        let held_low = self.window.in_loss_recovery || self.is_in_probe_rtt();
        let prior = if held_low { self.window.prior_cwnd } else { Bytes::ZERO };
        self.window.prior_cwnd = prior.max(self.window.cwnd);
    }

    /// `QuantizationBudget` (section 5.6.4.2).
    fn quantization_budget(&self, inflight_cap: Bytes) -> Bytes {
        let offload_budget = self.pacer.send_quantum * self.config.offload_budget;
        let cap = inflight_cap.max(offload_budget).max(self.config.least_cwnd);
        let is_up = self.state == State::ProbeBw(Phase::Up);
        if is_up { cap + self.config.smss * 2 } else { cap }
    }

    /// `Inflight` (section 5.6.4.2), of the bandwidth `bw`.
    pub(super) fn inflight(&self, bw: Rate, gain: Factor) -> Bytes {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// `UpdateMaxInflight` (section 5.6.4.2).
    fn update_max_inflight(&mut self) {
        let bw = self.bandwidth.bw;
        let cap = self.bdp_multiple(bw, self.cwnd_gain()) + self.aggregation.allowance(bw);
        self.window.max_inflight = self.quantization_budget(cap);
    }

    /// `ProbeRTTCwnd` (section 5.6.4.5).
    pub(super) fn probe_rtt_cwnd(&self) -> Bytes {
        let cwnd = self.bdp_multiple(self.bandwidth.bw, self.config.probe_rtt_cwnd_gain);
        cwnd.max(self.config.least_cwnd)
    }

    /// `SetCwnd` (section 5.6.4.6): the window grows towards the model's bound by at most
    /// the acknowledged bytes. It is cut to the bound only once the pipe is full, because
    /// before that the model lags behind.
    pub(super) fn set_cwnd(&mut self, rs: &Sample) {
        self.update_max_inflight();
        let Window { cwnd, max_inflight, .. } = self.window;
        let grown = cwnd + rs.newly_acked;
        let mut cwnd = if self.full_bw.reached {
            grown.min(max_inflight)
        } else if cwnd < max_inflight || self.delivered < self.config.initial_cwnd {
            grown
        } else {
            cwnd
        };
        cwnd = cwnd.max(self.config.least_cwnd);
        if self.is_in_probe_rtt() {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        self.window.cwnd = cwnd.min(self.bound_for_model());
    }

    /// `BoundCwndForModel` (section 5.6.4.7).
    ///
    /// Deviation (draft-ietf-ccwg-bbr-06 section 5.6.1): `inflight_longterm` does not bound Drain,
    /// as in the pseudocode and in Linux; in the table of the section it does.
    fn bound_for_model(&self) -> Bytes {
        let cap = match self.state {
            State::ProbeBw(Phase::Cruise) | State::ProbeRtt(_) => self.inflight_with_headroom(),
            State::ProbeBw(_) => self.inflight_longterm,
            State::Startup | State::Drain { .. } => Bytes::MAX,
        };
        cap.min(self.short_term.inflight_shortterm).max(self.config.least_cwnd)
    }
}
