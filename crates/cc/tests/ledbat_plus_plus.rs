//! LEDBAT++ against draft-irtf-iccrg-ledbat-plus-plus (sections of version 01).

mod common;

use common::{Driver, MSS, build};
use sojourn_cc::Controller;
use sojourn_units::Duration;
use sojourn_units::params::Value;

fn over(base_ms: u64) -> Driver {
    let mut d = Driver::new(build("ledbat++", 10, &[]), Duration::from_millis(base_ms));
    d.spacing = Some(Duration::from_millis(1));
    d
}

fn phase(d: &Driver) -> &'static str {
    d.cc.probe().phase
}

/// So many acknowledgements, a millisecond apart, with this round trip.
fn acks(d: &mut Driver, n: u64, rtt_ms: u64) {
    d.rtt = Duration::from_millis(rtt_ms);
    (0..n).for_each(|_| d.ack(|_| {}));
}

/// In congestion avoidance, after the initial slowdown; the path has 40 ms.
fn avoiding() -> Driver {
    let mut d = over(40);
    acks(&mut d, 300, 40);
    // Of four samples the least counts.
    acks(&mut d, 4, 86);
    assert_eq!(phase(&d), "congestion_avoidance");
    until(&mut d, 40, "slowdown");
    until(&mut d, 40, "congestion_avoidance");
    d
}

/// Acknowledgements until the phase is `wanted`; tells after how many milliseconds.
fn until(d: &mut Driver, rtt_ms: u64, wanted: &str) -> u64 {
    let ms = (1..=100_000).find(|_| {
        acks(d, 1, rtt_ms);
        phase(d) == wanted
    });
    ms.unwrap_or_else(|| panic!("never {wanted}, but {}", phase(d)))
}

/// Section 4.1: from two packets, slow start times the gain of section 4.2:
/// 1 / min(16, ceil(2 TARGET / base)) with a TARGET of 60 ms.
#[test]
fn slow_start_is_slowed_by_the_gain() {
    for (base_ms, divisor) in [(5, 16), (20, 6), (50, 3), (120, 1), (300, 1)] {
        let mut d = over(base_ms);
        assert_eq!(d.packets(), 2);
        acks(&mut d, 96, base_ms);
        let grown = d.bytes() as f64 / MSS.as_f64() - 2.0;
        // A byte may be rounded off.
        assert!((grown - 96.0 / f64::from(divisor)).abs() < 1e-3, "{base_ms} ms: {grown}");
    }
}

/// Section 4.1: the initial slow start ends beyond 3/4 of the target.
#[test]
fn the_initial_slow_start_ends_by_delay() {
    let mut d = over(40);
    acks(&mut d, 100, 40);
    acks(&mut d, 10, 40 + 45);
    assert_eq!(phase(&d), "slow_start");
    acks(&mut d, 3, 40 + 46);
    assert_eq!(phase(&d), "slow_start", "the least of four samples counts");
    acks(&mut d, 1, 40 + 46);
    assert_eq!(phase(&d), "congestion_avoidance");
}

/// Section 4.4: the initial slowdown two round trips after slow start; two packets for
/// two round trips; slow start up to the window before; and nine times as long as that
/// took until the next.
#[test]
fn slowdowns_are_periodic() {
    let mut d = over(40);
    acks(&mut d, 300, 40);
    acks(&mut d, 4, 86);
    assert_eq!(phase(&d), "congestion_avoidance");
    // The driver's smoothed round trip is its last one, 86 ms.
    let window = d.packets();
    assert_eq!(until(&mut d, 40, "slowdown"), 2 * 86);
    assert_eq!(d.packets(), 2);
    let begun = d.now;
    assert_eq!(until(&mut d, 40, "ramp_up"), 2 * 40);
    assert_eq!(d.packets(), 2);
    until(&mut d, 40, "congestion_avoidance");
    assert!(d.packets().abs_diff(window) <= 2, "{} {window}", d.packets());
    let took = d.now.since(begun);
    let ended = d.now;
    until(&mut d, 40, "slowdown");
    assert_eq!(d.now.since(ended), took * 9);
}

/// Section 4.1: only the initial slow start ends by delay; the one after a slowdown ends
/// by the window.
#[test]
fn ramping_up_does_not_end_by_delay() {
    let mut d = avoiding();
    until(&mut d, 40, "slowdown");
    until(&mut d, 40, "ramp_up");
    let before = d.packets();
    acks(&mut d, 8, 99);
    assert!(phase(&d) == "ramp_up" && d.packets() > before);
}

/// Section 4.3, below the target: W += GAIN in a round trip, at any delay.
#[test]
fn below_the_target_the_window_grows_by_the_gain() {
    for rtt_ms in [40, 60, 100] {
        let mut d = avoiding();
        acks(&mut d, 4, rtt_ms);
        let before = d.bytes() as f64;
        d.round();
        let grown = (d.bytes() as f64 - before) / MSS.as_f64();
        // A window that grows meanwhile has a round trip of a packet more at most.
        assert!((grown - 1.0 / 3.0).abs() < 0.01, "{rtt_ms} ms: {grown}");
    }
}

/// Section 4.3, beyond it: W += max(GAIN - W (delay/target - 1), -W/2) in a round trip,
/// and never below two packets.
#[test]
fn beyond_the_target_the_window_shrinks_by_its_part() {
    for (rtt_ms, part) in [(40 + 66, 0.1), (40 + 75, 0.25), (40 + 90, 0.5), (40 + 600, 9.0)] {
        let mut d = avoiding();
        // The least of four samples: the window still grows for three, and a fourth.
        acks(&mut d, 3, rtt_ms);
        let before = d.bytes() as f64;
        d.ack(|_| {});
        let share = MSS.as_f64() / before;
        let delta = (1.0 / 3.0 - part * before / MSS.as_f64()).max(-before / MSS.as_f64() / 2.0);
        let expected = delta * share * MSS.as_f64();
        let found = d.bytes() as f64 - before;
        assert!((found - expected).abs() <= 1.0, "{rtt_ms} ms: {found} {expected}");
        assert!(before > 50.0 * MSS.as_f64(), "far from the least window: {before}");
    }
    let mut d = avoiding();
    acks(&mut d, 2_000, 900);
    assert_eq!(d.packets(), 2);
}

/// RFC 6817 section 2.4.2: of ten minutes the least round trip is the base, none older.
#[test]
fn the_base_delay_is_forgotten_after_its_history() {
    let history = [("base_history", Value::Integer(2))];
    let mut d = Driver::new(build("ledbat++", 10, &history), Duration::from_millis(40));
    d.spacing = Some(Duration::from_millis(500));
    acks(&mut d, 10, 40);
    acks(&mut d, 100, 220);
    assert_eq!(d.packets(), 2, "180 ms beyond the base are over the target");
    // After two minutes 220 ms are the base: the window grows as if there were no queue.
    acks(&mut d, 400, 220);
    assert!(d.packets() > 10, "{}", d.packets());
}

/// RFC 6817 section 2.4.2: a loss halves the window.
#[test]
fn a_loss_halves() {
    let mut d = avoiding();
    let before = d.bytes();
    d.lose();
    assert_eq!((d.bytes(), phase(&d)), (before / 2, "congestion_avoidance"));
    let now = d.now;
    d.cc.on_timeout(now, MSS * 20);
    assert_eq!((d.packets(), d.cc.probe().ssthresh), (1, Some(MSS * 10)));
    until(&mut d, 40, "congestion_avoidance");
    assert_eq!(d.packets(), 10);
}
