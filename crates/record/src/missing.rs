//! The time in which a flow measures no round trip.

use crate::FlowSample;

/// [`crate::FlowSummary::rtt_missing_share`] of the samples of a flow, in the order of time.
///
/// A sender with data in flight measures at least once a round trip, except while acknowledgements are
/// ambiguous (RFC 6298 section 3) or do not come. The time before its first measurement does not count.
pub fn rtt_missing_share(samples: impl Iterator<Item = FlowSample>) -> Option<f64> {
    let (mut active, mut missing) = (0_u64, 0_u64);
    let (mut last, mut known_until) = (None, 0.0);
    for one in samples {
        let rtt = one.rtt_s.get();
        last = rtt.or(last);
        let Some(last) = last else { continue };
        if rtt.is_some() || one.in_flight_bytes == 0 {
            known_until = one.t_s + last;
        }
        active += u64::from(rtt.is_some() || one.in_flight_bytes > 0);
        missing += u64::from(one.t_s > known_until);
    }
    (active > 0).then(|| missing as f64 / active as f64)
}
