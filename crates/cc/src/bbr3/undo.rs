//! Undoes the response to spurious losses (section 5.5.11).

use sojourn_units::{Bytes, Rate};

use super::cycle::Phase;
use super::{Bbr3, State};

/// A state that ended because of a loss (`BBR.undo_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probed {
    /// Startup.
    Startup,
    /// ProbeBW_UP.
    ProbeBwUp,
}

/// State saved before a loss.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// `BBR.undo_state`.
    pub(super) probed: Option<Probed>,
    /// `BBR.undo_bw_shortterm`.
    pub(super) bw_shortterm: Rate,
    /// `BBR.undo_inflight_shortterm`.
    pub(super) inflight_shortterm: Bytes,
    /// `BBR.undo_inflight_longterm`.
    pub(super) inflight_longterm: Bytes,
}

impl Bbr3 {
    /// `SaveStateUponLoss`.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            probed: None,
            bw_shortterm: self.short_term.bw_shortterm,
            inflight_shortterm: self.short_term.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.window.restore();
        self.loss_round.is_loss_in_round = false;
        self.full_bw.reset(Rate::ZERO);
        let (undo, now) = (self.undo, &mut self.short_term);
        now.bw_shortterm = now.bw_shortterm.max(undo.bw_shortterm);
        now.inflight_shortterm = now.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        let dips = self.is_in_probe_rtt();
        match self.undo.probed.take() {
            Some(Probed::Startup) if self.state != State::Startup => {
                // ProbeRTT continues, and then ends in Startup.
                self.full_bw.reached = false;
                if !dips {
                    self.enter_startup();
                }
            }
            Some(Probed::ProbeBwUp) if self.state != State::ProbeBw(Phase::Up) && !dips => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }
}
