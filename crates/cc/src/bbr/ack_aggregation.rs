//! How far acknowledgements come in bunches, so that the window can carry the
//! sender through the silence between two bunches.

use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::gain::Gain;

/// `bbr_extra_acked_win_rtts`: either half of the window, in rounds.
const WINDOW_ROUNDS: u64 = 5;
/// `bbr_extra_acked_max_us`: at most what the bandwidth delivers in this.
const MAX_SPAN: Duration = Duration::from_millis(100);
/// `bbr_ack_epoch_acked_reset_thresh`: an epoch this large, in packets, ends.
const MAX_EPOCH: u64 = 1 << 20;

/// The most packets acknowledged beyond what the bandwidth explains, over the
/// last five to ten rounds (`bbr_update_ack_aggregation`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckAggregation {
    epoch_start: Instant,
    /// Packets acknowledged since then.
    epoch_acked: u64,
    /// The maximum of either half of the window; one is being filled.
    extra_acked: [u64; 2],
    filling: usize,
    rounds: u64,
}

impl AckAggregation {
    /// A new epoch: the sender was idle (`bbr_cwnd_event`).
    pub(super) fn restart(&mut self, now: Instant) {
        self.epoch_start = now;
        self.epoch_acked = 0;
    }

    /// A round begins: every fifth one, the older half is forgotten.
    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= WINDOW_ROUNDS {
            self.rounds = 0;
            self.filling = 1 - self.filling;
            self.extra_acked[self.filling] = 0;
        }
    }

    /// `acked` packets of `mss` bytes were acknowledged while the bandwidth was
    /// deemed `bw` and the window was `cwnd` packets.
    pub(super) fn on_ack(&mut self, now: Instant, acked: u64, bw: Rate, mss: Bytes, cwnd: u64) {
        let mut expected = bw.bytes_in(now.since(self.epoch_start)).0 / mss.0;
        // Slower than the bandwidth: no bunch is under way, the next may begin.
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
