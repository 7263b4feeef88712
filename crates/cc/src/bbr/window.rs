//! The congestion window, in packets (draft section 4.2.3).

use super::ack::Ack;
use super::config::Config;

/// The transport's state as far as BBR heeds it (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaState {
    Open,
    Recovery,
    Loss,
}

/// The window, and what loss recovery does to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Congestion window in packets (`snd_cwnd`).
    pub(super) cwnd: u64,
    /// The window to return to after recovery or PROBE_RTT.
    prior_cwnd: u64,
    /// Whether this is recovery's first round, in which only as much is sent
    /// as is delivered.
    pub(super) packet_conservation: bool,
    state: CaState,
    /// The state at the last acknowledgement (`prev_ca_state`).
    prev_state: CaState,
    /// Where the transport's recovery lasts one round trip only, this controller's goes on
    /// until this packet number is acknowledged: each loss extends it (Google's `BbrSender`,
    /// `UpdateRecoveryState`). None where the transport's recovery counts.
    extended_to: Option<u64>,
}

impl Window {
    pub(super) fn new(config: &Config) -> Window {
        Window {
            cwnd: config.initial_window,
            prior_cwnd: 0,
            packet_conservation: false,
            state: CaState::Open,
            prev_state: CaState::Open,
            extended_to: config.extends_recovery.then_some(0),
        }
    }

    /// Remembers the window before a dip; one that is already low through
    /// recovery or PROBE_RTT must not replace a greater one (`bbr_save_cwnd`).
    pub(super) fn save(&mut self, in_probe_rtt: bool) {
        let healthy = self.prev_state == CaState::Open && !in_probe_rtt;
        self.prior_cwnd = if healthy { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// Returns to the window from before the dip.
    pub(super) fn restore(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Loss recovery begins (`bbr_ssthresh`); its effect on the window comes
    /// with the next acknowledgement, as `follow` sees the state changed.
    pub(super) fn on_loss_event(&mut self, in_probe_rtt: bool) {
        self.save(in_probe_rtt);
        self.state = CaState::Recovery;
    }

    /// `tcp_enter_loss`: the window is saved, unless recovery has done so, and
    /// falls to what is in flight and one packet. What is in flight is nothing,
    /// since the timer has everything declared lost.
    pub(super) fn on_timeout(&mut self, in_probe_rtt: bool) {
        if self.state == CaState::Open {
            self.save(in_probe_rtt);
        }
        self.cwnd = 1;
        self.state = CaState::Loss;
        self.prev_state = CaState::Loss;
    }

    /// Follows the transport into and out of recovery, and takes losses off
    /// (`bbr_set_cwnd_to_recover_or_restore`). Returns whether recovery began,
    /// and with it a round.
    pub(super) fn follow(&mut self, ack: &Ack) -> bool {
        let is_extended = self.extended_to.is_some_and(|end| ack.largest_acked < end);
        self.state = match self.state {
            _ if !ack.in_recovery && !is_extended => CaState::Open,
            CaState::Loss if !ack.loss_event => CaState::Loss,
            _ => CaState::Recovery,
        };
        let before = std::mem::replace(&mut self.prev_state, self.state);
        self.cwnd = self.cwnd.saturating_sub(ack.losses).max(1);
        let enters = self.state == CaState::Recovery && before != CaState::Recovery;
        if enters {
            self.packet_conservation = true;
            self.cwnd = ack.in_flight + ack.acked;
        } else if self.state == CaState::Open && before != CaState::Open {
            self.restore();
            self.packet_conservation = false;
        }
        enters
    }

    /// Packets were deemed lost before packet `next_number` left.
    pub(super) fn extend_recovery(&mut self, next_number: u64) {
        if let Some(end) = &mut self.extended_to {
            *end = next_number;
        }
    }

    /// One packet out for every packet in.
    pub(super) fn conserve(&mut self, ack: &Ack) {
        self.cwnd = self.cwnd.max(ack.in_flight + ack.acked);
    }

    /// Grows by what was acknowledged up to `target`; is cut to `target` only
    /// once the pipe was full, since before that the target lags behind
    /// (`bbr_set_cwnd`).
    pub(super) fn steer(&mut self, ack: &Ack, target: u64, full: bool, config: &Config) {
        let grown = self.cwnd + ack.acked;
        let begun = ack.delivered >= config.mss * config.initial_window;
        if full {
            self.cwnd = grown.min(target);
        } else if self.cwnd < target || !begun {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(config.cwnd_min_target);
    }
}
