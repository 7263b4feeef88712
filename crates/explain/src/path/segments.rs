//! Times at which the level of a series changes: the least sum of squares with a price for each
//! change (optimal partitioning; Jackson et al. 2005, An Algorithm for Optimal Partitioning of Data
//! on an Interval, IEEE Signal Processing Letters).

use std::ops::Range;

/// Least deviation of a value from its level, as a share: a packet at the edge of a window.
const LEAST_SIGMA: f64 = 4e-3;
/// A smaller step is no change, as a share.
const LEAST_STEP: f64 = 0.04;
/// Least length of a level, in values.
const LEAST_LENGTH: usize = 3;

/// The ranges of positive values with one level each.
pub fn segments(values: &[f64]) -> Vec<Range<usize>> {
    if values.is_empty() {
        return Vec::new();
    }
    let logs: Vec<f64> = values.iter().map(|value| libm::log(value.max(1.0))).collect();
    let smooth = median_of_three(&logs);
    let sigma = sigma(&logs);
    let price = 3.0 * sigma * sigma * libm::log(logs.len() as f64).max(1.0);
    merged(&smooth, partition(&smooth, price), LEAST_STEP.max(2.0 * sigma))
}

/// Standard deviation of the differences of neighbours, by their median: changes of level are rare.
pub(crate) fn sigma(logs: &[f64]) -> f64 {
    let mut steps: Vec<f64> = logs.windows(2).map(|two| (two[1] - two[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    let median = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
    (1.4826 * median / std::f64::consts::SQRT_2).max(LEAST_SIGMA)
}

fn median_of_three(values: &[f64]) -> Vec<f64> {
    let at = |k: usize| {
        let (a, b) = (values[k.saturating_sub(1)], values[k]);
        let c = values[(k + 1).min(values.len() - 1)];
        a.min(b).max(a.max(b).min(c))
    };
    (0..values.len()).map(at).collect()
}

fn partition(values: &[f64], price: f64) -> Vec<Range<usize>> {
    let n = values.len();
    let (mut sums, mut squares) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    for (k, value) in values.iter().enumerate() {
        sums[k + 1] = sums[k] + value;
        squares[k + 1] = squares[k] + value * value;
    }
    let cost = |from: usize, to: usize| {
        let sum: f64 = sums[to] - sums[from];
        squares[to] - squares[from] - sum * sum / (to - from) as f64
    };
    let (mut best, mut last) = (vec![f64::INFINITY; n + 1], vec![0; n + 1]);
    best[0] = -price;
    for to in 1..=n {
        for from in (0..=to.saturating_sub(LEAST_LENGTH)).chain((to < LEAST_LENGTH).then_some(0)) {
            let total = best[from] + cost(from, to) + price;
            if total < best[to] {
                (best[to], last[to]) = (total, from);
            }
        }
    }
    let mut ranges = Vec::new();
    let mut to = n;
    while to > 0 {
        ranges.push(last[to]..to);
        to = last[to];
    }
    ranges.reverse();
    ranges
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Joins neighbours whose levels are within `step`.
fn merged(values: &[f64], ranges: Vec<Range<usize>>, step: f64) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last)
                if (mean(&values[last.clone()]) - mean(&values[range.clone()])).abs() < step =>
            {
                last.end = range.end;
            }
            _ => all.push(range),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    /// First and last place of each level.
    fn segments(values: &[f64]) -> Vec<(usize, usize)> {
        super::segments(values).into_iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn a_step_is_found_at_its_place_and_noise_is_none() {
        let noisy =
            |level: f64, k: usize| level * (1.0 + 0.01 * ((k * 7919 % 13) as f64 / 6.0 - 1.0));
        let values: Vec<f64> =
            (0..100).map(|k| noisy(if k < 40 { 60e6 } else { 20e6 }, k)).collect();
        assert_eq!(segments(&values), [(0, 40), (40, 100)]);
        let flat: Vec<f64> = (0..100).map(|k| noisy(5e6, k)).collect();
        assert_eq!(segments(&flat), [(0, 100)]);
    }

    #[test]
    fn an_outlier_is_no_level() {
        let mut values = vec![10e6; 50];
        values[20] = 2e6;
        assert_eq!(segments(&values), [(0, 50)]);
    }

    #[test]
    fn short_series_have_one_level() {
        assert_eq!(segments(&[]), []);
        assert_eq!(segments(&[1.0]), [(0, 1)]);
        assert_eq!(segments(&[1.0, 5.0]), [(0, 2)]);
    }
}
