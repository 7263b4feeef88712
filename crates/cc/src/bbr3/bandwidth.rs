//! The bandwidth of the path, and the round trips that time its measurement.

use sojourn_units::{Bytes, Rate};

use super::Bbr3;
use super::factor::Factor;
use super::sample::Sample;
use crate::windowed::WindowedMax;

/// The data rate model (section 2.9.1), without its short-term bound.
#[derive(Debug, Default)]
pub(super) struct Bandwidth {
    /// `BBR.max_bw`.
    pub(super) max_bw: Rate,
    /// `BBR.bw`.
    pub(super) bw: Rate,
    /// `BBR.max_bw_filter`, over probing cycles.
    filter: WindowedMax,
    /// `BBR.cycle_count`.
    pub(super) cycle_count: u64,
}

impl Bbr3 {
    /// `UpdateRound` (section 5.5.1).
    fn update_round(&mut self, rs: &Sample) {
        let next = self.round.next_delivered;
        self.round.start = rs.prior_delivered.is_some_and(|prior| prior >= next);
        if self.round.start {
            self.start_round();
            self.round.count += 1;
            self.cycle.rounds_since_probe_up += 1;
            self.packets.on_round(rs.next_number);
        }
    }

    /// `UpdateMaxBw` (section 5.5.5). An application-limited sample underestimates the
    /// path, so it counts only if it raises the estimate (section 5.5.4).
    pub(super) fn update_max_bw(&mut self, rs: &Sample) {
        self.update_round(rs);
        let known = &mut self.bandwidth;
        let rate = rs.delivery_rate;
        if rate > Rate::ZERO && (rate >= known.max_bw || !rs.loss.is_app_limited) {
            // `UpdateWindowedMaxFilter`; the filter length includes this cycle.
            //
            // Deviation (draft-ietf-ccwg-bbr-06 section 5.5.5): the filters of bandwidth and
            // aggregation are exact; the draft suggests Kathleen Nichols' three samples.
            let before = self.config.max_bw_filter_len - 1;
            known.max_bw = Rate(known.filter.update(known.cycle_count, rate.0, before));
        }
    }

    /// `AdvanceMaxBwFilter` (section 5.5.6).
    pub(super) fn advance_max_bw_filter(&mut self) {
        self.bandwidth.cycle_count += 1;
    }

    /// `BoundBWForModel` (section 5.5.10.3).
    pub(super) fn bound_bw_for_model(&mut self) {
        self.bandwidth.bw = self.bandwidth.max_bw.min(self.short_term.bw_shortterm);
    }

    /// `BBR.bdp`; zero before the first round-trip time.
    pub(super) fn bdp(&self) -> Bytes {
        self.min_rtt.get().map_or(Bytes::ZERO, |rtt| self.bandwidth.bw.bytes_in(rtt))
    }

    /// `BDPMultiple` (section 5.6.4.2), for the bandwidth `bw`.
    pub(super) fn bdp_multiple(&self, bw: Rate, gain: Factor) -> Bytes {
        match self.min_rtt.get() {
            Some(rtt) => gain.of_bytes(bw.bytes_in(rtt)).min(MOST),
            None => self.config.initial_cwnd,
        }
    }
}

/// More than any path holds, and low enough that sums cannot overflow.
const MOST: Bytes = Bytes(1 << 50);
