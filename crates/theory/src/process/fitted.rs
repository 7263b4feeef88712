//! A fit, with what it keeps of the capacity it was fitted to.

use rand_core::RngCore;
use sojourn_units::{Duration, Instant};

use super::{Chain, FitError, Process, autocorrelation, length};
use crate::capacity::{Step, means};

/// Mean, spread and memory of a capacity, of its means over stretches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// The mean, in bit/s.
    pub mean_bps: f64,
    /// The standard deviation, in bit/s.
    pub deviation_bps: f64,
    /// How alike it is to itself one loop delay later: [`autocorrelation`] at
    /// the nearest whole number of stretches.
    pub autocorrelation: f64,
}

/// A chain fitted to a capacity, and a capacity that it made.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The chain.
    pub chain: Chain,
    /// Of what it was fitted to.
    pub measured: Moments,
    /// Of what it made.
    pub made: Moments,
    /// What it made, and its mean afterwards.
    pub steps: Vec<Step>,
}

/// How a capacity is fitted, and what is made of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Over which capacity is averaged: how long the chain stays at least.
    pub stretch: Duration,
    /// The greatest number of levels.
    pub levels: usize,
    /// How much the chain makes.
    pub until: Instant,
    /// The loop delay at which both are compared.
    pub delay: Duration,
}

impl Fit {
    /// Fits a chain to `steps` up to `end`, and has it make a capacity.
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
