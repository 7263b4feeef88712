//! How far a twin's flow is from the observed one.

use super::features::Features;

/// Weights of the parts of the distance.
const WEIGHTS: [f64; PARTS] = [1.0, 1.0, 0.5, 2.0, 2.0, 0.25, 0.15, 0.25, 1.0, 1.0, 1.0];
const PARTS: usize = 11;
/// Least scale of queueing delays, in s.
const LEAST_S: f64 = 1e-3;
/// Greatest part: a figure that is this far off is off.
const GREATEST: f64 = 2.0;

/// The distance of a candidate from the observed flow: zero for the same behaviour, about one for an
/// unlike one.
pub fn distance(observed: &Features, candidate: &Features) -> f64 {
    let parts = parts(observed, candidate);
    let total: f64 =
        parts.iter().zip(WEIGHTS).map(|(part, weight)| part.min(GREATEST) * weight).sum();
    total / WEIGHTS.iter().sum::<f64>()
}

/// The parts of the distance, in the order of their weights.
pub fn parts(a: &Features, b: &Features) -> [f64; PARTS] {
    let scale = |queue: &[f64]| queue.iter().sum::<f64>() / queue.len().max(1) as f64;
    let delay = scale(&a.queue).max(LEAST_S);
    [
        mean(&a.queue, &b.queue, |x, y| (x - y).abs() / delay),
        mean(&a.window, &b.window, ratio),
        mean(&a.rate, &b.rate, |x, y| ratio(x.max(1e4), y.max(1e4))),
        mean(&a.growth[0], &b.growth[0], |x, y| (x - y).abs()),
        mean(&a.growth[1], &b.growth[1], |x, y| (x - y).abs()),
        ratio(a.reductions + 1.0, b.reductions + 1.0),
        ratio(a.lost + 2.0, b.lost + 2.0),
        ratio(a.marks + 4.0, b.marks + 4.0),
        ratio(a.bytes.max(1.0), b.bytes.max(1.0)),
        course(&a.course, &b.course, ratio),
        course(&a.delays, &b.delays, |x, y| (x - y).abs() / delay),
    ]
}

fn ratio(a: f64, b: f64) -> f64 {
    libm::log(a.max(1.0) / b.max(1.0)).abs()
}

fn mean(a: &[f64], b: &[f64], apart: impl Fn(f64, f64) -> f64) -> f64 {
    // A figure that the source does not show, such as the growth within a round trip, counts for none.
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { 0.0 } else { GREATEST };
    }
    a.iter().zip(b).map(|(x, y)| apart(*x, *y)).sum::<f64>() / a.len() as f64
}

fn course(a: &[Option<f64>], b: &[Option<f64>], apart: impl Fn(f64, f64) -> f64) -> f64 {
    let both = a.iter().zip(b).filter_map(|(x, y)| Some(apart((*x)?, (*y)?).min(GREATEST)));
    let (sum, count) = both.fold((0.0, 0.0), |(sum, n), one| (sum + one, n + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}
