//! The distribution of waits under changing capacity.

use proptest::prelude::*;
use sojourn_theory::capacity::Sender::{Draining, Matching};
use sojourn_theory::capacity::{Opening, means, peak_delay, waits, waits_after};
use sojourn_theory::waits::{Wait, longest, quantile, worst};
use sojourn_units::{Duration, Instant, Rate};

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn steps(points: &[(u64, u64)]) -> Vec<(Instant, Rate)> {
    points.iter().map(|(ms, mbit)| (at(*ms), Rate::from_mbit(*mbit))).collect()
}

/// 60 Mbit/s fall to 20 after a second, with a loop of 50 ms: an excess of 40 Mbit/s for 50
/// ms waits 100 ms, and is not drained.
#[test]
fn one_drop_by_hand() {
    let found =
        waits(&steps(&[(0, 60), (1000, 20)]), Duration::from_millis(50), Matching, at(2000));
    let bits: f64 = found.iter().map(|wait| wait.bits).sum();
    // A second and a loop at 60 Mbit/s, the rest at 20: rounding only.
    assert!((bits - (63e6 + 19e6)).abs() < 1.0);
    // Waits are 0 for 60 Mbit, uniform from 0 to 100 ms for 3, and 100 ms for 19.
    let half = 61.5 / 82.0;
    // Quantiles are exact to half a nanosecond.
    assert!((quantile(&found, half) - 0.050).abs() < 1e-9);
    assert_eq!(quantile(&found, 60.0 / 82.0 - 1e-6), 0.0);
    assert!((quantile(&found, 1.0) - 0.100).abs() < 1e-9);
    let (when, wait) = worst(&found, Duration::from_millis(100), 1)[0];
    assert_eq!(when, at(1050));
    assert!((wait - 0.100).abs() < 1e-9);
}

/// The draining sender has 3 Mbit late by up to 100 ms; all later data do not wait.
#[test]
fn one_drop_drained_by_hand() {
    let found =
        waits(&steps(&[(0, 60), (1000, 20)]), Duration::from_millis(50), Draining, at(2000));
    let total = 60e6 + 3e6 + 17e6;
    let bits: f64 = found.iter().map(|wait| wait.bits).sum();
    assert!((bits - total).abs() < 1.0);
    assert!((quantile(&found, 1.0 - 1.5e6 / total) - 0.050).abs() < 1e-6);
}

/// Intervals of half a second: the drop is at the start of the third.
#[test]
fn a_figure_by_hand() {
    let steps = steps(&[(0, 60), (1000, 20), (1750, 40)]);
    let found = waits(&steps[..2], Duration::from_millis(50), Matching, at(2000));
    let highest = longest(&found, at(2000), 4);
    let expected = [0.0, 0.0, 0.100, 0.100];
    assert!(highest.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{highest:?}");
    // Rounding of floats.
    let capacity = means(&steps, at(2000), 4);
    let expected = [60e6, 60e6, 20e6, 30e6];
    assert!(capacity.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1.0), "{capacity:?}");
}

/// A plateau of 100 ms, far longer than two loops, is one instant. A rise to 50 Mbit/s
/// leaves 0.5 of its 2 Mbit: the wait is 10 ms. The drop to 25 Mbit/s adds 1.25 Mbit, which
/// is another instant: 1.75 Mbit wait 70 ms.
#[test]
fn a_plateau_is_one_instant() {
    let steps = steps(&[(0, 60), (1000, 20), (5000, 50), (9000, 25)]);
    let told = |until: u64| {
        let found = waits(&steps, Duration::from_millis(50), Matching, at(until));
        let worst = worst(&found, Duration::from_millis(100), 5).into_iter();
        worst.map(|(when, wait)| (when.0 / 1_000_000, (1e3 * wait).round())).collect::<Vec<_>>()
    };
    assert_eq!(told(4_900), [(1050, 100.0)]);
    assert_eq!(told(12_000), [(1050, 100.0), (9050, 70.0)]);
}

#[test]
fn what_never_leaves_waits_for_ever() {
    let found = waits(&steps(&[(0, 60), (1000, 0)]), Duration::from_millis(50), Matching, at(2000));
    assert_eq!(quantile(&found, 1.0), f64::INFINITY);
    assert_eq!(quantile(&found, 0.5), 0.0);
    // The figure shows it from the end of the capacity on.
    let highest = longest(&found, at(2000), 4);
    assert_eq!(highest[..3], [0.0, 0.0, f64::INFINITY]);
    // No data arrive after that.
    assert!(highest[3].is_nan());
}

#[test]
fn nothing_arrives_nothing_waits() {
    assert_eq!(quantile(&waits(&[], Duration::ZERO, Matching, at(10)), 0.99), 0.0);
}

/// Rates of 1 to 100 Mbit/s, each for 1 to 300 ms; the last one holds for long.
fn changing() -> impl Strategy<Value = Vec<(Instant, Rate)>> {
    proptest::collection::vec((1..300_u64, 1..100_u64), 1..60).prop_map(|changes| {
        let mut now = 0;
        let step = |(span, mbit): (u64, u64)| {
            let step = (at(now), Rate::from_mbit(mbit));
            now += span;
            step
        };
        changes.into_iter().map(step).collect()
    })
}

/// 100 Mbit/s for 10 ms, then 10, with a loop of 100 ms that follows both: the loop after it begins
/// with 10 ms of the 100 Mbit/s, which the draining sender, told at 110 ms, compensates by 90 ms of
/// silence. By hand: 0.9 Mbit wait at most 90 ms, and all later data do not.
#[test]
fn an_early_step_is_drained() {
    let steps = steps(&[(0, 100), (10, 10), (2000, 10)]);
    let found =
        waits_after(Opening::Followed, &steps, Duration::from_millis(100), Draining, at(2000));
    assert!((quantile(&found, 1.0) - 0.090).abs() < 1e-9);
    assert_eq!(quantile(&found, 0.5), 0.0);
    let late: f64 = found.iter().filter(|wait| wait.at_s > 0.2).map(Wait::most).fold(0.0, f64::max);
    assert_eq!(late, 0.0);
}

/// Forty rounds of a trace with stretches of 10 ms, from its stretch `first` on.
fn rounds(mbit: &[u64], first: usize) -> Vec<(Instant, Rate)> {
    let stretches = mbit.iter().cycle().skip(first).take(40 * mbit.len());
    stretches.zip(0..).map(|(mbit, k)| (at(10 * k), Rate::from_mbit(*mbit))).collect()
}

proptest! {
    /// A trace has the same delays wherever it begins. Only its first loop and round have seen
    /// less than the others, and its last four at most wait for the end's capacity: quantiles
    /// move by at most their share, six rounds of forty.
    #[test]
    fn the_first_stretch_is_one_of_many(
        mbit in proptest::collection::vec(1..100_u64, 20..40),
        first in 0..20_usize,
        loop_ms in 0..200_u64,
        drains in any::<bool>(),
    ) {
        let sender = if drains { Draining } else { Matching };
        let found = |first: usize| {
            let until = at(400 * mbit.len() as u64);
            let delay = Duration::from_millis(loop_ms);
            waits_after(Opening::Followed, &rounds(&mbit, first), delay, sender, until)
        };
        let (here, there) = (found(0), found(first));
        for share in [0.25, 0.5, 0.8] {
            let [least, most] = [share - 0.15, share + 0.15].map(|q| quantile(&there, q));
            let wait = quantile(&here, share);
            // Floats.
            prop_assert!(least - 1e-9 <= wait && wait <= most + 1e-9, "{least} {wait} {most}");
        }
    }

    /// The longest wait is the peak found in integers.
    #[test]
    fn the_longest_is_the_peak(steps in changing(), delay_ms in 0..400_u64, drains in any::<bool>()) {
        let sender = if drains { Draining } else { Matching };
        let (delay, until) = (Duration::from_millis(delay_ms), at(30_000));
        let peak = peak_delay(&steps, delay, sender, Instant::ZERO, until);
        let found = waits(&steps, delay, sender, until);
        let longest = found.iter().map(|wait| wait.most()).fold(0.0, f64::max);
        // Integers round down to the nanosecond, floats to some picoseconds.
        prop_assert!((longest - peak.0 as f64 / 1e9).abs() < 2e-9, "{longest} {peak}");
    }

    /// Intervals are consecutive, and contain all arrivals.
    #[test]
    fn nothing_is_counted_twice(steps in changing(), delay_ms in 0..400_u64) {
        let delay = Duration::from_millis(delay_ms);
        let found = waits(&steps, delay, Matching, at(20_000));
        for pair in found.windows(2) {
            prop_assert!(pair[0].at_s + pair[0].span_s <= pair[1].at_s + 1e-9);
        }
        let bits: f64 = found.iter().map(|wait| wait.bits).sum();
        let sent = |ms: u64| {
            let past = at(ms).0.saturating_sub(delay.0);
            steps.iter().rev().find(|(from, _)| from.0 <= past).map_or(0.0, |(_, rate)| rate.0 as f64)
        };
        let expected: f64 = (0..20_000).map(sent).sum::<f64>() / 1e3;
        // Sums of thousands of floats.
        prop_assert!((bits - expected).abs() < 1e-6 * expected, "{bits} {expected}");
    }
}

/// Floats near 10^7 s have gaps of more than half a nanosecond.
#[test]
fn a_quantile_of_very_long_waits_has_an_end() {
    let wait = Wait { at_s: 0.0, span_s: 1.0, bits: 1e6, first_s: 0.0, last_s: 1e7 };
    let median = quantile(&[wait], 0.5);
    assert!((median - 5e6).abs() < 1e-8, "{median}");
}
