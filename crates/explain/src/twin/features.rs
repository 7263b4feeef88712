//! The behaviour of a flow in figures that do not depend on the moment of a random loss.

use crate::path::base::Base;
use crate::path::view::{Loss, View};

/// Quantiles that describe a distribution.
const QUANTILES: [f64; 7] = [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95];

/// A flow's behaviour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// Width of the steps that the figures are taken over, in s.
    pub step: f64,
    /// Quantiles of the queueing delay, in s.
    pub queue: Vec<f64>,
    /// Quantiles of the window in use, in bytes.
    pub window: Vec<f64>,
    /// Quantiles of the delivery rate, in bit/s.
    pub rate: Vec<f64>,
    /// Quantiles of the logarithmic change of the window in a round trip, and in eight.
    pub growth: [Vec<f64>; 2],
    /// Events of loss, a round trip apart.
    pub reductions: f64,
    /// Packets lost.
    pub lost: f64,
    /// Marks.
    pub marks: f64,
    /// Bytes delivered.
    pub bytes: f64,
    /// Windows in the order of time, one a step.
    pub course: Vec<Option<f64>>,
    /// Queueing delays in the order of time, in s.
    pub delays: Vec<Option<f64>>,
}

/// Steps of the course: as the distance of two flows, they must be in phase.
const STEP_S: f64 = 0.1;

impl Features {
    /// The behaviour until `end`, in s.
    pub fn of(view: &View, base: &Base, end: f64) -> Features {
        Features::in_steps(view, base, end, step(base).max(view.interval))
    }

    /// The behaviour in steps of a width in s: that of an observation whose samples are as far apart.
    pub fn in_steps(view: &View, base: &Base, end: f64, step: f64) -> Features {
        let trips = view.trips_in(0.0, end);
        let (begin, last) = (view.span().0, view.span().1.min(end));
        // Each trip counts for the time since the one before it: else times with many packets would
        // count more.
        let steps = steps(view, begin, last, step);
        let queue: Vec<f64> = steps.iter().flatten().map(|one| one.0 - base.rtt).collect();
        let window: Vec<f64> = steps.iter().flatten().map(|one| one.1).collect();
        let rate = rates(view, begin, last, step);
        let coarse = if step > self::step(base) { step } else { STEP_S };
        let growth = [1, 8].map(|apart| growths(&steps, apart));
        let losses: Vec<&Loss> = view.losses.iter().filter(|loss| loss.at <= end).collect();
        let course = self::steps(view, begin, last, coarse);
        debug_assert!(trips.len() <= view.trips.len());
        Features {
            step,
            queue: quantiles(queue),
            window: quantiles(window),
            rate: quantiles(rate),
            growth: growth.map(quantiles),
            reductions: reductions(&losses, base.rtt),
            lost: losses.iter().map(|loss| loss.packets).sum(),
            marks: view.marks.iter().filter(|at| **at <= end).count() as f64,
            bytes: view.delivered_at(last) - view.delivered_at(begin),
            course: course.iter().map(|one| one.map(|one| one.1)).collect(),
            delays: course.iter().map(|one| one.map(|one| one.0 - base.rtt)).collect(),
        }
    }
}

fn step(base: &Base) -> f64 {
    base.rtt.clamp(0.02, 0.25)
}

/// The mean round-trip time and window of each step.
fn steps(view: &View, begin: f64, end: f64, width: f64) -> Vec<Option<(f64, f64)>> {
    let count = (((end - begin) / width) as usize).min(100_000);
    let mut sums = vec![(0.0, 0.0, 0.0); count];
    for trip in &view.trips {
        let place = (trip.at - begin) / width;
        if place >= 0.0 && (place as usize) < count {
            let sum = &mut sums[place as usize];
            *sum = (sum.0 + trip.rtt, sum.1 + trip.window, sum.2 + 1.0);
        }
    }
    sums.into_iter().map(|(rtt, window, n)| (n > 0.0).then(|| (rtt / n, window / n))).collect()
}

fn rates(view: &View, begin: f64, end: f64, width: f64) -> Vec<f64> {
    let count = (((end - begin) / width) as usize).min(100_000);
    let at = |k: usize| view.delivered_at(begin + k as f64 * width);
    (0..count).map(|k| 8.0 * (at(k + 1) - at(k)) / width).collect()
}

fn growths(steps: &[Option<(f64, f64)>], apart: usize) -> Vec<f64> {
    let pairs = steps.iter().zip(steps.iter().skip(apart));
    let growth =
        pairs.filter_map(|(a, b)| Some(libm::log(b.as_ref()?.1.max(1.0) / a.as_ref()?.1.max(1.0))));
    growth.collect()
}

fn quantiles(mut values: Vec<f64>) -> Vec<f64> {
    if values.is_empty() {
        return Vec::new();
    }
    values.sort_by(f64::total_cmp);
    let at = |q: f64| values[(q * (values.len() - 1) as f64).round() as usize];
    QUANTILES.iter().map(|q| at(*q)).collect()
}

fn reductions(losses: &[&Loss], base: f64) -> f64 {
    let mut last = f64::NEG_INFINITY;
    let mut count = 0.0;
    for loss in losses {
        if loss.at - last > 1.5 * base.max(0.01) {
            count += 1.0;
        }
        last = loss.at;
    }
    count
}
