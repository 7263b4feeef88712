//! Prague against draft-briscoe-iccrg-prague-congestion-control-04, and the additional
//! rules of Huitema, "A Low Latency Internet with L4S" (2022).

use crate::common::{Driver, MSS, build, choice};
use sojourn_cc::{Controller, Pacing};
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Duration, Rate};

fn prague(initial: u64, rtt_ms: u64, params: &[(&str, Value)]) -> Driver {
    Driver::new(build("prague", initial, params), Duration::from_millis(rtt_ms))
}

/// In congestion avoidance with a window of `packets`, and alpha at zero.
fn avoiding(packets: u64, rtt_ms: u64, params: &[(&str, Value)]) -> Driver {
    let zero = [("alpha_init", Value::Number(0.0))];
    let mut d = prague(packets, rtt_ms, &[&zero, params].concat());
    mark(&mut d);
    d
}

fn alpha(driver: &Driver) -> f64 {
    driver.cc.probe().alpha.expect("Prague keeps one")
}

/// An ACK of a marked packet.
fn mark(driver: &mut Driver) {
    driver.ack(|f| f.ce_packets = 1);
}

/// A round trip of a connection in which every `nth` packet is marked.
fn marked_round(driver: &mut Driver, nth: u64) {
    for _ in 0..driver.packets() {
        let marked = driver.acked.is_multiple_of(nth);
        driver.ack(|f| f.ce_packets = u64::from(marked));
    }
}

fn packets(driver: &Driver) -> f64 {
    driver.bytes() as f64 / MSS.as_f64()
}

/// Sections 2.3.2, 2.4.2 and 2.4.5: slow start doubles per round trip until the first mark,
/// which halves the window with alpha = 1. Then the window grows by a packet per round
/// trip.
#[test]
fn the_first_mark_halves_and_ends_slow_start() {
    let mut d = prague(10, 40, &[]);
    assert_eq!(d.trajectory(2), [10, 20, 40]);
    mark(&mut d);
    assert_eq!(d.bytes(), MSS.0 * 20);
    // One round trip may still end within a packet of growth.
    let windows = d.trajectory(4);
    assert_eq!(windows, [20, 20, 21, 22, 23]);
}

/// Section 2.3.2: alpha += g (frac - alpha), once per round trip. If the window is at most
/// the distance between marks, an epoch has one mark or none, and alpha varies by at most
/// g.
#[test]
fn alpha_is_the_moving_average_of_the_fraction_marked() {
    for nth in [1, 2, 4, 10] {
        let mut d = avoiding(100, 40, &[]);
        (0..200).for_each(|_| marked_round(&mut d, nth));
        let fraction = 1.0 / nth as f64;
        assert!((alpha(&d) - fraction).abs() < 1.0 / 16.0 / 2.0, "{} for {fraction}", alpha(&d));
    }
    let mut d = prague(20, 40, &[]);
    d.ack(|f| f.ce_packets = 1);
    (0..30).for_each(|_| d.round());
    let decayed = (15.0_f64 / 16.0).powi(30);
    // The first epoch includes the mark, and one epoch may be open.
    assert!((0.9..1.12).contains(&(alpha(&d) / decayed)), "{} {decayed}", alpha(&d));
}

/// Before the first mark the path is unknown, and alpha stays constant.
#[test]
fn alpha_waits_for_the_first_mark() {
    let mut d = prague(10, 40, &[]);
    (0..5).for_each(|_| d.round());
    assert_eq!(alpha(&d), 1.0);
}

/// Section 2.4.2: further marks in the round trip do not reduce the window. Section 2.4.3:
/// meanwhile it grows for unmarked packets, half as much if half are marked.
#[test]
fn a_round_trip_has_one_reduction_and_grows_by_what_is_unmarked() {
    let params = [("g", Value::Number(1.0 / 1024.0))];
    for (nth, growth) in [(1, 0.0), (2, 0.5), (4, 0.75)] {
        let mut d = avoiding(100, 40, &params);
        let before = packets(&d);
        marked_round(&mut d, nth);
        // Alpha is below a thousandth: one reduction is below 0.05 packets.
        assert!((packets(&d) - before - growth).abs() < 0.06, "{nth}: {}", packets(&d) - before);
    }
}

/// Section 2.4.2, carry of the remainder: a hundred reductions by alpha / 2, each less than
/// a packet, add up exactly.
#[test]
fn small_reductions_are_not_lost_in_rounding() {
    let mut d = avoiding(1000, 40, &[("g", Value::Number(1.0 / 1024.0))]);
    for _ in 0..20 {
        for i in 0..d.packets() {
            d.ack(|f| {
                f.ce_packets = u64::from(i.is_multiple_of(100));
                // The window does not grow.
                f.cwnd_limited = false;
            });
        }
    }
    // Alpha after n rounds is about 0.01 n g; the sum of alpha / 2 over 20 rounds
    // is 0.01 g 210 / 2 = 0.1 %, one packet.
    let lost = 1000.0 - packets(&d);
    assert!((0.8..1.3).contains(&lost), "{lost}");
}

/// Section 2.4.4: with M = 25 ms / 5 ms, a packet is added in M^2 real round trips, alpha
/// changes once in 25 ms, and CWR lasts as long. Before `d` round trips the rule has no
/// effect.
#[test]
fn short_round_trips_count_as_longer_ones_once_the_flow_is_old() {
    let young = [("d", Value::Integer(1000))];
    let old = [("d", Value::Integer(0))];
    for (params, growth) in [(&young, 100.0), (&old, 4.0)] {
        let mut d = avoiding(100, 5, params);
        let before = packets(&d);
        (0..100).for_each(|_| d.round());
        assert!((packets(&d) - before - growth).abs() < 0.05 * growth, "{}", packets(&d) - before);
    }
    let mut d = prague(100, 5, &old);
    mark(&mut d);
    // The first epoch has the mark; the others decay.
    (0..50).for_each(|_| d.round());
    let epochs = alpha(&d).ln() / (15.0_f64 / 16.0).ln();
    // The last one may still be open, and each ends with an ACK after its time.
    assert!((8.5..10.0).contains(&epochs), "250 ms are ten epochs: {epochs}");
}

#[test]
fn cwr_lasts_a_virtual_round_trip() {
    // Twenty round trips of 5 ms are four of 25 ms, with a reduction at either end. The
    // longer ones halve the window nine times, from 1000 to the minimum of two packets.
    for (rtt_ms, reductions) in [(5, 4..=5), (25, 8..=9), (50, 8..=9)] {
        let params = [("d", Value::Integer(0)), ("g", Value::Number(1.0))];
        let mut d = avoiding(1000, rtt_ms, &params);
        (0..5).for_each(|_| d.round());
        let mut count = 0;
        for _ in 0..20 {
            for _ in 0..d.packets() {
                let before = d.bytes();
                mark(&mut d);
                count += u64::from(d.bytes() < before);
            }
        }
        assert!(reductions.contains(&count), "{rtt_ms} ms: {count}");
    }
}

/// Section 2.4.1: as in Reno, with a round trip without growth. A mark just before the loss
/// and the loss together halve the window.
#[test]
fn a_loss_halves_the_window() {
    let mut d = avoiding(100, 40, &[]);
    let before = packets(&d);
    d.lose();
    assert!((packets(&d) - before / 2.0).abs() < 0.1);
    let reduced = d.bytes();
    (0..40).for_each(|_| d.ack(|_| {}));
    assert_eq!(d.bytes(), reduced, "nothing grows in the round trip of a loss");

    let mut d = prague(10, 40, &[]);
    (0..2).for_each(|_| d.round());
    mark(&mut d);
    d.lose();
    assert_eq!(d.bytes(), MSS.0 * 20, "alpha = 1 has halved it already");
    let now = d.now;
    d.cc.on_timeout(now, MSS * 20);
    assert_eq!(d.trajectory(4), [1, 2, 4, 8, 10]);
}

/// Sections 2.5.1 and 2.5.2.
#[test]
fn paces_at_a_window_a_round_trip_and_twice_that_in_slow_start() {
    let mut d = prague(10, 40, &[]);
    assert_eq!(d.cc.limits().pacing, Pacing::Unpaced, "nothing is known of the path");
    d.ack(|_| {});
    let rate = Rate::from_transfer(Bytes(d.bytes()), d.rtt);
    assert_eq!(d.cc.limits().pacing, Pacing::Rate(rate * 2));
    assert_eq!(d.cc.limits().burst, MSS, "250 us are less than a packet here");

    let mut d = avoiding(10_000, 20, &[]);
    d.ack(|f| f.in_flight = Bytes::ZERO);
    let rate = Rate::from_transfer(Bytes(d.bytes()), d.rtt);
    assert_eq!(d.cc.limits().pacing, Pacing::Rate(rate));
    assert_eq!(d.cc.limits().burst, rate.bytes_in(Duration::from_micros(250)));
}

/// L4STeam's `prague_update_cwnd`, by `tcp_is_cwnd_limited`: a window that does not limit the sender
/// does not grow, except in slow start up to twice the greatest flight.
#[test]
fn grows_while_the_window_limits_it() {
    let mut d = avoiding(20, 40, &[]);
    let before = d.bytes();
    let unused = |f: &mut sojourn_cc::Feedback<'static>| {
        (f.cwnd_limited, f.slow_start_to) = (false, MSS * 40);
    };
    (0..60).for_each(|_| d.ack(unused));
    assert_eq!(d.bytes(), before);
    (0..60).for_each(|_| d.ack(|_| {}));
    assert!(d.bytes() > before);
    let mut d = prague(20, 40, &[]);
    (0..60).for_each(|_| d.ack(unused));
    assert_eq!(d.packets(), 40);
}

/// A path without marks, then a fully marked epoch that lasts `pause_ms` longer than the
/// round trip.
fn sudden_epoch(params: &[(&str, Value)], pause_ms: u64) -> (Driver, f64) {
    let mut d = avoiding(32, 40, params);
    (0..4).for_each(|_| d.round());
    let before = packets(&d);
    d.now += Duration::from_millis(pause_ms);
    (0..2).for_each(|_| marked_round(&mut d, 1));
    let left = packets(&d) / before;
    (d, left)
}

/// The rule of the suspect epoch.
fn suspect_epoch() -> (&'static str, Value) {
    ("suspect_epoch", Value::Switch(true))
}

/// Huitema 2022 (picoquic's prague.c): an epoch with more than half marked, alpha below 1/8, and
/// longer than the round trip sets alpha to 1/8. The default has no such rule (draft section 2.3.2).
#[test]
fn a_suspect_epoch_sets_alpha_to_an_eighth() {
    let (repaired, _) = sudden_epoch(&[suspect_epoch()], 100);
    let (unrepaired, _) = sudden_epoch(&[], 100);
    // One or two epochs have ended by then. The second has a weight of 1/16.
    let second = 1.0 / 8.0 + (1.0 - 1.0 / 8.0) / 16.0;
    assert!((1.0 / 8.0..=second).contains(&alpha(&repaired)), "{}", alpha(&repaired));
    assert!((1.5 / 16.0..1.0 / 8.0).contains(&alpha(&unrepaired)), "{}", alpha(&unrepaired));
}

/// Draft section 2.3.2: alpha tends to 1 if every packet is marked. After 300 epochs, L4STeam's
/// udp_prague (prague_cc.cpp) has 0.99999. The rule of the suspect epoch delays that by one epoch: it
/// applies while alpha is below 1/8, and sets it to 1/8. Each epoch here lasts longer than the round
/// trip, as while a queue builds up.
#[test]
fn alpha_tends_to_one_under_full_marking() {
    for rule in [false, true] {
        for arithmetic in ["exact", "integer"] {
            let rule = ("suspect_epoch", Value::Switch(rule));
            let mut d = avoiding(10, 20, &[rule, ("arithmetic", choice(arithmetic))]);
            (0..10).for_each(|_| d.round());
            for _ in 0..300 {
                d.now += Duration::from_millis(1);
                marked_round(&mut d, 1);
            }
            assert!(alpha(&d) > 0.9999, "{arithmetic}: {}", alpha(&d));
        }
    }
}

/// Huitema 2022: with the response per epoch, one with more than half marked counts as a
/// loss; a suspect one reduces by a sixteenth.
#[test]
fn by_epochs_a_sudden_onset_is_answered_at_once() {
    let epoch = ("response", choice("epoch"));
    let (_, repaired) = sudden_epoch(&[epoch.clone(), suspect_epoch()], 100);
    let (_, unrepaired) = sudden_epoch(&[epoch], 100);
    assert!((repaired - 15.0 / 16.0).abs() < 0.05, "{repaired}");
    assert!((unrepaired - 0.5).abs() < 0.05, "{unrepaired}");
}

/// The mean window over 2,000 round trips times the probability `p` of a mark: marks per
/// round trip on a path that marks at a constant rate. `marks` decides for each packet.
fn marks_a_round(rtt_ms: u64, p: f64, mut marks: impl FnMut(u64) -> bool) -> f64 {
    let params = [("d", Value::Integer(0)), ("alpha_init", Value::Number(p))];
    let mut d = prague((2.0 / p) as u64, rtt_ms, &params);
    mark(&mut d);
    let (mut windows, mut count) = (0.0, 0.0);
    for round in 0..2_200 {
        let window = packets(&d);
        for _ in 0..d.packets() {
            let marked = marks(d.acked);
            d.ack(|f| f.ce_packets = u64::from(marked));
        }
        if round >= 200 {
            (windows, count) = (windows + window, count + 1.0);
        }
    }
    p * windows / count
}

/// The remainder of W = 2/p if the next reduction waits for a mark (studies/prague). With v
/// marks per round trip and random marks, the window is reduced by alpha/2 = p/2 once in
/// 1 + 1/v round trips: v = 1 + sqrt(3). With evenly spaced marks, it is reduced at the first
/// multiple of 1/v that is at least one, which settles at v = 2 or at sqrt(6). If virtual
/// round trips are longer, v counts per virtual one: M = 2.5 times fewer per real one.
#[test]
fn the_window_waits_for_the_mark_that_reduces_it() {
    let p = 0.02;
    for (rtt_ms, m) in [(10, 2.5), (40, 1.0)] {
        let mut state = 1_u64;
        let chance = |_| {
            // Marsaglia's xorshift.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64 <= p
        };
        let by_chance = m * marks_a_round(rtt_ms, p, chance);
        let evenly = m * marks_a_round(rtt_ms, p, |number| number % 50 == 0);
        // The increase excludes marked packets, 2 %; alpha follows the marks behind its
        // reductions.
        assert!((by_chance / (1.0 + 3_f64.sqrt()) - 1.0).abs() < 0.06, "{rtt_ms} ms: {by_chance}");
        assert!(evenly > 0.94 * 2.0 && evenly < 1.06 * 6_f64.sqrt(), "{rtt_ms} ms: {evenly}");
    }
}

/// Linux's `prague_enter_cwr`: at 20 ms a mark after one round trip is too soon for the
/// virtual one of 25 ms. It does not reduce the window, and the controller ignores the
/// marks of the next whole round trip. Under the draft's rule the next mark after 25 ms
/// reduces the window.
#[test]
fn linux_misses_the_marks_after_one_that_comes_too_soon() {
    for (rule, reductions) in [("virtual", 2), ("linux", 1)] {
        let zero = [("cwr", choice(rule)), ("d", Value::Integer(0))];
        let mut d = avoiding(100, 20, &zero);
        for _ in 0..20 {
            marked_round(&mut d, 10);
        }
        // Long enough for earlier states to end.
        (0..4).for_each(|_| d.round());
        let mut found = 0;
        // A mark now, one after 1.1 round trips, and one after 1.4.
        for place in 0..150 {
            let before = d.bytes();
            let marked = [0, 110, 140].contains(&place);
            d.ack(|f| f.ce_packets = u64::from(marked));
            found += usize::from(d.bytes() < before);
        }
        assert_eq!(found, reductions, "{rule}");
    }
}

/// A sawtooth of round-trip times between `base_ms` and `base_ms` + `swing_ms`, with marks, for
/// 400 round trips. Returns the factor of the next reduction.
fn factor_after_swings(base_ms: u64, swing_ms: u64, fallback: bool) -> f64 {
    let params = [("classic_fallback", Value::Switch(fallback))];
    let mut d = avoiding(20, base_ms, &params);
    for round in 0..400_u64 {
        let rtt = Duration::from_millis(base_ms + swing_ms * (round % 20) / 20);
        let min_rtt = Duration::from_millis(base_ms);
        for packet in 0..20 {
            let marked = round % 20 == 19 && packet == 0;
            d.ack(|f| {
                (f.rtt, f.min_rtt, f.ce_packets) = (Some(rtt), min_rtt, u64::from(marked));
            });
        }
    }
    // Until the last reduction is over.
    (0..2).for_each(|_| d.round());
    let before = d.bytes() as f64;
    mark(&mut d);
    d.bytes() as f64 / before
}

/// Briscoe and Ahmed 2019: a deep and varying queue is classic, and its marks then reduce by 0.625
/// of a half. A shallow queue is not.
#[test]
fn a_classic_queue_gets_a_classic_response() {
    let near = |found: f64, expected: f64| (found - expected).abs() < 0.02;
    let classic = factor_after_swings(20, 25, true);
    assert!(near(classic, 1.0 - 0.625 / 2.0), "{classic}");
    for (swing_ms, fallback) in [(0, true), (1, true), (25, false)] {
        let factor = factor_after_swings(20, swing_ms, fallback);
        assert!(factor > 0.9, "{swing_ms} ms, {fallback}: {factor}");
    }
}
