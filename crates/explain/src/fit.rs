//! How well the twin stands for the observation.

use crate::path::view::View;
use crate::quantile::quantile;
use crate::result::Fit;
use crate::twin::run::Ran;

/// A twin is good up to these errors: of quartiles and of goodput, as shares, and of the behaviour.
const RTT: f64 = 0.15;
const LEAST_S: f64 = 2e-3;
const GOODPUT: f64 = 0.1;
const DISTANCE: f64 = 0.35;
/// A flow with a smaller share of the data does not count.
const SMALL: f64 = 0.02;

/// Quartiles of the round-trip time of a view, in s.
pub(crate) fn quartiles(view: &View) -> [Option<f64>; 3] {
    let mut rtts: Vec<f64> = view.trips.iter().map(|trip| trip.rtt).collect();
    [0.25, 0.5, 0.75].map(|q| quantile(&mut rtts, q))
}

/// The twin beside the observation. Flows are in the same order.
pub(crate) fn fit(observed: &[View], twin: &Ran, distance: f64) -> Fit {
    let mut fit = Fit { distance, ..Fit::default() };
    let bytes = |view: &View| view.delivered.last().map_or(0.0, |last| last.1);
    let total: f64 = observed.iter().map(bytes).sum();
    let mut worst_s: f64 = 0.0;
    for (seen, own) in observed.iter().zip(&twin.views) {
        if bytes(seen) == 0.0 {
            continue;
        }
        fit.losses += seen.losses.iter().map(|loss| loss.packets).sum::<f64>();
        let Some(own) = own else {
            fit.goodput = 1.0;
            continue;
        };
        fit.twin_losses += own.losses.iter().map(|loss| loss.packets).sum::<f64>();
        if bytes(seen) < SMALL * total {
            continue;
        }
        for (a, b) in quartiles(seen).into_iter().zip(quartiles(own)) {
            let (Some(a), Some(b)) = (a, b) else { continue };
            fit.rtt = fit.rtt.max((b / a - 1.0).abs());
            worst_s = worst_s.max((b - a).abs());
        }
        fit.goodput = fit.goodput.max((bytes(own) / bytes(seen).max(1.0) - 1.0).abs());
    }
    let is_near = fit.rtt <= RTT || worst_s <= LEAST_S;
    fit.good = is_near && fit.goodput <= GOODPUT && distance <= DISTANCE;
    fit
}
