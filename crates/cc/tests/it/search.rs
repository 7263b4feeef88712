//! SEARCH's end of CUBIC's slow start (draft-chung-ccwg-search).

use crate::common::{Driver, MSS, build, choice};
use sojourn_cc::Controller;
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Duration, Instant};

const RTT: Duration = Duration::from_millis(100);
const INITIAL: u64 = 10;
/// Bytes that the full path delivers in a round trip: so many that fractions of a byte have no effect.
const FULL: f64 = 1e9;

/// Bytes delivered by `t` round trips after the path is full, if its deliveries double in each round
/// trip before.
fn delivered(t: f64) -> f64 {
    FULL * t.min(0.0).exp2() / std::f64::consts::LN_2 + FULL * t.max(0.0)
}

/// Runs a slow start with an acknowledgement every ms, from eight round trips before the path is full.
/// Returns the round trips until its end, since the path is full, and the window at that time. The window
/// grows if `grows`.
fn exit(thresh: f64, rollback: bool, grows: bool) -> (f64, f64) {
    let params = [
        ("slow_start", choice("search")),
        ("search_thresh", Value::Number(thresh)),
        ("search_rollback", Value::Switch(rollback)),
    ];
    let mut driver = Driver::new(build("cubic", INITIAL, &params), RTT);
    driver.now = Instant::ZERO;
    driver.spacing = Some(Duration::from_millis(1));
    let mut sum = delivered(-8.0) as u64;
    for ms in 1..2_000 {
        let t = f64::from(ms) / 100.0 - 8.0;
        let acked = Bytes(delivered(t) as u64 - sum);
        sum += acked.0;
        driver.ack(|f| {
            f.acked = acked;
            f.cwnd_limited = grows;
        });
        if let Some(ssthresh) = driver.cc.probe().ssthresh {
            return (t, ssthresh.as_f64());
        }
    }
    panic!("slow start has no end");
}

/// Section 3: with D(t) bytes delivered by t round trips after the path is full, norm is
/// 1 - (D(t) - D(t - 3.5)) / (2 (D(t - 1) - D(t - 4.5))). It reaches 0.35 at t = 2.20, and 0.26 at
/// t = 1.45. Slow start ends with the bin of 0.35 round trips in which norm reaches the threshold.
#[test]
fn slow_start_ends_once_the_path_is_full() {
    for (thresh, reached) in [(0.35, 2.20), (0.26, 1.45)] {
        let (after, window) = exit(thresh, false, true);
        // And an acknowledgement of 0.01 round trips.
        assert!((reached..reached + 0.36).contains(&after), "{thresh}: {after}");
        // Slow start adds all deliveries, except those of the last acknowledgement.
        let grown = delivered(after - 0.01) - delivered(-8.0);
        assert!((window / grown - 1.0).abs() < 1e-3, "{thresh}: {window} {grown}");
    }
}

/// `cwnd_rollback` of Linux's patch takes the deliveries of the last two initial round trips off the
/// window, but leaves the initial one. At the end, these are two times those of the full path.
#[test]
fn rollback_takes_two_round_trips_off_the_window() {
    let ((at, kept), (rolled_at, rolled)) = (exit(0.35, false, true), exit(0.35, true, true));
    assert_eq!(at.to_bits(), rolled_at.to_bits());
    assert!(((kept - rolled) / (2.0 * FULL) - 1.0).abs() < 1e-6, "{kept} {rolled}");
    // A window below the overshoot.
    let (_, rolled) = exit(0.35, true, false);
    assert_eq!(Bytes(rolled as u64), MSS * INITIAL);
}
