//! A Markov chain of rates, fitted to a capacity.
//!
//! The capacity's means over equal stretches of time are sorted into levels that
//! hold equally many (what is zero is a level of its own); a level's rate is its
//! mean, and the chance of moving to another is how often that followed, the
//! first stretch after the last. Taking it as a ring makes the fit exact in two
//! ways: no level is without a way out, and the chain is at each level as large
//! a share of the time as the capacity was.

use rand_core::RngCore;
use sojourn_units::{Duration, Instant, Rate};

use super::{TooLong, pick};
use crate::capacity::Step;

/// A chain of rates that moves once a stretch.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// How long a rate holds at least.
    pub stretch: Duration,
    /// The levels' rates, increasing.
    pub rates: Vec<Rate>,
    /// The share of the time at each level.
    pub shares: Vec<f64>,
    /// How likely each level (a row) is followed by each (a column).
    pub moves: Vec<Vec<f64>>,
}

/// Why nothing can be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// A chain of one level has nothing to move to.
    #[error("{levels} levels: a chain has 2 to 64")]
    Levels {
        /// How many were asked for.
        levels: usize,
    },
    /// Moves would be guessed from too few.
    #[error(
        "the capacity has {stretches} stretches of {stretch}, too few for a chain of {levels} \
         levels: it needs {least} (ten for each move that can be)"
    )]
    Short {
        /// How many it has.
        stretches: usize,
        /// How long one is.
        stretch: Duration,
        /// The levels asked for.
        levels: usize,
        /// How many it needs.
        least: usize,
    },
    /// More is to be made, or to be fitted to, than there is room for.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// All stretches have the same mean.
    #[error("the capacity never changes from one stretch of {stretch} to the next")]
    Constant {
        /// How long one is.
        stretch: Duration,
    },
}

impl Chain {
    /// Fits a chain of at most `levels` to the means in bit/s over stretches.
    ///
    /// A chain knows nothing beyond its present level: what a link remembers for
    /// longer than a stay at a level (compare [`autocorrelation`]) is lost.
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

/// Where each level but the first begins: values that part the means above zero
/// into equally many, each once.
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
        // Nothing lies below the least.
        edges.retain(|edge| *edge > above[0]);
    }
    edges.dedup();
    edges
}

/// How alike values are to those `lag` places later, from -1 to 1, taken as a
/// ring; 1 where all are equal.
pub fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let later = values.iter().cycle().skip(lag);
    let both: f64 = values.iter().zip(later).map(|(a, b)| (a - mean) * (b - mean)).sum();
    if variance > 0.0 { both / variance } else { 1.0 }
}
