//! Drain: appendix A.3 and A.4.

use super::path::{MSS, Path};
use super::{CYCLE, Row, deep};

/// Runs through Drain and returns its first row and the first after it.
fn drained(path: &mut Path) -> (Row, Row) {
    let begin = path.row();
    path.run_until(CYCLE, |p| p.state() != "drain");
    (begin, path.row())
}

#[test]
fn a_03_drain_ends_on_inflight() {
    let mut path = deep();
    path.run_to("drain", CYCLE);
    let (begin, end) = drained(&mut path);
    assert_eq!(begin.view.pacing_gain, 500);
    assert!(end.view.state.starts_with("probe_bw"), "{}", end.view.state);
    // More than the target was in flight until the last acknowledgement, and at most the target
    // after it, except for a packet sent since.
    let draining: Vec<_> = path.rows.iter().filter(|r| r.view.state == "drain").collect();
    assert!(draining.iter().all(|r| r.in_flight + MSS > r.view.inflight));
    assert!(end.in_flight <= end.view.inflight + MSS, "{end:?}");
    assert!(end.view.round_count <= begin.view.round_count + 3);
}

#[test]
fn a_04_drain_ends_after_three_rounds() {
    let mut path = deep();
    path.run_to("drain", CYCLE);
    // Drain paces at half the estimate, so that the data in flight stay constant only if the
    // capacity is below that.
    path.rate = path.rate * 45 / 100;
    let (begin, end) = drained(&mut path);
    assert!(end.view.state.starts_with("probe_bw"), "{}", end.view.state);
    assert!(end.in_flight > end.view.inflight, "{end:?}");
    // CheckDrainDone: round_count > drain_start_round + 3.
    assert_eq!(end.view.round_count, begin.view.round_count + 4);
}

/// The appendix lowers the capacity by 10 %. Against a pacing gain of 0.5 the flow still drains, so
/// that the data in flight end Drain, and in time.
#[test]
fn a_04_a_tenth_less_capacity_still_drains() {
    let mut path = deep();
    path.run_to("drain", CYCLE);
    path.rate = path.rate * 9 / 10;
    let (begin, end) = drained(&mut path);
    assert!(end.in_flight <= end.view.inflight + MSS, "{end:?}");
    assert!(end.view.round_count <= begin.view.round_count + 4);
}
