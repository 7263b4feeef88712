//! Swift against Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
//! Datacenter", SIGCOMM 2020.

use crate::common::{Driver, MSS, build};
use sojourn_cc::{Controller, Pacing};
use sojourn_units::Duration;
use sojourn_units::params::Value;

const BASE: u64 = 25;

/// A driver over a path of 20 us with a base target of 25 us, without flow scaling.
fn plain(initial: u64) -> Driver {
    driver(initial, &[("fs_range", Value::Number(0.0))])
}

fn driver(initial: u64, params: &[(&str, Value)]) -> Driver {
    let base = ("base_target", Value::Time(Duration::from_micros(BASE)));
    let params = [&[base], params].concat();
    Driver::new(build("swift", initial, &params), Duration::from_micros(20))
}

fn window(d: &Driver) -> f64 {
    d.bytes() as f64 / MSS.as_f64()
}

/// Algorithm 1: below the target, cwnd += ai / cwnd for each packet, `ai` = 1 a round trip.
#[test]
fn the_window_grows_by_ai_a_round_trip() {
    let mut d = plain(10);
    (0..10).for_each(|_| d.round());
    assert!((window(&d) - 20.0).abs() < 0.7, "{}", window(&d));
    let mut slower = driver(10, &[("ai", Value::Number(0.25)), ("fs_range", Value::Number(0.0))]);
    (0..10).for_each(|_| slower.round());
    assert!((window(&slower) - 12.5).abs() < 0.3, "{}", window(&slower));
}

/// Algorithm 1: above it, cwnd *= max(1 - beta (delay - target) / delay, 1 - max_mdf), once a round
/// trip.
#[test]
fn the_window_shrinks_once_a_round_trip_by_the_excess() {
    for (rtt_us, factor) in [(25, 1.0), (50, 0.6), (100, 0.5), (1_000, 0.5)] {
        let mut d = plain(64);
        d.rtt = Duration::from_micros(rtt_us);
        d.ack(|_| {});
        assert!((window(&d) - 64.0 * factor).abs() < 0.01, "{rtt_us}: {}", window(&d));
        let once = d.bytes();
        d.ack(|_| {});
        assert_eq!(d.bytes(), once, "not again in this round trip");
        d.now += d.rtt;
        d.ack(|_| {});
        assert!((window(&d) - 64.0 * factor * factor).abs() < 0.01, "{rtt_us}");
    }
}

/// Section 3.5: t = base + hops * h + max(0, min(alpha / sqrt(cwnd) + beta, fs_range)), where alpha =
/// fs_range / (1 / sqrt(fs_min_cwnd) - 1 / sqrt(fs_max_cwnd)) and beta = -alpha / sqrt(fs_max_cwnd).
/// Whether the window shrinks shows the target, here with a range of 125 us.
#[test]
fn the_target_scales_with_hops_and_the_window() {
    let (least, most) = (0.1_f64, 100.0_f64);
    let alpha = 125.0 / (1.0 / least.sqrt() - 1.0 / most.sqrt());
    for initial in [4_u64, 9, 25, 64, 100, 400] {
        let scaled = (alpha / (initial as f64).sqrt() - alpha / most.sqrt()).clamp(0.0, 125.0);
        let target = 25.0 + 5.0 * 2.0 + scaled;
        for (offset, shrinks) in [(-0.1, false), (0.1, true)] {
            let hops = ("hops", Value::Integer(5));
            let per_hop = ("hop_target", Value::Time(Duration::from_micros(2)));
            let mut d = driver(initial, &[hops, per_hop]);
            d.rtt = Duration::from_secs_f64((target + offset) * 1e-6);
            let before = d.bytes();
            d.ack(|_| {});
            assert_eq!(d.bytes() < before, shrinks, "{initial} packets, {target} us {offset}");
        }
    }
}

/// Section 3.4: below one packet, one packet leaves every rtt / cwnd, and the window grows by `ai` for
/// each.
#[test]
fn windows_below_one_packet_are_paced() {
    let mut d = plain(1);
    d.rtt = Duration::from_micros(1_000);
    d.ack(|_| {});
    let limits = d.cc.limits();
    assert_eq!((limits.cwnd, limits.pacing), (MSS, Pacing::Gap(Duration::from_micros(2_000))));
    assert_eq!(d.cc.probe().phase, "paced");
    d.rtt = Duration::from_micros(20);
    d.ack(|_| {});
    assert_eq!(d.cc.limits().pacing, Pacing::Unpaced);
    assert!((window(&d) - 1.5).abs() < 0.001, "{}", window(&d));
}

/// Algorithm 1: a fast recovery and a timeout take `max_mdf`; the fifth timeout in sequence sets the
/// least window.
#[test]
fn losses_take_max_mdf() {
    let mut d = plain(64);
    d.lose();
    assert!((window(&d) - 32.0).abs() < 0.01);
    for timeouts in 1..5 {
        d.now += Duration::from_millis(10);
        let now = d.now;
        d.cc.on_timeout(now, MSS);
        assert!((window(&d) - f64::from(32 >> timeouts)).abs() < 0.01, "{timeouts}");
    }
    d.now += Duration::from_millis(10);
    let now = d.now;
    d.cc.on_timeout(now, MSS);
    assert_eq!(d.cc.limits().pacing, Pacing::Gap(Duration::from_micros(20_000)), "0.001 packets");
}

/// The default target is a quarter above the least round-trip time.
#[test]
fn the_default_target_follows_the_path() {
    let mut d = Driver::new(build("swift", 400, &[]), Duration::from_millis(20));
    d.ack(|_| {});
    let before = d.bytes();
    d.rtt = Duration::from_micros(24_900);
    d.ack(|_| {});
    assert!(d.bytes() > before);
    d.rtt = Duration::from_micros(25_100);
    let before = d.bytes();
    d.ack(|_| {});
    assert!(d.bytes() < before);
}
