//! CUBIC against RFC 9438.

use crate::common::{Driver, MSS, build, build_over, choice};
use sojourn_cc::{Controller, Sent};
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Duration};

fn cubic(initial: u64, rtt_ms: u64, params: &[(&str, Value)]) -> Driver {
    let mut all = vec![("slow_start", choice("standard"))];
    all.extend_from_slice(params);
    Driver::new(build("cubic", initial, &all), Duration::from_millis(rtt_ms))
}

/// No packet is in flight for `idle`, then one packet leaves.
fn idle_for(c: &mut Driver, idle: Duration, rto: Duration) {
    c.now += idle;
    let sent = Sent {
        number: c.acked,
        bytes: MSS,
        in_flight_before: Bytes::ZERO,
        retransmission: false,
        app_limited: false,
        idle,
        rto,
    };
    let now = c.now;
    c.cc.on_sent(now, &sent);
}

/// Section 4.7 advises this for a single flow, and the tables' formula assumes it.
fn without_fast_convergence(c: f64) -> [(&'static str, Value); 2] {
    [("c", Value::Number(c)), ("fast_convergence", Value::Switch(false))]
}

/// RFC 9438 section 5.1, tables 1 (RTT 0.1 s) and 2 (RTT 0.01 s): the average window with a
/// loss every 1/p packets, for a sawtooth that starts at its peak. The average is (3 +
/// beta)/4 of the peak on the cubic curve, and (1 + beta)/2 on Reno's line.
#[test]
fn average_windows_of_rfc_9438() {
    const CURVE: f64 = 0.925;
    const LINE: f64 = 0.85;
    // RTT in ms, 1/p, C, window, average over peak, tolerance. The tolerance is 1 % for the
    // curve (2 % at 59 packets, because of whole packets), and 3 % for the line, since the
    // tables have 1.2/sqrt(p) for sqrt(1.5/p). It is 6 % if curve and line are close: the
    // window is the greater of both at any time, hence more than either alone.
    const TABLE: &[(u64, u64, f64, f64, f64, f64)] = &[
        (100, 1_000, 0.4, 38.0, LINE, 0.06),
        (100, 10_000, 0.4, 187.0, CURVE, 0.01),
        (100, 100_000, 0.4, 1054.0, CURVE, 0.01),
        (100, 1_000_000, 0.4, 5926.0, CURVE, 0.01),
        (100, 1_000, 4.0, 59.0, CURVE, 0.02),
        (100, 10_000, 4.0, 333.0, CURVE, 0.01),
        (100, 100_000, 4.0, 1874.0, CURVE, 0.01),
        (100, 100_000, 0.04, 593.0, CURVE, 0.01),
        (100, 1_000_000, 0.04, 3332.0, CURVE, 0.01),
        (10, 1_000, 0.4, 38.0, LINE, 0.03),
        (10, 10_000, 0.4, 120.0, LINE, 0.03),
        (10, 100_000, 0.4, 379.0, LINE, 0.03),
        (10, 1_000_000, 0.4, 1200.0, LINE, 0.06),
        (10, 1_000_000, 4.0, 1874.0, CURVE, 0.01),
    ];
    for &(rtt_ms, period, c, window, share, tolerance) in TABLE {
        let peak = (window / share) as u64;
        let average = cubic(peak, rtt_ms, &without_fast_convergence(c)).average_window(period, 4);
        let off = (average / window - 1.0).abs();
        assert!(off < tolerance, "RTT {rtt_ms} ms, 1/p {period}, C {c}: {average} for {window}");
    }
}

/// The same averages from other starting points. The curve is flat at its plateau, so the
/// peak converges as one over the root of the number of losses. After 300 losses from half
/// or twice the peak, about 5 % are left.
#[test]
fn average_window_does_not_depend_on_the_beginning() {
    for (c, period, window) in [(0.4, 10_000, 187.0), (4.0, 1_000, 59.0)] {
        for begin in [0.5, 2.0] {
            let initial = (window * begin) as u64;
            let average =
                cubic(initial, 100, &without_fast_convergence(c)).average_window(period, 300);
            assert!((average / window - 1.0).abs() < 0.05, "{average} for {window} from {initial}");
        }
    }
}

/// One epoch, RTT 100 ms: a loss reduces 1000 packets to 700, K = cbrt(300/0.4) = 9.09 s
/// (section 4.2, figure 2). Every second: steep, flat at 1000, steep again.
#[test]
fn the_window_is_concave_then_convex() {
    let mut c = cubic(1000, 100, &[]);
    c.lose();
    let seconds: Vec<_> = (0..=14)
        .map(|_| {
            let shown = (c.packets(), c.cc.probe().phase);
            (0..10).for_each(|_| c.round());
            shown
        })
        .collect();
    let windows: Vec<_> = seconds.iter().map(|s| s.0).collect();
    // Each window within 3 packets of 0.4 (t - 9.0856)^3 + 1000, one RTT ahead.
    for (t, window) in windows.iter().enumerate().skip(1) {
        let curve = 0.4 * (t as f64 - 9.0856).powi(3) + 1000.0;
        assert!((*window as f64 - curve).abs() < 3.0, "{window} for {curve} after {t} s");
    }
    let phases: Vec<_> = seconds.iter().map(|s| s.1).collect();
    assert_eq!(phases[0], "recovery");
    assert!(phases[1..9].iter().all(|p| *p == "concave"), "{phases:?}");
    assert!(phases[11..].iter().all(|p| *p == "convex"), "{phases:?}");
}

/// Section 4.3: a loss reduces 20 packets to 14 at 10 ms. alpha is 9/17 until the former
/// window is back after 6/alpha = 11.3 round trips, and 1 from then on.
#[test]
fn grows_as_reno_on_short_paths() {
    let mut c = cubic(20, 10, &[]);
    c.lose();
    assert_eq!(
        c.trajectory(16),
        [14, 14, 15, 15, 16, 16, 17, 17, 18, 18, 19, 19, 20, 21, 22, 23, 24]
    );
    assert_eq!(c.cc.probe().phase, "reno_friendly");
}

/// Without section 4.3 the same window follows figure 1 alone: K is
/// cbrt(6 / 0.4) = 2.5 s, so that within 160 ms it grows from 14 by
/// 6 - 0.4 (2.47 - 0.16)^3 = 1.1 packets.
#[test]
fn without_friendliness_only_the_cubic_function_grows() {
    let mut c = cubic(20, 10, &[("tcp_friendliness", Value::Switch(false))]);
    c.lose();
    assert_eq!(c.trajectory(16).last(), Some(&15));
    assert_eq!(c.cc.probe().phase, "concave");
}

/// Section 4.7: a loss below the last w_max lowers it to (1 + beta)/2 of the
/// window, so the next plateau is at 0.85 of 850 packets, not at 850.
#[test]
fn fast_convergence_lowers_the_plateau() {
    for (on, plateau) in [(true, 722), (false, 850)] {
        let mut c = cubic(1000, 100, &[("fast_convergence", Value::Switch(on))]);
        c.lose();
        while c.packets() < 850 {
            c.ack(|_| {});
        }
        c.lose();
        let end = c.now;
        while c.cc.probe().phase != "convex" {
            c.ack(|_| {});
        }
        // The plateau is flat: the window ends within a packet of its height.
        assert!(c.packets().abs_diff(plateau) <= 1, "{} for {plateau}", c.packets());
        // K of section 4.2 from 595 packets: 6.83 s or 8.61 s, minus one RTT.
        let k = ((plateau as f64 - 595.0) / 0.4).cbrt();
        let took = c.now.since(end).as_secs_f64();
        assert!((took / k - 1.0).abs() < 0.1, "{took} s for {k} s");
    }
}

/// Figure 5 of section 4.6: losses reduce to no less than two segments, marks
/// to no less than one.
#[test]
fn marks_reduce_to_one_packet_and_losses_to_two() {
    let mut c = cubic(10, 100, &[]);
    let windows: Vec<_> = (0..12)
        .map(|_| {
            c.ack(|f| f.ecn_event = true);
            c.bytes() as f64 / MSS.as_f64()
        })
        .collect();
    assert!((windows[0] - 7.0).abs() < 0.01 && windows[11] == 1.0, "{windows:?}");
    assert_eq!(c.cc.probe().ssthresh, Some(MSS * 2));
    c.lose();
    assert_eq!(c.packets(), 2);
}

/// Section 4.8: `ssthresh` is beta times the data in flight. After slow start to it, the
/// plateau begins (K = 0), independently of the previous loss.
#[test]
fn a_timeout_begins_a_new_plateau() {
    let mut c = cubic(143, 100, &[]);
    c.lose();
    let now = c.now;
    c.cc.on_timeout(now, MSS * 100);
    assert_eq!(c.trajectory(8), [1, 2, 4, 8, 16, 32, 64, 70, 70]);
    assert_eq!(c.cc.probe().phase, "reno_friendly");
    (0..80).for_each(|_| c.round());
    // After 8 s 0.4 * 8^3 + 70 = 274.8, one RTT ahead. From 70 to the former 143 it would
    // take K = 5.7 s and reach 148. The tolerance covers the two rounds above.
    assert!(c.packets().abs_diff(275) < 25, "{}", c.packets());
}

/// RFC 5681 section 4.1: after an idle period longer than the retransmission timeout, the
/// window restarts. A new stage of congestion avoidance follows, with K for the distance to
/// `w_max`, and not the late part of the old one.
#[test]
fn a_restart_begins_a_new_stage() {
    let mut c = cubic(200, 100, &[]);
    assert_eq!(c.trajectory(3), [200, 400, 800, 1600]);
    c.lose();
    (0..140).for_each(|_| c.round());
    let old = c.packets();
    assert_eq!(c.cc.probe().phase, "convex");
    idle_for(&mut c, Duration::from_secs(2), Duration::from_secs(1));
    assert_eq!(c.packets(), 200);
    while c.cc.probe().phase == "slow_start" {
        c.ack(|_| {});
    }
    let restart = c.packets() as f64;
    assert!((restart / old as f64 - 0.75).abs() < 0.01);
    (0..10).for_each(|_| c.round());
    // A second of 0.4 (t - K)^3 + 1600; the old curve would be past 1600.
    let k = ((1600.0 - restart) / 0.4).cbrt();
    let curve = 0.4 * (1.0 - k).powi(3) + 1600.0;
    assert!((c.packets() as f64 - curve).abs() < 5.0, "{} for {curve}", c.packets());
}

/// An ACK for more than the window, possible after a reduction, counts as one window: the
/// target is reached, not overshot.
#[test]
fn a_stretched_ack_does_not_overshoot() {
    let mut c = cubic(100, 100, &[]);
    c.lose();
    c.round();
    c.now += Duration::from_secs(1000);
    let before = c.packets();
    c.ack(|f| f.acked = MSS * 1000);
    assert!(c.packets() <= before * 3 / 2 + 1, "{} from {before}", c.packets());
}

/// Sections 4.2 and 5.8: time in which the application limited the sender does not count,
/// so the window continues from the same point.
#[test]
fn application_limited_time_is_taken_out() {
    let mut plain = cubic(1000, 100, &[]);
    let mut paused = cubic(1000, 100, &[]);
    for c in [&mut plain, &mut paused] {
        c.lose();
        (0..30).for_each(|_| c.round());
    }
    let before = paused.packets();
    for _ in 0..20_000 {
        paused.ack(|f| f.cwnd_limited = false);
    }
    assert_eq!(paused.packets(), before);
    assert_eq!(plain.trajectory(30), paused.trajectory(30));
}

/// Linux bictcp_cwnd_event: the same for idle time, here shorter than the retransmission
/// timeout.
#[test]
fn idle_time_is_taken_out() {
    let idle = Duration::from_secs(5);
    let mut plain = cubic(1000, 100, &[]);
    let mut idled = cubic(1000, 100, &[]);
    for c in [&mut plain, &mut idled] {
        c.lose();
        (0..30).for_each(|_| c.round());
    }
    idle_for(&mut idled, idle, idle);
    assert_eq!(plain.trajectory(30), idled.trajectory(30));
}

/// Section 4.2: the target is at most 1.5 times the window, however late the next ACK is.
#[test]
fn grows_by_no_more_than_half_a_round() {
    let mut c = cubic(100, 100, &[]);
    c.lose();
    c.round();
    c.now += Duration::from_secs(1000);
    let windows = c.trajectory(4);
    for pair in windows.windows(2) {
        // A round is the window at its start, so growth is at most half of that.
        assert!(pair[1] * 2 <= pair[0] * 3 + 2, "{windows:?}");
    }
    assert!(windows[4] > windows[0] * 4, "{windows:?}");
}

/// The window at the end of slow start, and ten round trips later.
fn after_slow_start(name: &str) -> (u64, u64) {
    let params = [("slow_start", choice(name))];
    let mut c = Driver::new(build_over(true, "cubic", 50, &params), Duration::from_millis(100));
    c.round();
    c.rtt = Duration::from_millis(150);
    while c.cc.probe().ssthresh.is_none() {
        c.ack(|_| {});
    }
    c.rtt = Duration::from_millis(100);
    let left_at = c.packets();
    c.trajectory(10);
    (left_at, c.packets())
}

/// Linux bictcp_update: at least 5 % per round trip after HyStart, until the first
/// congestion event.
#[test]
fn linux_grows_by_a_twentieth_after_hystart() {
    let (left_at, later) = after_slow_start("hystart");
    let ratio = later as f64 / left_at as f64;
    // Whole packets per round, relative to the window at its start.
    assert!((ratio / 1.05_f64.powi(10) - 1.0).abs() < 0.02, "{left_at} to {later}");
}

/// RFC 9438 section 4.10: the curve starts flat (0.4 packets after a second), so growth
/// follows Reno's line, a packet per round trip.
#[test]
fn grows_as_reno_after_hystart_plus_plus() {
    let (left_at, later) = after_slow_start("hystart++");
    assert!((10..=11).contains(&(later - left_at)), "{left_at} to {later}");
}

fn in_linux(initial: u64, rtt_ms: u64) -> Driver {
    cubic(initial, rtt_ms, &[("arithmetic", choice("linux"))])
}

/// Linux's `beta` is 717/1024, and windows are whole packets: 1001 packets become 700. After the next
/// loss, at 900, fast convergence puts the plateau at 900 * 1741/2048.
#[test]
fn linux_reduces_to_whole_packets() {
    let mut c = in_linux(1001, 100);
    c.lose();
    assert_eq!(c.bytes(), 700 * MSS.0);
    while c.packets() < 900 {
        c.round();
    }
    let before = c.packets();
    c.lose();
    assert_eq!(c.bytes(), (before * 717 / 1024) * MSS.0);
    // The plateau comes after cbrt(135 / 0.4) = 7 s.
    let plateau = before * 1741 / 2048;
    (0..70).for_each(|_| c.round());
    assert!(c.packets().abs_diff(plateau) <= 3, "{} for {plateau}", c.packets());
}

/// A packet of any size counts, as in Linux.
#[test]
fn linux_counts_short_packets() {
    let grown = |size| {
        let mut c = in_linux(100, 100);
        c.lose();
        (0..5_000).for_each(|_| c.ack(|feedback| feedback.acked = size));
        c.packets()
    };
    assert!(grown(MSS) > 80);
    assert_eq!(grown(Bytes(200)), grown(MSS));
}

/// Reno's estimate keeps its slope of 8/15 a round trip above the window before the loss, where
/// RFC 9438 section 4.3 has 1.
#[test]
fn linux_keeps_the_slope_of_reno() {
    let mut c = in_linux(20, 10);
    c.lose();
    let windows = c.trajectory(32);
    assert_eq!(windows[0], 14);
    assert_eq!(c.cc.probe().phase, "reno_friendly");
    // A growth of the estimate counts up to 28 ms, three round trips, later. By the RFC, the window is
    // 40.
    let expected = 14.0 + 32.0 * 8.0 / 15.0;
    let last = windows[32] as f64;
    assert!(last <= expected && last > expected - 3.0, "{windows:?}, {expected} at the end");
}

/// The cubic function is that of the exact arithmetic, within Linux's rounding.
#[test]
fn linux_has_the_cubic_function() {
    let (mut linux, mut exact) = (in_linux(1000, 100), cubic(1000, 100, &[]));
    linux.lose();
    exact.lose();
    for round in 0..140 {
        linux.round();
        exact.round();
        let (ours, theirs) = (linux.packets(), exact.packets());
        assert!(ours.abs_diff(theirs) <= 8, "{ours} and {theirs} after {round} round trips");
    }
}

/// A timeout forgets the plateau (`bictcp_reset`): slow start, then at least 5 % a round trip.
#[test]
fn linux_forgets_the_plateau_after_a_timeout() {
    let mut c = in_linux(100, 100);
    c.lose();
    let now = c.now;
    c.cc.on_timeout(now, MSS * 70);
    assert_eq!(c.cc.probe().ssthresh, Some(MSS * 49));
    (0..7).for_each(|_| c.round());
    let before = c.packets();
    (0..10).for_each(|_| c.round());
    assert!(c.packets() as f64 > before as f64 * 1.05_f64.powi(8), "{before}, {}", c.packets());
}
