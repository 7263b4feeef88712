//! Response to each lost packet (section 5.5.10.2).

use sojourn_units::{Bytes, Instant};

use super::Bbr3;
use super::cycle::Phase;
use super::packets::Packet;
use super::sample::LossSample;
use super::undo::Probed;
use super::{State, factor::Factor};
use crate::contract::Feedback;

/// Round trips that begin with a loss.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossRound {
    /// `BBR.loss_round_delivered`.
    pub(super) delivered: Bytes,
    /// `BBR.loss_round_start`.
    pub(super) start: bool,
    /// `BBR.is_loss_in_round`.
    pub(super) is_loss_in_round: bool,
    /// Whether the transport is in loss recovery, or was until this acknowledgement.
    ///
    /// Deviation (draft-ietf-ccwg-bbr-06 section 5.3.1.3): high loss in Startup counts as within
    /// recovery if recovery ends with the same acknowledgement, because QUIC's recovery lasts
    /// exactly one round trip.
    pub(super) in_recovery: bool,
    /// Discontiguous ranges of packets lost in this round trip.
    ranges: u64,
    /// Number of the packet after the last lost one.
    next: Option<u64>,
}

impl LossRound {
    fn note(&mut self, number: u64) {
        self.ranges += u64::from(self.next != Some(number));
        self.next = number.checked_add(1);
    }

    /// Lost ranges in the round trip that ends now; resets the count.
    pub(super) fn take_ranges(&mut self) -> u64 {
        std::mem::take(&mut self.ranges)
    }
}

impl Bbr3 {
    /// Handles every loss that `feedback` reports.
    pub(super) fn handle_losses(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let mut rest = feedback.lost;
        for &number in feedback.lost_numbers {
            self.loss_round.note(number);
            self.note_loss();
            if let Some(packet) = self.packets.get(number) {
                let size = Bytes(u64::from(packet.size));
                self.lost += size;
                rest = rest.saturating_sub(size);
                self.handle_lost_packet(now, &packet);
            }
        }
        // A tail loss probe repaired this loss, so the packet number is unknown.
        if rest > Bytes::ZERO {
            self.lost += rest;
            self.note_loss();
        }
    }

    /// `NoteLoss`.
    ///
    /// Deviation (draft-ietf-ccwg-bbr-06 section 5.5.10.2): the state for a later undo is saved
    /// when a recovery begins, as in sections 2.15 and 5.5.11 and in Linux. The pseudocode saves it
    /// at the first loss of each round trip: the second packet of the loss that ends ProbeBW_UP
    /// would overwrite it.
    fn note_loss(&mut self) {
        if !self.loss_round.is_loss_in_round {
            self.loss_round.delivered = self.delivered;
            if !self.window.in_loss_recovery {
                self.save_state_upon_loss();
            }
        }
        self.loss_round.is_loss_in_round = true;
    }

    /// `HandleLostPacket`, after `NoteLoss`.
    ///
    /// Deviation (draft-ietf-ccwg-bbr-06 section 5.5.10.2): losses have a sample of their own, as
    /// in Linux (`bbr_skb_marked_lost`). The pseudocode overwrites that of the acknowledgement.
    fn handle_lost_packet(&mut self, now: Instant, packet: &Packet) {
        if !self.probing.is_bw_probe_sample {
            return;
        }
        let mut sample = LossSample {
            tx_in_flight: packet.tx_in_flight,
            lost: self.lost.saturating_sub(packet.lost),
            is_app_limited: packet.is_app_limited,
        };
        if self.is_inflight_too_high(&sample) {
            let size = Bytes(u64::from(packet.size));
            sample.tx_in_flight = inflight_at_loss(self.config.loss_thresh, &sample, size);
            self.handle_inflight_too_high(now, &sample);
        }
    }

    /// `IsInflightTooHigh`. Both transport profiles have selective acknowledgements
    /// (`C.has_selective_acks`).
    pub(super) fn is_inflight_too_high(&self, sample: &LossSample) -> bool {
        sample.lost > self.config.loss_thresh.of_bytes(sample.tx_in_flight)
    }

    pub(super) fn handle_inflight_too_high(&mut self, now: Instant, sample: &LossSample) {
        self.probing.prev_probe_too_high = true;
        self.probing.is_bw_probe_sample = false;
        if !sample.is_app_limited {
            let least = self.config.beta.of_bytes(self.target_inflight());
            self.inflight_longterm = sample.tx_in_flight.max(least);
        }
        if self.state == State::ProbeBw(Phase::Up) {
            self.undo.probed = Some(Probed::ProbeBwUp);
            self.start_probe_bw_down(now);
        }
    }
}

/// `InflightAtLoss`: the data in flight when the losses crossed `thresh`, within the packet
/// of `size`.
///
/// Deviation (draft-ietf-ccwg-bbr-06 section 5.5.10.2): the part of a lost packet that counts is at
/// least zero, as in Linux (`bbr_inflight_hi_from_lost_skb`). If the losses had crossed the
/// threshold before, the draft's would be negative.
pub(super) fn inflight_at_loss(thresh: Factor, sample: &LossSample, size: Bytes) -> Bytes {
    let inflight_prev = sample.tx_in_flight.saturating_sub(size);
    let lost_prev = sample.lost.saturating_sub(size);
    let budget = thresh.of_bytes(inflight_prev).saturating_sub(lost_prev);
    let lost_prefix = thresh.complement().part_of(budget.0);
    inflight_prev + Bytes(lost_prefix)
}

#[cfg(test)]
mod tests {
    use sojourn_units::Bytes;

    use super::super::factor::Factor;
    use super::super::sample::LossSample;
    use super::{LossRound, inflight_at_loss};

    fn at_loss(tx_in_flight: u64, lost: u64, size: u64) -> u64 {
        let (tx_in_flight, lost) = (Bytes(tx_in_flight), Bytes(lost));
        let sample = LossSample { tx_in_flight, lost, is_app_limited: false };
        inflight_at_loss(Factor::from_f64(0.02), &sample, Bytes(size)).0
    }

    /// Section 5.5.10.2: (lost_prev + prefix) / (inflight_prev + prefix) = 2 %.
    #[test]
    fn the_threshold_is_crossed_within_the_packet() {
        // 100 packets of 1000 bytes, of which 1 was lost, then a burst of 10 that is lost:
        // (1000 + p) / (100000 + p) = 0.02 gives p = 1000 / 0.98.
        assert_eq!(at_loss(110_000, 11_000, 10_000), 100_000 + 1020);
        // No loss before: p / (100000 + p) = 0.02.
        assert_eq!(at_loss(110_000, 10_000, 10_000), 100_000 + 2040);
        // At least 2 % were lost before.
        assert_eq!(at_loss(101_000, 3_000, 1_000), 100_000);
        assert_eq!(at_loss(101_000, 9_000, 1_000), 100_000);
    }

    #[test]
    fn adjacent_packets_are_one_range() {
        let mut round = LossRound::default();
        [3, 4, 5, 9, 11, 12].into_iter().for_each(|number| round.note(number));
        assert_eq!((round.take_ranges(), round.take_ranges()), (3, 0));
    }
}
