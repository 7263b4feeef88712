//! The congestion window, in packets (draft section 4.2.3).

use super::ack::Ack;
use super::config::Config;

/// The transport's state, as far as BBR uses it (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaState {
    Open,
    Recovery,
    Loss,
}

/// The window, and the effects of loss recovery on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Congestion window in packets (`snd_cwnd`).
    pub(super) cwnd: u64,
    /// The window to restore after recovery or PROBE_RTT.
    prior_cwnd: u64,
    /// Whether this is the first round of recovery, in which the sender sends only as much
    /// as is delivered.
    pub(super) packet_conservation: bool,
    state: CaState,
    /// The state at the last acknowledgement (`prev_ca_state`).
    prev_state: CaState,
    /// End of an extended recovery, as a packet number; `None` if the transport's own recovery
    /// applies.
    ///
    /// Deviation (Linux tcp_bbr.c): over QUIC, whose recovery lasts one round trip, each loss
    /// extends BBR's recovery, as in Google's `BbrSender` (`UpdateRecoveryState`). Linux's BBR runs
    /// over TCP only.
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

    /// Saves the window before it is reduced. A window that recovery or PROBE_RTT has
    /// already reduced must not replace a greater one (`bbr_save_cwnd`).
    pub(super) fn save(&mut self, in_probe_rtt: bool) {
        let healthy = self.prev_state == CaState::Open && !in_probe_rtt;
        self.prior_cwnd = if healthy { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// Restores the saved window.
    pub(super) fn restore(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Starts loss recovery (`bbr_ssthresh`). The window changes with the next
    /// acknowledgement, when `follow` sees the new state.
    pub(super) fn on_loss_event(&mut self, in_probe_rtt: bool) {
        self.save(in_probe_rtt);
        self.state = CaState::Recovery;
    }

    /// `tcp_enter_loss`: saves the window, unless recovery has done so.
    ///
    /// Deviation (Linux `tcp_enter_loss`): the window after a timeout is one packet; the kernel
    /// adds the packets still in flight.
    pub(super) fn on_timeout(&mut self, in_probe_rtt: bool) {
        if self.state == CaState::Open {
            self.save(in_probe_rtt);
        }
        self.cwnd = 1;
        self.state = CaState::Loss;
        self.prev_state = CaState::Loss;
    }

    /// Follows the transport into and out of recovery, and subtracts losses from the window
    /// (`bbr_set_cwnd_to_recover_or_restore`). Returns whether recovery, and with it a
    /// round, begins.
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

    /// Extends recovery to `next_number`, after losses detected before that packet left.
    pub(super) fn extend_recovery(&mut self, next_number: u64) {
        if let Some(end) = &mut self.extended_to {
            *end = next_number;
        }
    }

    /// Packet conservation: sends one packet for every packet delivered.
    pub(super) fn conserve(&mut self, ack: &Ack) {
        self.cwnd = self.cwnd.max(ack.in_flight + ack.acked);
    }

    /// Grows the window by the acknowledged packets, up to `target`. The window is cut to
    /// `target` only once the pipe is full, because before that the target lags behind
    /// (`bbr_set_cwnd`).
    pub(super) fn steer(&mut self, ack: &Ack, target: u64, full: bool, config: &Config) {
        let grown = self.cwnd + ack.acked;
        let begun = ack.delivered_packets >= config.initial_window;
        if full {
            self.cwnd = grown.min(target);
        } else if self.cwnd < target || !begun {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(config.cwnd_min_target);
    }
}
