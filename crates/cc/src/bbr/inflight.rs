//! Target for the data in flight, and so for the window (draft section 4.2.3.2).

use sojourn_units::{Duration, Instant, Rate};

use super::ack::Ack;
use super::gain::Gain;
use super::{Bbr, Mode};

impl Bbr {
    /// `bbr_set_cwnd`.
    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        if self.window.follow(ack) {
            self.round.restart(ack.delivered);
        }
        if self.window.packet_conservation {
            self.window.conserve(ack);
        } else {
            let target = self.target_cwnd();
            self.window.steer(ack, target, self.full_pipe.reached, &self.config);
        }
        if self.in_probe_rtt() {
            self.window.cwnd = self.window.cwnd.min(self.config.cwnd_min_target);
        }
    }

    fn target_cwnd(&self) -> u64 {
        let bw = self.bw();
        let mut target = self.bdp(bw, self.cwnd_gain);
        if self.full_pipe.reached {
            let gain = self.config.extra_acked_gain;
            target += self.aggregation.extra_cwnd(gain, bw, self.config.mss);
        }
        self.quantized(target)
    }

    /// `gain` bandwidth-delay products in packets, rounded up (`bbr_bdp`).
    fn bdp(&self, bw: Rate, gain: Gain) -> u64 {
        if self.min_rtt.rtt == Duration::MAX {
            return self.config.initial_window;
        }
        let bits = u128::from(bw.0) * u128::from(self.min_rtt.rtt.0);
        let packet = 8_000_000_000 * u128::from(Gain::UNIT) * u128::from(self.config.mss.0);
        let packets = (bits * u128::from(gain.in_units())).div_ceil(packet);
        // Far above any real path, and low enough that sums cannot overflow.
        packets.min(u128::from(u32::MAX)) as u64
    }

    /// Adds room for bursts in transit in the sender and the receiver, for an ACK of every
    /// other packet, and for probing with a tiny window (`bbr_quantization_budget`).
    fn quantized(&self, cwnd: u64) -> u64 {
        let budget = cwnd + 3 * self.pacer.tso_segs_goal(self.config.mss);
        let even = budget.next_multiple_of(2);
        let probing = matches!(self.mode, Mode::ProbeBw(cycle) if cycle.index == 0);
        even + if probing { 2 } else { 0 }
    }

    /// `bbr_inflight`.
    pub(super) fn inflight(&self, bw: Rate, gain: Gain) -> u64 {
        self.quantized(self.bdp(bw, gain))
    }

    /// Packets in flight at the next time that pacing releases a packet
    /// (`bbr_packets_in_net_at_edt`).
    pub(super) fn packets_in_net_at_edt(&self, now: Instant, in_flight: u64) -> u64 {
        let delivered = self.bw().bytes_in(self.pacer.hold(now)).0 / self.config.mss.0;
        let probing = self.pacing_gain > Gain::ONE;
        let burst = if probing { self.pacer.tso_segs_goal(self.config.mss) } else { 0 };
        (in_flight + burst).saturating_sub(delivered)
    }
}
