//! A Markov chain of rates, fitted to a capacity.
//!
//! The fit averages the capacity over equal intervals and sorts the means into levels with
//! equally many each; zero is a separate level. A level's rate is the mean of its
//! intervals. The transition probabilities are the observed frequencies, with the first
//! interval following the last. This ring makes the fit exact in two ways: every level has
//! a way out, and the chain spends the same share of time at each level as the capacity
//! did.

use rand_core::RngCore;
use sojourn_units::{Duration, Instant, Rate};

use super::{TooLong, pick};
use crate::capacity::Step;

/// A chain of rates that moves once per interval of `stretch`.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Minimum duration of a rate.
    pub stretch: Duration,
    /// The levels' rates, in increasing order.
    pub rates: Vec<Rate>,
    /// The share of the time at each level.
    pub shares: Vec<f64>,
    /// Transition probabilities from each level (row) to each level (column).
    pub moves: Vec<Vec<f64>>,
}

/// Reasons why a fit fails.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// A chain of one level has no transitions.
    #[error("{levels} levels: a chain has 2 to 64")]
    Levels {
        /// Number of levels requested.
        levels: usize,
    },
    /// Too few intervals to estimate the transition probabilities.
    #[error(
        "the capacity has {stretches} stretches of {stretch}, too few for a chain of {levels} \
         levels: it needs {least} (ten for each possible move)"
    )]
    Short {
        /// Number of intervals.
        stretches: usize,
        /// Length of an interval.
        stretch: Duration,
        /// Number of levels requested.
        levels: usize,
        /// Number of intervals needed.
        least: usize,
    },
    /// The capacity to fit or to generate is too long.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// All intervals have the same mean.
    #[error("the capacity never changes from one stretch of {stretch} to the next")]
    Constant {
        /// Length of an interval.
        stretch: Duration,
    },
}

impl Chain {
    /// Fits a chain of at most `levels` to the means in bit/s over intervals of `stretch`.
    ///
    /// A chain knows only its present level. It loses any memory of the link that is longer
    /// than a stay at one level (compare [`autocorrelation`]).
    pub fn fit(means: &[f64], stretch: Duration, levels: usize) -> Result<Chain, FitError> {
        if !(2..=64).contains(&levels) {
            return Err(FitError::Levels { levels });
        }
        let least = 10 * levels * levels;
        if means.len() < least {
            return Err(FitError::Short { stretches: means.len(), stretch, levels, least });
        }
        let edges = edges(means, levels);
        if edges.is_empty() {
            return Err(FitError::Constant { stretch });
        }
        let places: Vec<usize> =
            means.iter().map(|mean| edges.partition_point(|edge| edge <= mean)).collect();
        Ok(Chain::count(means, &places, stretch, edges.len() + 1))
    }

    fn count(means: &[f64], places: &[usize], stretch: Duration, levels: usize) -> Chain {
        let mut sums = vec![0.0; levels];
        let mut stays = vec![0.0; levels];
        let mut moves = vec![vec![0.0; levels]; levels];
        let next = places.iter().cycle().skip(1);
        for ((mean, place), next) in means.iter().zip(places).zip(next) {
            sums[*place] += mean;
            stays[*place] += 1.0;
            moves[*place][*next] += 1.0;
        }
        for (row, stays) in moves.iter_mut().zip(&stays) {
            row.iter_mut().for_each(|count| *count /= stays);
        }
        let rates = sums.iter().zip(&stays).map(|(sum, stays)| Rate((sum / stays + 0.5) as u64));
        let total = places.len() as f64;
        let (rates, shares) = (rates.collect(), stays.iter().map(|s| s / total).collect());
        Chain { stretch, rates, shares, moves }
    }

    /// The mean rate in bit/s.
    pub fn mean(&self) -> f64 {
        self.rates.iter().zip(&self.shares).map(|(rate, share)| rate.as_f64() * share).sum()
    }

    pub(super) fn steps(&self, random: &mut impl RngCore, until: Instant) -> Vec<Step> {
        let mut level = pick(&self.shares, random);
        let mut now = Instant::ZERO;
        let mut steps = Vec::new();
        while now < until {
            steps.push((now, self.rates[level]));
            level = pick(&self.moves[level], random);
            now += self.stretch;
        }
        steps
    }
}

/// Lower bounds of all levels except the first: distinct values that divide the means above
/// zero into equal parts.
fn edges(means: &[f64], levels: usize) -> Vec<f64> {
    let mut above: Vec<f64> = means.iter().copied().filter(|mean| *mean > 0.0).collect();
    above.sort_by(f64::total_cmp);
    let is_zero = above.len() < means.len();
    let parts = if is_zero { levels - 1 } else { levels };
    let mut edges: Vec<f64> =
        (1..parts).filter_map(|k| above.get(k * above.len() / parts).copied()).collect();
    if is_zero {
        edges.extend(above.first());
        edges.sort_by(f64::total_cmp);
    } else {
        // No mean lies below the minimum.
        edges.retain(|edge| *edge > above[0]);
    }
    edges.dedup();
    edges
}

/// Correlation of the values with those `lag` places later, from -1 to 1, on a ring; 1 if
/// all are equal.
pub fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let later = values.iter().cycle().skip(lag);
    let both: f64 = values.iter().zip(later).map(|(a, b)| (a - mean) * (b - mean)).sum();
    if variance > 0.0 { both / variance } else { 1.0 }
}
