//! Estimate of ACK aggregation (section 5.5.9), with which the window carries the sender
//! through the silence between two bursts of acknowledgements.

use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::Bbr3;
use super::sample::Sample;
use crate::windowed::WindowedMax;

/// `bbr_extra_acked_max_us`.
const MAX_SPAN: Duration = Duration::from_millis(100);

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
        // Deviation (draft-ietf-ccwg-bbr-06 section 5.4.1): forgets the deliveries of the interval too, as
        // Linux does (`bbr_cwnd_event`). They would count as excess in every later interval, up to
        // the window, which grows by the excess.
        (self.delivered, self.interval_start) = (Bytes::ZERO, now);
    }

    /// The excess that the window carries, at the bandwidth `bw`.
    pub(super) fn allowance(&self, bw: Rate) -> Bytes {
        // Deviation (draft-ietf-ccwg-bbr-06 section 5.5.9): at most 100 ms of the bandwidth, as in Linux
        // (`bbr_extra_acked_max_us`).
        self.extra_acked.min(bw.bytes_in(MAX_SPAN))
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
