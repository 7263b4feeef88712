//! A figure of one run, or its spread over several.

use serde::Deserialize;

/// A figure of one run, or its spread over several.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Figure {
    /// Of one run.
    One(f64),
    /// Over several runs.
    Spread {
        /// The median.
        median: f64,
        /// The 5th percentile.
        p5: f64,
        /// The 95th percentile.
        p95: f64,
    },
}

impl Figure {
    /// The value, or the median of several.
    pub(crate) fn value(self) -> f64 {
        match self {
            Figure::One(value) => value,
            Figure::Spread { median, .. } => median,
        }
    }

    /// The 5th and the 95th percentile.
    pub(crate) fn range(self) -> (f64, f64) {
        match self {
            Figure::One(value) => (value, value),
            Figure::Spread { p5, p95, .. } => (p5, p95),
        }
    }
}

/// The value of a figure, if it is known.
pub(crate) fn value(figure: Option<Figure>) -> Option<f64> {
    figure.map(Figure::value)
}
