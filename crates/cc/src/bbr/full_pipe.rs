//! Whether STARTUP has filled the pipe.

use sojourn_units::Rate;

use super::config::Config;

/// Watches for three rounds in which the bandwidth grew by less than a quarter
/// (`bbr_check_full_bw_reached`; draft section 4.3.2). Three, since the
/// receiver may need two to enlarge its window and the third to show it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    pub(super) reached: bool,
    /// The bandwidth that the next round has to exceed by a quarter.
    baseline: Rate,
    /// Rounds that did not.
    rounds: u64,
}

impl FullPipe {
    /// A round that the application did not limit has begun.
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

    /// What counts as growth starts over (`bbr_set_state`, at a timeout).
    pub(super) fn forget_baseline(&mut self) {
        self.baseline = Rate::ZERO;
    }

    /// The rounds without growth were of spurious losses (`bbr_undo_cwnd`).
    pub(super) fn forget(&mut self) {
        self.forget_baseline();
        self.rounds = 0;
    }
}
