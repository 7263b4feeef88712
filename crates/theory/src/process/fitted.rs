//! A fit, compared with the capacity to which it was fitted.

use rand_core::RngCore;
use sojourn_units::{Duration, Instant};

use super::{Chain, FitError, Process, autocorrelation, length};
use crate::capacity::{Step, means};

/// Mean, deviation and memory of a capacity, from its means over intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// The mean, in bit/s.
    pub mean_bps: f64,
    /// The standard deviation, in bit/s.
    pub deviation_bps: f64,
    /// Correlation with itself one loop delay later: [`autocorrelation`] at the nearest
    /// whole number of intervals.
    pub autocorrelation: f64,
}

/// A chain fitted to a capacity, and a capacity generated from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The chain.
    pub chain: Chain,
    /// Moments of the measured capacity.
    pub measured: Moments,
    /// Moments of the generated capacity.
    pub made: Moments,
    /// The generated capacity, followed by its mean.
    pub steps: Vec<Step>,
}

/// Settings of a fit and of the capacity to generate from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Interval over which capacity is averaged: the chain's minimum stay.
    pub stretch: Duration,
    /// The maximum number of levels.
    pub levels: usize,
    /// End of the generated capacity.
    pub until: Instant,
    /// The loop delay at which the two autocorrelations are compared.
    pub delay: Duration,
}

impl Fit {
    /// Fits a chain to `steps` up to `end`, and generates a capacity from it.
    pub fn of(
        &self,
        steps: &[Step],
        end: Instant,
        random: &mut impl RngCore,
    ) -> Result<Fitted, FitError> {
        for until in [end, self.until] {
            length::check(1.0 / self.stretch.as_secs_f64(), until)?;
        }
        let measured = self.means(steps, end);
        let chain = Chain::fit(&measured, self.stretch, self.levels)?;
        let made = Process::Chain(chain.clone()).steps(random, self.until);
        let again = self.means(&made, self.until);
        let (measured, again) = (self.moments(&measured), self.moments(&again));
        Ok(Fitted { chain, measured, made: again, steps: made })
    }

    fn means(&self, steps: &[Step], end: Instant) -> Vec<f64> {
        let count = end.0 / self.stretch.0.max(1);
        let whole = Instant(count * self.stretch.0);
        if count == 0 { Vec::new() } else { means(steps, whole, count as usize) }
    }

    fn moments(&self, values: &[f64]) -> Moments {
        let count = values.len().max(1) as f64;
        let mean_bps = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|v| (v - mean_bps) * (v - mean_bps)).sum();
        let lag = (self.delay.0 + self.stretch.0 / 2) / self.stretch.0.max(1);
        Moments {
            mean_bps,
            deviation_bps: (squares / count).sqrt(),
            autocorrelation: autocorrelation(values, lag as usize),
        }
    }
}
