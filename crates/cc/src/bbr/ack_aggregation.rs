//! Estimate of ACK aggregation, with which the window carries the sender through the
//! silence between two bursts of acknowledgements.

use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::gain::Gain;

/// `bbr_extra_acked_win_rtts`: length of each half of the window, in rounds.
const WINDOW_ROUNDS: u64 = 5;
/// `bbr_extra_acked_max_us`: the bandwidth times this bounds the estimate.
const MAX_SPAN: Duration = Duration::from_millis(100);
/// `bbr_ack_epoch_acked_reset_thresh`: packets at which an epoch ends.
const MAX_EPOCH: u64 = 1 << 20;

/// Maximum of the packets acknowledged beyond those the bandwidth predicts, over the last
/// five to ten rounds (`bbr_update_ack_aggregation`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckAggregation {
    epoch_start: Instant,
    /// Packets acknowledged since `epoch_start`.
    epoch_acked: u64,
    /// The maxima of both halves of the window; `filling` is the current one.
    extra_acked: [u64; 2],
    filling: usize,
    rounds: u64,
}

impl AckAggregation {
    /// Starts a new epoch after an idle period (`bbr_cwnd_event`).
    pub(super) fn restart(&mut self, now: Instant) {
        self.epoch_start = now;
        self.epoch_acked = 0;
    }

    /// Starts a round; every fifth one discards the older half of the window.
    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= WINDOW_ROUNDS {
            self.rounds = 0;
            self.filling = 1 - self.filling;
            self.extra_acked[self.filling] = 0;
        }
    }

    /// Records `acked` packets of `mss` bytes, at the estimated bandwidth `bw` and a window
    /// of `cwnd` packets.
    pub(super) fn on_ack(&mut self, now: Instant, acked: u64, bw: Rate, mss: Bytes, cwnd: u64) {
        let mut expected = bw.bytes_in(now.since(self.epoch_start)).0 / mss.0;
        // Acknowledgements came no faster than the bandwidth: start a new epoch.
        if self.epoch_acked <= expected || self.epoch_acked + acked >= MAX_EPOCH {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + acked).min(MAX_EPOCH - 1);
        let extra = self.epoch_acked.saturating_sub(expected).min(cwnd);
        let most = &mut self.extra_acked[self.filling];
        *most = extra.max(*most);
    }

    /// Packets to add to the window (`bbr_ack_aggregation_cwnd`).
    pub(super) fn extra_cwnd(&self, gain: Gain, bw: Rate, mss: Bytes) -> u64 {
        let most = self.extra_acked[0].max(self.extra_acked[1]);
        gain.of(most).min(bw.bytes_in(MAX_SPAN).0 / mss.0)
    }
}
