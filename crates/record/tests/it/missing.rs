//! The time in which a flow measures no round trip.

use sojourn_record::{FlowSample, rtt_missing_share};

/// Samples every 10 ms with this RTT in ms, 0 for none, and these bytes in flight.
fn share(rows: &[(u64, u64)]) -> Option<f64> {
    let sample = |(place, (rtt_ms, in_flight_bytes)): (usize, &(u64, u64))| FlowSample {
        t_s: place as f64 / 100.0,
        rtt_s: Some(*rtt_ms as f64 / 1e3).filter(|rtt| *rtt > 0.0).into(),
        in_flight_bytes: *in_flight_bytes,
        ..FlowSample::default()
    };
    rtt_missing_share(rows.iter().enumerate().map(sample))
}

#[test]
fn a_sender_in_recovery_lacks_samples() {
    // The last sample of 15 ms covers one of four intervals without any.
    let rows = [(15, 1), (15, 1), (0, 1), (0, 1), (0, 1), (0, 1), (15, 1), (15, 1)];
    assert_eq!(share(&rows), Some(3.0 / 8.0));
}

#[test]
fn a_sender_with_few_packets_lacks_none() {
    // One packet for each round trip, and pauses without data in flight.
    let rows = [(0, 1), (25, 1), (0, 1), (0, 1), (25, 0), (0, 0), (0, 0), (0, 1), (0, 1), (25, 0)];
    assert_eq!(share(&rows), Some(0.0));
}

#[test]
fn a_flow_without_round_trips_has_no_share() {
    assert_eq!(share(&[(0, 1), (0, 1)]), None);
    assert_eq!(share(&[]), None);
}
