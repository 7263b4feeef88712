//! Histograms compared with the sorted values.

use proptest::prelude::*;
use sojourn_trace::Histogram;

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.record(*value));
    histogram
}

/// Values of all magnitudes, not mostly huge ones: a shift, then a number.
fn value() -> impl Strategy<Value = u64> {
    (0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift)
}

fn values() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(value(), 1..400)
}

/// Nearest rank in integers: the ceil(n k / 1000)-th.
fn nearest_rank(sorted: &[u64], per_mille: usize) -> u64 {
    sorted[(sorted.len() * per_mille).div_ceil(1000).max(1) - 1]
}

#[test]
fn empty_has_nothing_to_tell() {
    let empty = Histogram::new();
    assert_eq!((empty.count(), empty.min(), empty.max()), (0, None, None));
    assert_eq!((empty.mean(), empty.quantile(0.5)), (None, None));
    let mut merged = empty.clone();
    merged.merge(&empty);
    assert_eq!(merged.count(), 0);
}

#[test]
fn ranks_are_not_rounded_up_by_binary_fractions() {
    // 0.07 x 100, 0.29 x 100 and 0.57 x 100 are above 7, 29 and 57 (or below) in binary;
    // the ranks must follow the decimal fractions.
    let hundred = of(&(1..=100).collect::<Vec<_>>());
    for percent in 1..=100 {
        assert_eq!(hundred.quantile(percent as f64 / 100.0), Some(percent));
    }
    assert_eq!(hundred.quantile(0.501), Some(51));
}

#[test]
fn quantiles_beyond_the_ends_are_the_ends() {
    let histogram = of(&[1_000_003, 5_000_017, 9_000_029]);
    assert_eq!(histogram.quantile(-1.0), Some(1_000_003));
    assert_eq!(histogram.quantile(0.0), Some(1_000_003));
    assert_eq!(histogram.quantile(2.0), Some(9_000_029));
    assert_eq!(histogram.quantile(f64::NAN), Some(1_000_003));
}

#[test]
fn the_greatest_values_fit() {
    let histogram = of(&[u64::MAX, u64::MAX - 1, u64::MAX, 0]);
    assert_eq!((histogram.min(), histogram.max()), (Some(0), Some(u64::MAX)));
    assert_eq!(histogram.mean(), Some(0.75 * u64::MAX as f64));
}

/// 100,000 flows have one histogram each.
#[test]
fn an_empty_one_is_small() {
    // Vec, first bucket, count, min, max: 7 words; the sum: 2 words, aligned to 2.
    assert!(std::mem::size_of::<Histogram>() <= 10 * 8);
}

proptest! {
    #[test]
    fn count_ends_and_mean_are_exact(values in values()) {
        let histogram = of(&values);
        prop_assert_eq!(histogram.count(), values.len() as u64);
        prop_assert_eq!(histogram.min(), values.iter().min().copied());
        prop_assert_eq!(histogram.max(), values.iter().max().copied());
        let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
        prop_assert_eq!(histogram.mean(), Some(sum as f64 / values.len() as f64));
    }

    #[test]
    fn quantiles_are_within_a_512th(values in values(), per_mille in 0_usize..=1000) {
        let histogram = of(&values);
        let mut sorted = values;
        sorted.sort();
        let exact = nearest_rank(&sorted, per_mille);
        let found = histogram.quantile(per_mille as f64 / 1000.0).unwrap();
        // Half of a bucket, whose width is at most a 256th of its minimum.
        prop_assert!(found.abs_diff(exact) <= exact / 512, "{found} not {exact}");
        prop_assert!((sorted[0]..=sorted[sorted.len() - 1]).contains(&found));
    }

    #[test]
    fn quantiles_never_fall(values in values()) {
        let histogram = of(&values);
        let quantiles: Vec<_> = (0..=100).map(|p| histogram.quantile(p as f64 / 100.0)).collect();
        prop_assert!(quantiles.is_sorted());
    }

    /// The result does not depend on the order of recording and merging.
    #[test]
    fn merging_is_recording_both(left in values(), right in values()) {
        let mut merged = of(&left);
        merged.merge(&of(&right));
        let mut other = of(&right);
        other.merge(&of(&left));
        let both = of(&[right, left].concat());
        for histogram in [merged, other] {
            prop_assert_eq!(histogram.count(), both.count());
            prop_assert_eq!((histogram.min(), histogram.max()), (both.min(), both.max()));
            prop_assert_eq!(histogram.mean(), both.mean());
            for percent in 0..=100 {
                let q = percent as f64 / 100.0;
                prop_assert_eq!(histogram.quantile(q), both.quantile(q));
            }
        }
    }
}
