//! LEDBAT++ against draft-irtf-iccrg-ledbat-plus-plus (sections of version 01).

use crate::common::{Driver, MSS, build};
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

/// `n` acknowledgements, one every millisecond, with this round-trip time.
fn acks(d: &mut Driver, n: u64, rtt_ms: u64) {
    d.rtt = Duration::from_millis(rtt_ms);
    (0..n).for_each(|_| d.ack(|_| {}));
}

/// In congestion avoidance, after the initial slowdown, on a path of 40 ms.
fn avoiding() -> Driver {
    let mut d = over(40);
    acks(&mut d, 300, 40);
    // The minimum of four samples counts.
    acks(&mut d, 4, 86);
    assert_eq!(phase(&d), "congestion_avoidance");
    until(&mut d, 40, "slowdown");
    until(&mut d, 40, "congestion_avoidance");
    d
}

/// Sends acknowledgements until the phase is `wanted`. Returns the time in milliseconds.
fn until(d: &mut Driver, rtt_ms: u64, wanted: &str) -> u64 {
    let ms = (1..=100_000).find(|_| {
        acks(d, 1, rtt_ms);
        phase(d) == wanted
    });
    ms.unwrap_or_else(|| panic!("never {wanted}, but {}", phase(d)))
}

/// Section 4.1: from two packets, slow start times the gain of section 4.2: 1 / min(16,
/// ceil(2 TARGET / base)) with a TARGET of 60 ms.
#[test]
fn slow_start_is_slowed_by_the_gain() {
    for (base_ms, divisor) in [(5, 16), (20, 6), (50, 3), (120, 1), (300, 1)] {
        let mut d = over(base_ms);
        assert_eq!(d.packets(), 2);
        acks(&mut d, 96, base_ms);
        let grown = d.bytes() as f64 / MSS.as_f64() - 2.0;
        // Rounding may lose a byte.
        assert!((grown - 96.0 / f64::from(divisor)).abs() < 1e-3, "{base_ms} ms: {grown}");
    }
}

/// Section 4.1: the initial slow start ends above 3/4 of the target.
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

/// Section 4.4: the initial slowdown is two round trips after slow start. The window is two
/// packets for two round trips, then slow start restores the former window. The next
/// slowdown follows after nine times that duration.
#[test]
fn slowdowns_are_periodic() {
    let mut d = over(40);
    acks(&mut d, 300, 40);
    acks(&mut d, 4, 86);
    assert_eq!(phase(&d), "congestion_avoidance");
    // The driver's smoothed round-trip time is its last sample, 86 ms.
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

/// Section 4.1: delay ends only the initial slow start; the window ends the one after a
/// slowdown.
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
        // With the window growing meanwhile, a round trip is at most a packet longer.
        assert!((grown - 1.0 / 3.0).abs() < 0.01, "{rtt_ms} ms: {grown}");
    }
}

/// Section 4.3, above the target: W += max(GAIN - W (delay/target - 1), -W/2) per round
/// trip, and never below two packets.
#[test]
fn beyond_the_target_the_window_shrinks_by_its_part() {
    for (rtt_ms, part) in [(40 + 66, 0.1), (40 + 75, 0.25), (40 + 90, 0.5), (40 + 600, 9.0)] {
        let mut d = avoiding();
        // The minimum of four samples: the window still grows for three.
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

/// RFC 6817 section 2.4.2: the base is the minimum round-trip time of ten minutes.
#[test]
fn the_base_delay_is_forgotten_after_its_history() {
    let history = [("base_history", Value::Integer(2))];
    let mut d = Driver::new(build("ledbat++", 10, &history), Duration::from_millis(40));
    d.spacing = Some(Duration::from_millis(500));
    acks(&mut d, 10, 40);
    acks(&mut d, 100, 220);
    assert_eq!(d.packets(), 2, "180 ms beyond the base are over the target");
    // After two minutes 220 ms are the base: the window grows as without a queue.
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
