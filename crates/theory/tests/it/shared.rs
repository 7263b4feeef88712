//! One drop for several flows with different loop delays on one FIFO.

use sojourn_theory::shared::{arrivals, growth, shared};
use sojourn_theory::spike::{SpikeError, mean_delay, per_user, spike, weighted};
use sojourn_units::{Duration, Rate};

const MS: fn(u64) -> Duration = Duration::from_millis;
const MBIT: fn(u64) -> Rate = Rate::from_mbit;

/// Three quarters of the traffic at 20 ms, a quarter at 100 ms.
const FLOWS: [(f64, Duration); 2] = [(3.0, MS_20), (1.0, MS_100)];
const MS_20: Duration = Duration(20_000_000);
const MS_100: Duration = Duration(100_000_000);

/// The mean d is 40 ms, so Q = 2 x 40 ms; growth ends when the last flow reacts.
#[test]
fn two_flows_by_hand() {
    let found = shared(MBIT(60), MBIT(20), &FLOWS, None).unwrap();
    assert_eq!((found.r, found.delay, found.spike), (3.0, MS(40), MS(80)));
    assert_eq!((found.time_to_peak, found.lost_fraction), (MS(100), 0.0));
    assert_eq!(found.spike, weighted(&FLOWS, 3.0).unwrap());
    assert_eq!(found.delay, mean_delay(&FLOWS).unwrap());
    // 40 ms are reached after 20 ms; the other 10 take 20 ms at a quarter of the growth.
    let capped = shared(MBIT(60), MBIT(20), &FLOWS, Some(MS(50))).unwrap();
    assert_eq!((capped.spike, capped.time_to_peak), (MS(50), MS(40)));
    assert_eq!(capped.lost_fraction, 0.375);
    // Half of the growth of the first 20 ms.
    let low = shared(MBIT(60), MBIT(20), &FLOWS, Some(MS(20))).unwrap();
    assert_eq!(low.time_to_peak, MS(10));
}

/// The queue from small steps of arrivals: the integral, and its end.
#[test]
fn the_course_is_the_integral_of_what_arrives() {
    let flows = [(1.0, MS(7)), (2.5, MS(30)), (0.5, MS(31)), (1.0, MS(110))];
    let sent = arrivals(MBIT(50), MBIT(10), &flows).unwrap();
    let corners = growth(MBIT(50), MBIT(10), &flows, None).unwrap();
    let rate = |t: f64| sent.iter().rev().find(|(at, _)| *at <= t).unwrap().1;
    let (mut queued, step) = (0.0, 1e-6);
    let mut next = corners.iter().skip(1);
    let mut corner = next.next();
    for k in 0..120_000 {
        let t = k as f64 * step;
        if let Some((at, delay)) = corner.filter(|(at, _)| t >= *at) {
            // One step of growth, at four times the speed, and float errors.
            assert!((queued - delay).abs() < 4.1 * step, "at {at}: {queued}, not {delay}");
            corner = next.next();
        }
        queued += (rate(t) / 10e6 - 1.0) * step;
    }
    assert_eq!(corner, None, "a corner was not reached");
    assert!((sent.last().unwrap().1 - 10e6).abs() < 1.0);
    let found = shared(MBIT(50), MBIT(10), &flows, None).unwrap();
    assert!((queued - found.spike.as_secs_f64()).abs() < 4.1 * step);
}

#[test]
fn one_flow_and_equal_flows_are_exact() {
    for cap in [None, Some(MS(9))] {
        let one = spike(MBIT(60), MBIT(7), MS(33), cap).unwrap();
        assert_eq!(shared(MBIT(60), MBIT(7), &[(0.3, MS(33))], cap), Ok(one));
        let equal = [(0.5, MS(33)), (2.0, MS(33)), (0.0, MS(900))];
        assert_eq!(shared(MBIT(60), MBIT(7), &equal, cap), Ok(one));
    }
    let rise = shared(MBIT(20), MBIT(60), &FLOWS, None).unwrap();
    assert_eq!((rise.spike, rise.time_to_peak), (MS(0), MS(0)));
}

#[test]
fn refuses_what_is_no_share_and_no_drop() {
    assert_eq!(shared(MBIT(60), MBIT(20), &[], None), Err(SpikeError::Share { share: 0.0 }));
    let negative = shared(MBIT(60), MBIT(20), &[(1.0, MS(1)), (-2.0, MS(1))], None);
    assert_eq!(negative, Err(SpikeError::Share { share: -2.0 }));
    let nothing = shared(MBIT(60), Rate::ZERO, &FLOWS, None);
    assert_eq!(nothing, Err(SpikeError::ToZero { from: MBIT(60) }));
}

/// "If two users join simultaneously, then r = 3" (section IV).
#[test]
fn users_join_a_fair_queue() {
    for (users, r) in [((1, 2), 2.0), ((1, 3), 3.0), ((2, 3), 1.5), ((3, 1), 1.0 / 3.0)] {
        let (from, to) = per_user(MBIT(60), MBIT(60), users).unwrap();
        assert_eq!(from.as_f64() / to.as_f64(), r);
    }
    // Two users join while capacity falls by half.
    let (from, to) = per_user(MBIT(60), MBIT(30), (1, 3)).unwrap();
    assert_eq!(spike(from, to, MS(10), None).unwrap().spike, MS(50));
    // The error holds the given value, not a multiple of it.
    let nothing = per_user(MBIT(60), Rate::ZERO, (1, 3));
    assert_eq!(nothing, Err(SpikeError::ToZero { from: MBIT(60) }));
    for users in [(0, 1), (1, 0), (u64::MAX, 2)] {
        let (before, after) = users;
        assert_eq!(per_user(MBIT(60), MBIT(60), users), Err(SpikeError::Users { before, after }));
    }
}
