//! The short-term model: recent deliveries, and the response to losses between two probes
//! (section 5.5.10.3).

use sojourn_units::{Bytes, Rate};

use super::cycle::Phase;
use super::sample::Sample;
use super::{Bbr3, State};

/// Bounds that hold until the next probe, and the measurements behind them.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortTerm {
    /// `BBR.bw_shortterm`; [`Rate::MAX`] for infinity.
    pub(super) bw_shortterm: Rate,
    /// `BBR.inflight_shortterm`; [`Bytes::MAX`] for infinity.
    pub(super) inflight_shortterm: Bytes,
    /// `BBR.bw_latest`.
    pub(super) bw_latest: Rate,
    /// `BBR.inflight_latest`.
    pub(super) inflight_latest: Bytes,
}

impl Default for ShortTerm {
    fn default() -> ShortTerm {
        ShortTerm {
            bw_shortterm: Rate::MAX,
            inflight_shortterm: Bytes::MAX,
            bw_latest: Rate::ZERO,
            inflight_latest: Bytes::ZERO,
        }
    }
}

impl Bbr3 {
    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest_delivery_signals(&mut self, rs: &Sample) {
        let latest = &mut self.short_term;
        latest.bw_latest = latest.bw_latest.max(rs.delivery_rate);
        latest.inflight_latest = latest.inflight_latest.max(rs.delivered);
        let round = &mut self.loss_round;
        round.start = rs.prior_delivered.is_some_and(|prior| prior >= round.delivered);
        if round.start {
            round.delivered = self.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &Sample) {
        if self.loss_round.start {
            self.short_term.bw_latest = rs.delivery_rate;
            self.short_term.inflight_latest = rs.delivered;
        }
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss_round.is_loss_in_round = false;
        self.end_ecn_round();
        self.short_term.bw_latest = Rate::ZERO;
        self.short_term.inflight_latest = Bytes::ZERO;
    }

    /// `UpdateCongestionSignals`.
    pub(super) fn update_congestion_signals(&mut self, rs: &Sample) {
        self.update_max_bw(rs);
        if self.round.start {
            self.update_ecn_alpha();
        }
        if !self.loss_round.start {
            return;
        }
        self.adapt_lower_bounds_from_congestion();
        self.loss_round.is_loss_in_round = false;
        self.end_ecn_round();
    }

    /// The lower of the bounds by losses and by marks (`bbr_adapt_lower_bounds`).
    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.is_probing_bw() {
            return;
        }
        let inflight = match self.short_term.inflight_shortterm {
            Bytes::MAX => self.window.cwnd,
            bound => bound,
        };
        let by_marks = self.ecn_lower_bound(inflight);
        if self.loss_round.is_loss_in_round {
            self.adapt_lower_bounds_from_loss();
        }
        if let Some(bound) = by_marks {
            let inflight = &mut self.short_term.inflight_shortterm;
            *inflight = (*inflight).min(bound);
        }
    }

    fn adapt_lower_bounds_from_loss(&mut self) {
        let (model, beta) = (&mut self.short_term, self.config.beta);
        // InitLowerBounds: the first loss of this cycle.
        if model.bw_shortterm == Rate::MAX {
            model.bw_shortterm = self.bandwidth.max_bw;
        }
        if model.inflight_shortterm == Bytes::MAX {
            model.inflight_shortterm = self.window.cwnd;
        }
        // LossLowerBounds
        model.bw_shortterm = model.bw_latest.max(beta.of_rate(model.bw_shortterm));
        model.inflight_shortterm =
            model.inflight_latest.max(beta.of_bytes(model.inflight_shortterm));
    }

    /// `ResetShortTermModel`.
    pub(super) fn reset_short_term_model(&mut self) {
        self.short_term.bw_shortterm = Rate::MAX;
        self.short_term.inflight_shortterm = Bytes::MAX;
    }

    /// `IsProbingBW` (section 5.3.3.9).
    fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::ProbeBw(Phase::Refill | Phase::Up))
    }
}
