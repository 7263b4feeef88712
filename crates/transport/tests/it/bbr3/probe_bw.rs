//! The ProbeBW states: appendix A.5 to A.9, A.21 and A.22.

use sojourn_units::Duration;

use super::path::{MSS, Path, ms};
use super::{CYCLE, RATE, changes, deep, shallow};

/// Runs to ProbeBW_UP.
fn probing(mut path: Path) -> Path {
    path.run_to("probe_bw_up", CYCLE);
    path
}

#[test]
fn a_05_up_ends_on_a_bandwidth_plateau() {
    let mut path = probing(deep());
    let begin = path.row().view;
    assert!(!begin.full_bw_now);
    assert_eq!((begin.pacing_gain, begin.cwnd_gain), (1_250, 2_250));
    path.run_until(CYCLE, |p| p.state() != "probe_bw_up");
    let end = path.row();
    assert_eq!(end.view.state, "probe_bw_down");
    assert!(end.view.full_bw_now && end.view.full_bw_count == 3, "{:?}", end.view);
    assert!(end.view.round_count >= begin.round_count + 3);
    assert_eq!(end.stats.lost, 0);
    assert!(!end.view.prev_probe_too_high);
}

#[test]
fn a_06_up_ends_on_loss_though_the_application_limits() {
    let mut path = probing(deep());
    path.limit_application(RATE / 2);
    // Wait until all earlier packets are acknowledged.
    path.run_for(ms(500));
    assert_eq!(path.state(), "probe_bw_up");
    // Build a queue first, or DOWN would end with its first acknowledgement.
    path.rate = RATE / 5;
    path.run_for(ms(300));
    assert_eq!(path.state(), "probe_bw_up");
    path.drop_every = 20;
    path.run_until(CYCLE, |p| p.state() != "probe_bw_up");
    let end = path.view();
    assert_eq!(end.state, "probe_bw_down");
    assert!(end.prev_probe_too_high && !end.full_bw_now);
    assert_eq!(end.undo_state, Some("probe_bw_up"));
    // HandleInflightTooHigh ignores samples that the application limited: their data in flight do
    // not describe the path.
    assert_eq!(end.inflight_longterm, None);
}

#[test]
fn a_07_up_lasts_as_long_as_the_application_limits() {
    let mut path = probing(deep());
    path.limit_application(RATE / 2);
    let begin = path.rows.len();
    path.run_for(Duration::from_secs(60));
    assert!(path.rows[begin..].iter().all(|r| r.view.state == "probe_bw_up"));
    assert_eq!(path.row().stats.lost, 0);
}

/// Checks that DOWN ends exactly when both bounds are met.
fn goes_down_to_cruise(mut path: Path) {
    path.run_to("probe_bw_down", CYCLE);
    assert_eq!(path.view().pacing_gain, 900);
    let begin = path.rows.len();
    path.run_until(CYCLE, |p| p.state() != "probe_bw_down");
    let end = path.row();
    assert_eq!(end.view.state, "probe_bw_cruise");
    let bound = |r: &super::Row| {
        let headroom = r.view.inflight_with_headroom;
        headroom.map_or(r.view.inflight, |headroom| headroom.min(r.view.inflight))
    };
    assert!(path.rows[begin..path.rows.len() - 1].iter().all(|r| r.in_flight + MSS > bound(r)));
    assert!(end.in_flight <= bound(&end) + MSS, "{end:?}");
}

#[test]
fn a_08_down_ends_on_inflight() {
    let mut deep = deep();
    deep.run_to("probe_bw_up", CYCLE);
    assert_eq!(deep.view().inflight_longterm, None);
    goes_down_to_cruise(deep);
    let mut shallow = shallow();
    shallow.run_to("probe_bw_up", CYCLE);
    shallow.run_to("probe_bw_down", CYCLE);
    assert!(shallow.view().inflight_longterm.is_some());
    goes_down_to_cruise(shallow);
}

#[test]
fn a_09_down_ends_after_the_longest_wait() {
    let mut path = deep();
    path.run_to("probe_bw_up", CYCLE);
    path.run_to("probe_bw_down", CYCLE);
    // At a pacing rate of 0.9 of the estimate, the queue hardly drains.
    path.rate = path.rate * 9 / 10;
    let begin = path.row();
    let wait = begin.view.bw_probe_wait;
    assert!((Duration::from_secs(2)..=Duration::from_secs(3)).contains(&wait), "{wait}");
    path.run_until(CYCLE, |p| p.state() != "probe_bw_down");
    let end = path.row();
    assert_eq!(end.view.state, "probe_bw_refill", "CRUISE is bypassed");
    assert!(end.in_flight > end.view.inflight);
    // The first acknowledgement after the wait, of two packets at 45 Mbit/s.
    let waited = end.now.since(begin.now);
    assert!(waited > wait && waited <= wait + ms(2), "{waited} for {wait}");
}

#[test]
fn a_21_loss_in_up_lowers_the_bound_and_ends_it() {
    let mut path = shallow();
    // The first UP after Startup's losses stops early; the bound is set.
    path.run_to("probe_bw_cruise", CYCLE);
    path.run_to("probe_bw_up", CYCLE);
    // A buffer that would not limit it, and losses with another cause.
    path.buffer = path.buffer * 20;
    let begin = path.view();
    let longterm = begin.inflight_longterm.expect("a probe that went too high has set it");
    path.drop_next = 12;
    path.run_until(CYCLE, |p| p.state() != "probe_bw_up");
    let end = path.view();
    assert_eq!(end.state, "probe_bw_down");
    assert!(end.prev_probe_too_high && !end.full_bw_now);
    let lowered = end.inflight_longterm.unwrap();
    // At least Beta times the target, which is the bandwidth-delay product here.
    assert!(lowered < longterm, "{lowered} after {longterm}");
    assert!(lowered >= end.bdp.mul_f64(0.7), "{lowered} for {}", end.bdp);
}

#[test]
fn a_22_an_idle_application_in_refill_leaves_the_estimate() {
    let mut path = deep();
    path.run_to("probe_bw_refill", CYCLE);
    let begin = path.row().view;
    path.limit_application(RATE / 10);
    path.run_until(CYCLE, |p| p.state() != "probe_bw_refill");
    let end = path.row().view;
    assert_eq!(end.state, "probe_bw_up");
    assert_eq!(end.round_count, begin.round_count + 1);
    assert_eq!(end.max_bw, begin.max_bw);
    // Samples of a tenth of the rate, which do not count.
    path.run_for(ms(400));
    assert_eq!((path.state(), path.view().max_bw), ("probe_bw_up", begin.max_bw));
    // With data again, the probe completes.
    path.resume();
    let resumed = path.rows.len();
    path.run_to("probe_bw_cruise", CYCLE);
    let states: Vec<_> = changes(&path.rows[resumed..]).iter().map(|r| r.view.state).collect();
    assert_eq!(states, ["probe_bw_down", "probe_bw_cruise"]);
}
