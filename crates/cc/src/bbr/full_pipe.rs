//! The end of STARTUP: detects a full pipe.

use sojourn_units::Rate;

use super::config::Config;

/// The pipe is full after three rounds in which the bandwidth grew by less than a quarter
/// (`bbr_check_full_bw_reached`; draft section 4.3.2). The receiver may need two rounds to
/// enlarge its window, and the third shows the effect.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    pub(super) reached: bool,
    /// The bandwidth that the next round must exceed by a quarter.
    baseline: Rate,
    /// Rounds without that growth.
    rounds: u64,
}

impl FullPipe {
    /// Starts a round that is not application-limited.
    pub(super) fn on_round(&mut self, max_bw: Rate, config: &Config) {
        if self.reached {
            return;
        }
        if max_bw >= config.full_bw_thresh.of_rate(self.baseline) {
            self.baseline = max_bw;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= config.full_bw_cnt;
    }

    /// Resets the baseline of growth (`bbr_set_state`, at a timeout).
    pub(super) fn forget_baseline(&mut self) {
        self.baseline = Rate::ZERO;
    }

    /// Discards the rounds without growth, because their losses were spurious
    /// (`bbr_undo_cwnd`).
    pub(super) fn forget(&mut self) {
        self.forget_baseline();
        self.rounds = 0;
    }
}
