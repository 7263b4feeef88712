//! The closed forms of one drop of capacity.

use proptest::prelude::*;
use sojourn_theory::spike::{SpikeError, corrected, spike, weighted};
use sojourn_units::{Duration, Rate};

const MS: fn(u64) -> Duration = Duration::from_millis;
const MBIT: fn(u64) -> Rate = Rate::from_mbit;

/// Figure 3 plots equation 2 over r and d; its curves reach "several hundred milliseconds".
/// By hand: a row per r, a column per d.
#[test]
fn equation_2_over_r_and_delay() {
    let delays = [5, 25, 50, 100];
    let rows: [(u64, [u64; 4]); 4] = [
        (2, [5, 25, 50, 100]),
        (3, [10, 50, 100, 200]),
        (6, [25, 125, 250, 500]),
        (10, [45, 225, 450, 900]),
    ];
    for (r, spikes) in rows {
        for (d, expected) in delays.into_iter().zip(spikes) {
            let bound = spike(MBIT(60 * r), MBIT(60), MS(d), None).unwrap();
            assert_eq!(bound.r, r as f64);
            assert_eq!((bound.spike, bound.delay), (MS(expected), MS(d)));
            assert_eq!((bound.time_to_peak, bound.lost_fraction), (MS(d), 0.0));
        }
    }
}

/// The testbed of section III, 60 Mbit/s to 30 Mbit/s: the bound, and the one corrected for
/// the load in the last second. Delivery rates and corrected bounds are from the authors'
/// raw data (github.com/bjornite/thesis-tcp-testbed): (d in ms, load in Mbit/s, ms).
#[test]
fn the_testbeds_bounds() {
    let cells = [
        (25, 54.30, 22.31),
        (50, 54.84, 45.56),
        (75, 54.10, 66.42),
        (100, 55.55, 93.59),
        (25, 57.17, 24.81),
        (75, 52.23, 61.54),
        (100, 50.29, 75.28),
        (25, 48.58, 17.33),
        (100, 45.31, 57.91),
    ];
    let after = Rate(28_690_000);
    for (d, carried, expected_ms) in cells {
        assert_eq!(spike(MBIT(60), MBIT(30), MS(d), None).unwrap().spike, MS(d));
        let carried = Rate(10_000 * (carried * 100.0_f64).round() as u64);
        let bound = corrected(carried, after, MS(d)).unwrap().as_secs_f64() * 1e3;
        // Both rates are given to 0.005 Mbit/s, which moves r' by at most
        // 0.005/28.69 x (1 + r'), r' < 2; the bound itself is given to 0.005 ms.
        let tolerance = 0.005 / 28.69 * 3.0 * d as f64 + 0.005;
        assert!((bound - expected_ms).abs() < tolerance, "{d} ms: {bound} not {expected_ms}");
    }
}

#[test]
fn a_cap_turns_the_rest_into_loss() {
    // Q = (3 - 1) 50 ms = 100 ms, of which 20 ms fit: they fill in 20 / 2 ms.
    let bound = spike(MBIT(60), MBIT(20), MS(50), Some(MS(20))).unwrap();
    assert_eq!((bound.spike, bound.time_to_peak), (MS(20), MS(10)));
    assert_eq!(bound.lost_fraction, 0.8);
    // A cap of exactly Q loses no data.
    let bound = spike(MBIT(60), MBIT(20), MS(50), Some(MS(100))).unwrap();
    assert_eq!((bound.spike, bound.time_to_peak, bound.lost_fraction), (MS(100), MS(50), 0.0));
    // Without a queue all of the excess is lost, at once.
    let bound = spike(MBIT(60), MBIT(20), MS(50), Some(MS(0))).unwrap();
    assert_eq!((bound.spike, bound.time_to_peak, bound.lost_fraction), (MS(0), MS(0), 1.0));
}

#[test]
fn rounds_down_to_the_nanosecond() {
    // (10/3 - 1) x 100 ns = 233.3 ns; capped at 7 ns, 7 / (7/3) = 3 ns to fill.
    assert_eq!(spike(Rate(10), Rate(3), Duration(100), None).unwrap().spike, Duration(233));
    let capped = spike(Rate(10), Rate(3), Duration(100), Some(Duration(8))).unwrap();
    assert_eq!((capped.spike, capped.time_to_peak), (Duration(8), Duration(3)));
    // 2^53 + 1 ns, for which a float would lose the last digit.
    let long = Duration((1 << 53) + 1);
    assert_eq!(spike(Rate(2), Rate(1), long, None).unwrap().spike, long);
}

#[test]
fn refuses_what_has_no_bound() {
    let to_zero = spike(MBIT(60), Rate::ZERO, MS(50), None);
    assert_eq!(to_zero, Err(SpikeError::ToZero { from: MBIT(60) }));
    assert_eq!(spike(Rate::ZERO, MBIT(1), MS(1), None), Err(SpikeError::FromZero { to: MBIT(1) }));
    let long = spike(Rate(3), Rate(1), Duration::MAX, None);
    assert_eq!(long, Err(SpikeError::TooLong { r: 3.0, delay: Duration::MAX }));
    // With a cap the spike is finite for any Q.
    assert_eq!(spike(Rate(3), Rate(1), Duration::MAX, Some(MS(9))).unwrap().spike, MS(9));
    assert!(to_zero.unwrap_err().to_string().starts_with("capacity changes from 60Mbit to zero"));
}

#[test]
fn several_flows_weigh_by_their_share() {
    // Three quarters of the traffic at 20 ms, a quarter at 100 ms: 40 ms x (3 - 1).
    let flows = [(0.75, MS(20)), (0.25, MS(100))];
    assert_eq!(weighted(&flows, 3.0), Ok(MS(80)));
    // Shares are relative.
    assert_eq!(weighted(&[(45e6, MS(20)), (15e6, MS(100))], 3.0), Ok(MS(80)));
    assert_eq!(weighted(&flows, 0.5), Ok(Duration::ZERO));
    assert_eq!(
        weighted(&[(1.0, MS(1)), (-1.0, MS(1))], 2.0),
        Err(SpikeError::Share { share: -1.0 })
    );
    assert_eq!(weighted(&[], 2.0), Err(SpikeError::Share { share: 0.0 }));
    assert_eq!(weighted(&flows, f64::INFINITY), Err(SpikeError::Ratio { r: f64::INFINITY }));
    assert!(matches!(weighted(&[(f64::NAN, MS(1))], 2.0), Err(SpikeError::Share { .. })));
    let long = weighted(&[(1.0, Duration::MAX)], 3.0);
    assert_eq!(long, Err(SpikeError::TooLong { r: 3.0, delay: Duration::MAX }));
}

#[test]
fn a_link_that_carried_less_has_less_to_queue() {
    assert_eq!(corrected(MBIT(40), MBIT(20), MS(50)), Ok(MS(50)));
    assert_eq!(corrected(MBIT(15), MBIT(20), MS(50)), Ok(Duration::ZERO));
    assert_eq!(corrected(Rate::ZERO, MBIT(20), MS(50)), Ok(Duration::ZERO));
    assert!(matches!(corrected(Rate::ZERO, Rate::ZERO, MS(50)), Err(SpikeError::ToZero { .. })));
}

fn rate() -> impl Strategy<Value = Rate> {
    (1_000_u64..100_000_000_000).prop_map(Rate)
}

fn delay() -> impl Strategy<Value = Duration> {
    (0_u64..2_000_000_000).prop_map(Duration)
}

proptest! {
    #[test]
    fn grows_with_r_and_delay(
        from in rate(), to in rate(), more in 0_u64..1_000_000_000, d in delay(), longer in delay(),
    ) {
        let bound = spike(from, to, d, None).unwrap().spike;
        prop_assert!(spike(Rate(from.0 + more), to, d, None).unwrap().spike >= bound);
        prop_assert!(spike(from, Rate(to.0 + more), d, None).unwrap().spike <= bound);
        prop_assert!(spike(from, to, d + longer, None).unwrap().spike >= bound);
    }

    #[test]
    fn is_zero_exactly_without_a_drop(from in rate(), to in rate()) {
        // With d = 10^15 ns and rates below 10^11, even the smallest drop has a spike above
        // zero. A drop by more than 18,000 times has a spike beyond the maximum time, 2^64
        // ns.
        let Ok(bound) = spike(from, to, Duration::from_secs(1_000_000), None) else {
            prop_assert!(from.0 / to.0 > 18_000);
            return Ok(());
        };
        prop_assert_eq!(bound.spike == Duration::ZERO, to >= from);
        prop_assert_eq!(bound.time_to_peak == Duration::ZERO, to >= from);
        prop_assert_eq!(bound.r <= 1.0, to >= from);
    }

    #[test]
    fn a_capped_spike_is_never_above_the_cap(
        from in rate(), to in rate(), d in delay(), q in 1_u64..2_000_000_000,
    ) {
        let free = spike(from, to, d, None).unwrap();
        let capped = spike(from, to, d, Some(Duration(q))).unwrap();
        prop_assert_eq!(capped.spike, free.spike.min(Duration(q)));
        prop_assert!(capped.time_to_peak <= free.time_to_peak);
        prop_assert!((0.0..1.0).contains(&capped.lost_fraction));
        // Equation 3 as printed. Q is rounded down to 1 ns, so off by 1/Q at most.
        if free.spike.0 > q {
            let printed = (free.spike.0 - q) as f64 / free.spike.0 as f64;
            prop_assert!((capped.lost_fraction - printed).abs() <= 1.0 / free.spike.0 as f64);
        }
    }

    #[test]
    fn equal_flows_are_one_flow(
        from in rate(), to in rate(), d in delay(), shares in prop::collection::vec(1e-3..1e3, 1..9),
    ) {
        let one = spike(from, to, d, None).unwrap();
        let flows: Vec<_> = shares.into_iter().map(|share| (share, d)).collect();
        let many = weighted(&flows, one.r).unwrap();
        // 1 ns of rounding, and some ten float operations on r.
        let tolerance = 1.0 + 10.0 * f64::EPSILON * one.r * d.0 as f64;
        prop_assert!((many.0 as f64 - one.spike.0 as f64).abs() <= tolerance);
    }
}
