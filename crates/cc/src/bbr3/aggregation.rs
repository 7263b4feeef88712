//! Estimate of ACK aggregation (section 5.5.9), with which the window carries the sender
//! through the silence between two bursts of acknowledgements.

use sojourn_units::{Bytes, Instant};

use super::Bbr3;
use super::sample::Sample;
use crate::windowed::WindowedMax;

/// The estimator of ACK aggregation.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    /// `BBR.extra_acked`.
    pub(super) extra_acked: Bytes,
    /// `BBR.extra_acked_interval_start`.
    interval_start: Instant,
    /// `BBR.extra_acked_delivered`.
    delivered: Bytes,
    /// `BBR.extra_acked_filter`, over rounds.
    filter: WindowedMax,
}

impl Aggregation {
    /// Restarts the interval after an idle period, which is not aggregation (section
    /// 5.4.1).
    pub(super) fn restart(&mut self, now: Instant) {
        self.interval_start = now;
    }
}

impl Bbr3 {
    /// `UpdateACKAggregation` (section 5.5.9).
    pub(super) fn update_ack_aggregation(&mut self, rs: &Sample) {
        let aggregation = &mut self.aggregation;
        let mut expected = self.bandwidth.bw.bytes_in(rs.now.since(aggregation.interval_start));
        // Acknowledgements came no faster than the bandwidth: start a new interval.
        if aggregation.delivered <= expected {
            (aggregation.delivered, aggregation.interval_start) = (Bytes::ZERO, rs.now);
            expected = Bytes::ZERO;
        }
        aggregation.delivered += rs.newly_acked;
        let extra = aggregation.delivered.saturating_sub(expected).min(self.window.cwnd);
        // In Startup the filter covers one round.
        let full = self.full_bw.reached;
        let length = if full { self.config.extra_acked_filter_len } else { 1 };
        // `length` includes this round.
        aggregation.extra_acked =
            Bytes(aggregation.filter.update(self.round.count, extra.0, length - 1));
    }
}
