//! LEDBAT against RFC 6817.

use crate::common::{Driver, MSS, build, choice};
use sojourn_cc::{Controller, Received};
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Duration, Instant};

/// A driver whose delays are round-trip times, over a path of `base_ms`.
fn over(base_ms: u64, params: &[(&str, Value)]) -> Driver {
    let mut all = params.to_vec();
    all.push(("delay", choice("round-trip")));
    Driver::new(build("ledbat", 10, &all), Duration::from_millis(base_ms))
}

/// `n` acknowledgements with this round-trip time.
fn acks(d: &mut Driver, n: u64, rtt_ms: u64) {
    d.rtt = Duration::from_millis(rtt_ms);
    (0..n).for_each(|_| d.ack(|_| {}));
}

/// A window of 40 packets over a path of 40 ms.
fn grown() -> Driver {
    let mut d = over(40, &[]);
    while d.packets() < 40 {
        d.ack(|_| {});
    }
    d
}

/// Section 2.4.2: cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd. Without a queue,
/// off_target is 1: from INIT_CWND, an acknowledgement adds a fraction GAIN / cwnd of a packet, and a
/// round trip GAIN packets.
#[test]
fn the_window_grows_by_the_gain_without_a_queue() {
    for gain in [1.0, 0.25] {
        let mut d = over(40, &[("gain", Value::Number(gain))]);
        assert_eq!(d.packets(), 2);
        d.ack(|_| {});
        assert_eq!(d.bytes(), (MSS * 2).0 + (gain * MSS.as_f64() / 2.0) as u64);
        while d.packets() < 40 {
            d.ack(|_| {});
        }
        let before = d.bytes();
        d.round();
        let grown = (d.bytes() - before) as f64 / MSS.as_f64();
        assert!((grown / gain - 1.0).abs() < 0.02, "{gain}: {grown}");
    }
}

/// The same formula at one acknowledgement: off_target is 0.5 at half of the target, 0 at the
/// target, and -1 at twice the target.
#[test]
fn the_change_is_proportional_to_the_distance_from_the_target() {
    for (queue_ms, off_target) in [(50, 0.5), (100, 0.0), (150, -0.5), (200, -1.0)] {
        let mut d = grown();
        // The minimum of four samples counts, and the window stays away from a whole packet, at which
        // `allowed_increase` would bind.
        acks(&mut d, 10, 40);
        acks(&mut d, 4, 40 + queue_ms);
        let before = d.bytes() as f64;
        acks(&mut d, 10, 40 + queue_ms);
        let expected = 10.0 * off_target * MSS.as_f64() * MSS.as_f64() / before;
        let found = d.bytes() as f64 - before;
        // A byte for rounding, and the window changes by a hundredth meanwhile.
        assert!((found - expected).abs() <= 1.0 + 0.01 * expected.abs(), "{queue_ms}: {found}");
    }
}

/// Section 2.4.2: FILTER over the last CURRENT_FILTER samples is the minimum.
#[test]
fn delayed_samples_count_once_all_are_delayed() {
    let mut d = grown();
    let before = d.bytes();
    acks(&mut d, 3, 900);
    assert!(d.bytes() > before);
    let before = d.bytes();
    acks(&mut d, 1, 900);
    assert!(d.bytes() < before);
}

/// Section 2.4.2: samples must not be older than a round trip.
#[test]
fn samples_older_than_a_round_trip_do_not_count() {
    let mut d = grown();
    acks(&mut d, 8, 40);
    d.spacing = Some(Duration::from_millis(2_000));
    let before = d.bytes();
    acks(&mut d, 1, 900);
    assert!(d.bytes() < before);
}

/// Section 2.4.2: cwnd is at most flightsize + ALLOWED_INCREASE * MSS, and at least MIN_CWND * MSS.
#[test]
fn the_window_stays_near_the_data_in_flight() {
    for (allowed, in_flight, expected) in [(1, 7, 8), (3, 7, 10), (1, 0, 2)] {
        let mut d = over(40, &[("allowed_increase", Value::Integer(allowed))]);
        while d.packets() < 40 {
            d.ack(|_| {});
        }
        d.ack(|f| f.in_flight_before = MSS * in_flight);
        assert_eq!(d.bytes(), (MSS * expected).0, "{allowed} {in_flight}");
    }
}

/// Section 2.4.2: a loss halves the window, and a congestion timeout leaves one packet; the next
/// acknowledgement raises it to MIN_CWND.
#[test]
fn losses_halve_and_timeouts_leave_one_packet() {
    let mut d = grown();
    let before = d.bytes();
    d.lose();
    assert_eq!(d.bytes(), before / 2);
    let now = d.now;
    d.cc.on_timeout(now, MSS * 20);
    assert_eq!(d.packets(), 1);
    d.ack(|_| {});
    assert_eq!(d.packets(), 2);
    d.lose();
    assert_eq!(d.packets(), 2, "not below MIN_CWND");
    let mut marked = grown();
    marked.ack(|f| f.ecn_event = true);
    assert_eq!(marked.bytes(), before / 2, "a mark counts as a loss");
}

/// Section 2.4.2: the base is the minimum over BASE_HISTORY minutes.
#[test]
fn a_longer_path_becomes_the_base_after_the_history() {
    let mut d = over(40, &[("base_history", Value::Integer(2))]);
    d.spacing = Some(Duration::from_millis(500));
    acks(&mut d, 10, 40);
    acks(&mut d, 100, 240);
    assert_eq!(d.packets(), 2, "200 ms beyond the base are twice the target");
    acks(&mut d, 400, 240);
    assert!(d.packets() > 10, "{}", d.packets());
}

/// One acknowledgement with this one-way delay and round-trip time, from a receiver whose clock is
/// ahead by `offset_ms`. Returns the change of the window in bytes.
fn one_way_ack(d: &mut Driver, offset_ms: i64, one_way_ms: u64, rtt_ms: u64) -> i64 {
    d.rtt = Duration::from_millis(rtt_ms);
    let sent_at = d.now;
    let arrived_at = sent_at + Duration::from_millis(one_way_ms);
    let received_at =
        Instant(arrived_at.0.checked_add_signed(offset_ms * 1_000_000).expect("fits"));
    let packet = [Received { number: 0, sent_at, received_at, bytes: Bytes(MSS.0) }];
    let packet: &'static [Received] = Box::leak(Box::new(packet));
    let before = d.bytes();
    d.ack(|f| f.received = packet);
    d.bytes() as i64 - before as i64
}

/// Section 2.4.1: one-way delays. A queue on the return path has no effect.
#[test]
fn one_way_delays_ignore_the_return_path() {
    let mut d = Driver::new(build("ledbat", 10, &[]), Duration::from_millis(40));
    let mut ack = |one_way_ms, rtt_ms| one_way_ack(&mut d, 0, one_way_ms, rtt_ms);
    (0..300).for_each(|_| assert!(ack(20, 40) > 0));
    (0..300).for_each(|_| assert!(ack(20, 900) > 0, "the queue is on the return path"));
    (0..4).for_each(|_| assert!(ack(320, 340) > -200));
    assert!(ack(320, 340) < 0);
}

/// Section 2.4.1: the offset of the receiver's clock has no effect, also if its times are before
/// those of the sender.
#[test]
fn one_way_delays_ignore_the_offset_of_the_clocks() {
    let windows = |offset_ms: i64| {
        let mut d = Driver::new(build("ledbat", 10, &[]), Duration::from_millis(40));
        d.now = Instant(20_000_000_000);
        let delays = (0..300).map(|_| 20).chain((0..300).map(|_| 170));
        let windows = delays.map(|one_way_ms| {
            one_way_ack(&mut d, offset_ms, one_way_ms, 20 + one_way_ms);
            d.bytes()
        });
        windows.collect::<Vec<u64>>()
    };
    let expected = windows(0);
    // A queue of 150 ms is above the target: the window shrinks.
    assert!(expected[599] < expected[299], "{} {}", expected[599], expected[299]);
    for offset_ms in [-10_000, 10_000] {
        assert_eq!(windows(offset_ms), expected, "{offset_ms} ms");
    }
}

/// Section 2.4.2: delays older than a round trip do not count. Without a newer one, as when only
/// retransmissions are acknowledged (Karn's algorithm), the window neither grows nor shrinks: the queue
/// is unknown, not empty.
#[test]
fn the_window_keeps_its_size_without_a_delay_of_the_last_round_trip() {
    for queue_ms in [0, 200] {
        let mut d = grown();
        acks(&mut d, 10, 40);
        acks(&mut d, 4, 40 + queue_ms);
        let before = d.bytes();
        d.now += Duration::from_secs(1);
        for _ in 0..20 {
            d.ack(|f| f.rtt = None);
        }
        assert_eq!(d.bytes(), before, "{queue_ms} ms");
        d.ack(|_| {});
        assert_ne!(d.bytes(), before, "{queue_ms} ms: a new sample counts again");
    }
}
