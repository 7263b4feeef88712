//! Startup and Drain (sections 5.3.1 and 5.3.2), and the full-pipe estimator
//! that ProbeBW_UP shares.

use sojourn_units::Rate;

use super::factor::Factor;
use super::sample::Sample;
use super::undo::Probed;
use super::{Bbr3, State};

/// Minimum growth per round (section 5.3.1.2).
const GROWTH: Factor = Factor::percent(125);
/// Rounds below that growth after which the pipe is full (section 5.3.1.2).
const ROUNDS: u64 = 3;
/// Rounds after which Drain ends with any amount of data in flight (section 5.3.2).
const DRAIN_ROUNDS: u64 = 3;

/// The full-pipe estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullBw {
    /// `BBR.full_bw_reached`.
    pub(super) reached: bool,
    /// `BBR.full_bw_now`.
    pub(super) now: bool,
    /// `BBR.full_bw`.
    pub(super) full_bw: Rate,
    /// `BBR.full_bw_count`.
    pub(super) count: u64,
}

impl FullBw {
    /// `ResetFullBW` (section 5.3.1.2), with `full_bw` as the baseline.
    pub(super) fn reset(&mut self, full_bw: Rate) {
        *self = FullBw { reached: self.reached, full_bw, ..FullBw::default() };
    }
}

impl Bbr3 {
    /// `EnterStartup` (section 5.3.1.1).
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// `CheckFullBWReached` (section 5.3.1.2).
    pub(super) fn check_full_bw_reached(&mut self, rs: &Sample) {
        let full = &mut self.full_bw;
        if full.now || !self.round.start || rs.loss.is_app_limited {
            return;
        }
        if rs.delivery_rate >= GROWTH.of_rate(full.full_bw) {
            return full.reset(rs.delivery_rate);
        }
        full.count += 1;
        full.now = full.count >= ROUNDS;
        full.reached |= full.now;
    }

    /// `CheckStartupDone` (section 5.3.1.1).
    pub(super) fn check_startup_done(&mut self, rs: &Sample) {
        self.check_startup_high_loss(rs);
        if self.state == State::Startup && self.full_bw.reached {
            // EnterDrain
            self.state = State::Drain { start_round: self.round.count };
        }
    }

    /// `CheckStartupHighLoss` (section 5.3.1.3), at the end of a round trip that began with
    /// a loss.
    fn check_startup_high_loss(&mut self, rs: &Sample) {
        if !self.loss_round.start {
            return;
        }
        let ranges = self.loss_round.take_ranges();
        if self.full_bw.reached
            || !self.loss_round.in_recovery
            || ranges < self.config.startup_full_loss_cnt
            || !self.is_inflight_too_high(&rs.loss)
        {
            return;
        }
        if self.state == State::Startup {
            self.undo.probed = Some(Probed::Startup);
        }
        self.full_bw.reached = true;
        // Deviation (draft-ietf-ccwg-bbr-06 section 5.3.1.3): high loss in Startup sets
        // `full_bw_now` too, as in appendix A.2; the section names `full_bw_reached` only.
        self.full_bw.now = true;
        self.inflight_longterm = self.bdp().max(self.short_term.inflight_latest);
    }

    /// `CheckDrainDone` (section 5.3.2).
    pub(super) fn check_drain_done(&mut self, rs: &Sample) {
        let State::Drain { start_round } = self.state else { return };
        if rs.in_flight <= self.inflight(self.bandwidth.bw, Factor::ONE)
            || self.round.count > start_round + DRAIN_ROUNDS
        {
            // EnterProbeBW
            self.start_probe_bw_down(rs.now);
        }
    }
}
