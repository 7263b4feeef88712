//! The exits of CUBIC's slow start: Linux's HyStart and RFC 9406.

use crate::common::{Driver, MSS, build_over, choice};
use sojourn_cc::Controller;
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Duration, Instant};

const RTT: Duration = Duration::from_millis(100);

fn cubic(slow_start: &str, paced: bool, initial: u64) -> Driver {
    cubic_at(RTT, slow_start, paced, initial)
}

fn cubic_at(rtt: Duration, slow_start: &str, paced: bool, initial: u64) -> Driver {
    let params = [("slow_start", choice(slow_start))];
    let mut driver = Driver::new(build_over(paced, "cubic", initial, &params), rtt);
    // Wider than any ACK train.
    driver.spacing = Some(Duration::from_millis(3));
    driver
}

fn left_slow_start(driver: &Driver) -> bool {
    driver.cc.probe().ssthresh.is_some()
}

/// A round with RTT `rtt`. Returns the number of its ACKs before the end of slow start.
fn round_at(driver: &mut Driver, rtt: Duration) -> Option<u64> {
    driver.rtt = rtt;
    let packets = driver.packets();
    (1..=packets).find(|_| {
        driver.ack(|_| {});
        left_slow_start(driver)
    })
}

/// A round of ACKs, one every `gap`. Returns the time from its first ACK to its last.
fn train(driver: &mut Driver, gap: Duration) -> Duration {
    driver.spacing = Some(gap);
    // The first ACK of the round starts it.
    driver.ack(|_| {});
    let begin: Instant = driver.now;
    while !left_slow_start(driver) && driver.now.since(begin) < RTT * 2 {
        // All ACKs of one round: numbers below its end.
        let number = driver.acked;
        driver.ack(|f| {
            f.largest_acked = 0;
            f.next_number = number;
        });
    }
    driver.now.since(begin)
}

/// Linux hystart_update: the train ends at the first ACK after half of min_rtt plus the 1
/// ms of hystart_ack_delay, (100 + 1) / 2 = 50.5 ms. With pacing it ends after all of it,
/// 101 ms.
#[test]
fn an_ack_train_of_half_the_least_rtt_ends_slow_start() {
    for (paced, expected) in [(false, 51), (true, 102)] {
        let mut c = cubic("hystart", paced, 40);
        assert_eq!(train(&mut c, Duration::from_millis(1)), Duration::from_millis(expected));
    }
}

/// packetdrill, `gtests/net/tcp/cubic/cubic-hystart-delay-rtt-jumps-upward.pkt` (google/packetdrill
/// at 8d63bbc7d627): acknowledgements of two packets each, of a window of 20 whose round trip rose
/// from 200 to 240 ms. The acknowledgement that ends the first round is the first sample of the
/// next, so the ninth sample ends slow start at a window of 36.
#[test]
fn a_round_trip_that_jumps_upward_ends_slow_start_at_the_ninth_acknowledgement() {
    let rtt = Duration::from_millis(200);
    let params = [("slow_start", choice("hystart")), ("arithmetic", choice("linux"))];
    let mut c = Driver::new(build_over(false, "cubic", 10, &params), rtt);
    c.ack(|f| (f.acked, f.acked_packets, f.largest_acked) = (f.acked * 10, 10, 9));
    c.now += Duration::from_millis(240);
    c.spacing = Some(Duration::from_millis(1));
    let mut found = Vec::new();
    for nth in 0..10 {
        c.rtt = Duration::from_millis(240 + nth);
        c.ack(|f| {
            (f.acked, f.acked_packets) = (f.acked * 2, 2);
            (f.largest_acked, f.next_number) = (11 + 2 * nth, 30);
        });
        found.push((c.packets(), c.cc.probe().ssthresh.map(|bytes| bytes.0 / MSS.0)));
    }
    let growing = (11..19).map(|half| (2 * half, None));
    let expected: Vec<_> = growing.chain([(36, Some(36)), (36, Some(36))]).collect();
    assert_eq!(found, expected);
}

/// Linux 5.16, commit 4e1fddc98d25: the acknowledgement that ends a round begins the next train. On a
/// path of 1.2 ms, on which a burst arrives as one, it comes 1.2 ms after the first of its round: above
/// half of min_rtt and the 1 ms of hystart_ack_delay, and below the 2 ms of hystart_ack_delta.
#[test]
fn the_acknowledgement_that_ends_a_round_ends_no_train() {
    let rtt = Duration::from_micros(1_200);
    let mut c = cubic_at(rtt, "hystart", false, 20);
    c.spacing = Some(Duration::from_nanos(1));
    for packets in [20, 40, 80, 160, 320, 640] {
        assert_eq!((c.packets(), left_slow_start(&c)), (packets, false));
        c.round();
        c.now += rtt;
    }
}

/// `hystart_train` is the share of min_rtt; `hystart_detect` can disable either signal
/// (Linux's parameter of that name).
#[test]
fn what_hystart_looks_for_can_be_chosen() {
    let build = |detect: &str| {
        let train = ("hystart_train", Value::Number(1.0));
        let params = [train, ("hystart_detect", choice(detect))];
        let mut driver = Driver::new(build_over(false, "cubic", 40, &params), RTT);
        driver.spacing = Some(Duration::from_millis(3));
        driver
    };
    let ms = Duration::from_millis(1);
    assert_eq!(train(&mut build("both"), ms), Duration::from_millis(102));
    assert_eq!(train(&mut build("train"), ms), Duration::from_millis(102));
    assert!(!left_slow_start(&{
        let mut c = build("delay");
        train(&mut c, ms);
        c
    }));
    // The ninth sample of the round decides.
    for (detect, exit) in [("both", Some(9)), ("delay", Some(9)), ("train", None)] {
        let mut c = build(detect);
        assert_eq!(round_at(&mut c, RTT), None);
        assert_eq!(round_at(&mut c, RTT * 2), exit, "{detect}");
    }
}

/// HYSTART_ACK_DELTA: ACKs with gaps above 2 ms are not a train.
#[test]
fn a_gap_of_over_two_milliseconds_breaks_the_train() {
    for (gap_us, ends) in [(2_000, true), (2_001, false)] {
        let mut c = cubic("hystart", false, 200);
        train(&mut c, Duration::from_micros(gap_us));
        assert_eq!(left_slow_start(&c), ends, "{gap_us} us");
    }
}

/// hystart_low_window: below 16 packets neither train nor delay counts.
#[test]
fn a_small_window_is_not_judged() {
    for (initial, judged) in [(14, false), (15, true)] {
        let mut c = cubic("hystart", false, initial);
        // Grows the window to 15 or 16 packets, and starts a round.
        c.ack(|_| {});
        c.rtt = RTT * 3;
        for _ in 0..30 {
            c.ack(|f| {
                f.acked = Bytes(1);
                f.largest_acked = 0;
            });
        }
        assert_eq!(left_slow_start(&c), judged, "{initial} packets");
    }
}

/// Linux since 6.14 (commit 25c1a9ca53db, "fix incorrect HyStart round start detection"): rounds
/// follow each other below 16 packets too, so that a train counts from the first acknowledgement of
/// its round, and not from the one that makes the window 16 packets. At 3 ms it ends slow start
/// after (3 + 1) / 2 = 2 ms.
#[test]
fn a_train_counts_from_its_round_s_begin_below_the_low_window() {
    for arithmetic in ["exact", "linux"] {
        let params = [("slow_start", choice("hystart")), ("arithmetic", choice(arithmetic))];
        let cc = build_over(false, "cubic", 10, &params);
        let mut c = Driver::new(cc, Duration::from_millis(3));
        c.spacing = Some(Duration::from_micros(300));
        let ended = (1..=20).find(|_| {
            c.ack(|_| {});
            left_slow_start(&c)
        });
        assert_eq!(ended, Some(8), "{arithmetic}");
    }
}

/// Threshold min_rtt/8 within 4 ms and 16 ms, checked from the ninth sample of a round on:
/// 100 ms allows 12.5 ms, 16 ms allows 4 ms, 400 ms allows 16 ms.
#[test]
fn delay_beyond_the_threshold_ends_slow_start_at_the_ninth_sample() {
    for (base_ms, allowed_us) in [(100, 12_500), (16, 4_000), (400, 16_000)] {
        for (over_us, ends) in [(0, None), (1, Some(9))] {
            let base = Duration::from_millis(base_ms);
            let mut c = cubic_at(base, "hystart", false, 40);
            round_at(&mut c, base);
            let rtt = base + Duration::from_micros(allowed_us + over_us);
            assert_eq!(round_at(&mut c, rtt), ends, "{base_ms} ms and {over_us} us over");
        }
    }
}

/// Linux bictcp_state: a timeout resets the detection, so the next slow start may end early
/// again.
#[test]
fn hystart_judges_again_after_a_timeout() {
    let mut c = cubic("hystart", false, 40);
    round_at(&mut c, RTT);
    assert_eq!(round_at(&mut c, RTT * 2), Some(9));
    let now = c.now;
    c.cc.on_timeout(now, MSS * 1000);
    c.rtt = RTT;
    assert_eq!(c.trajectory(5), [1, 2, 4, 8, 16, 32]);
    c.rtt = RTT * 2;
    c.round();
    assert_eq!(c.cc.probe().phase, "reno_friendly");
    assert!(c.packets() < 64, "{}", c.packets());
}

/// RFC 9406 section 4.2 with the constants of 4.3, RTT 100 ms: the threshold is 12.5 ms.
/// Five rounds follow, including the current one, each with a quarter of slow start's
/// growth.
#[test]
fn hystart_plus_plus_takes_five_conservative_rounds() {
    let mut c = cubic("hystart++", true, 10);
    assert_eq!(c.trajectory(2), [10, 20, 40]);
    c.rtt = Duration::from_micros(112_500);
    let mut windows = vec![];
    for _ in 0..6 {
        c.round();
        windows.push((c.packets(), c.cc.probe().phase));
    }
    assert_eq!(
        windows,
        [
            // Seven of 40 packets before the eighth sample decides: 40 + 7 + 33/4. From
            // then on a quarter of the whole packets: 55.25 + 55/4, and so on.
            (55, "conservative_slow_start"),
            (69, "conservative_slow_start"),
            (86, "conservative_slow_start"),
            (107, "conservative_slow_start"),
            (134, "conservative_slow_start"),
            (135, "reno_friendly"),
        ]
    );
}

/// One microsecond less than the threshold is not an increase.
#[test]
fn hystart_plus_plus_goes_on_below_its_threshold() {
    let mut c = cubic("hystart++", true, 10);
    c.round();
    c.rtt = Duration::from_micros(112_499);
    assert_eq!(c.trajectory(2), [20, 40, 80]);
}

/// RFC 9406 section 4.2: if the RTT falls below the baseline again, the exit was spurious
/// and slow start resumes.
#[test]
fn hystart_plus_plus_resumes_after_a_spurious_exit() {
    let mut c = cubic("hystart++", true, 40);
    c.round();
    c.rtt = Duration::from_millis(120);
    c.round();
    assert_eq!(c.cc.probe().phase, "conservative_slow_start");
    c.rtt = RTT;
    c.round();
    assert_eq!(c.cc.probe().phase, "slow_start");
    let before = c.packets();
    c.round();
    assert_eq!(c.packets(), 2 * before);
}

/// RFC 9406 section 4.3: L = 8 packets per ACK for a sender without pacing.
#[test]
fn hystart_plus_plus_limits_an_unpaced_burst() {
    for (paced, grown) in [(false, 8), (true, 20)] {
        let mut c = cubic("hystart++", paced, 40);
        c.ack(|f| f.acked = f.acked * 20);
        assert_eq!(c.packets(), 40 + grown);
    }
}

/// RFC 9406 section 4.3: only for the first slow start; standard slow start after a
/// timeout.
#[test]
fn hystart_plus_plus_is_for_the_first_slow_start_only() {
    let mut c = cubic("hystart++", true, 40);
    let now = c.now;
    c.cc.on_timeout(now, MSS * 1000);
    c.trajectory(5);
    c.rtt = RTT * 3;
    assert_eq!(c.trajectory(2), [32, 64, 128]);
}

/// RFC 5681: only loss ends slow start.
#[test]
fn standard_slow_start_ignores_delay() {
    let mut c = cubic("standard", false, 40);
    c.round();
    c.rtt = RTT * 5;
    c.spacing = Some(Duration::from_micros(100));
    assert_eq!(c.trajectory(2), [80, 160, 320]);
}
