//! What no sender that fills a link could avoid, as one answer: percentiles of
//! both ideal senders of [`crate::capacity`], when it was worst, how it falls
//! with the loop delay, and the points of a figure.

use sojourn_units::{Duration, Instant};

use crate::capacity::{Sender, Step, means, waits};
use crate::waits::{Wait, longest, quantile, worst};

/// How many of the worst instants are told.
pub const WORST: usize = 5;

/// Multiples of the loop delay at which it is shown how the delay falls with it.
pub const LOOPS: [f64; 5] = [0.125, 0.25, 0.5, 1.0, 2.0];

/// Queueing delay over all that arrives, each bit as often as another, in
/// seconds; infinite where so much never leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentiles {
    /// The median.
    pub p50_s: f64,
    /// The 95th percentile.
    pub p95_s: f64,
    /// The 99th percentile.
    pub p99_s: f64,
    /// The greatest.
    pub max_s: f64,
}

/// The percentiles of both senders at one loop delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtLoop {
    /// The loop delay d = d_signal + d_flight.
    pub delay: Duration,
    /// Of [`Sender::Matching`].
    pub matching: Percentiles,
    /// Of [`Sender::Draining`].
    pub draining: Percentiles,
}

/// One stretch of time in a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// When it ends, in seconds since the run began.
    pub end_s: f64,
    /// The mean capacity in it, in bit/s.
    pub capacity_bps: f64,
    /// The longest wait in seconds of what arrives in it from
    /// [`Sender::Matching`]; NaN where nothing arrives.
    pub matching_s: f64,
    /// The same from [`Sender::Draining`].
    pub draining_s: f64,
}

/// The unavoidable delay of a capacity over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Unavoidable {
    /// At the loop delay asked for.
    pub here: AtLoop,
    /// The mean capacity, in bit/s.
    pub mean_rate_bps: f64,
    /// When what waits longest arrives from [`Sender::Matching`], and for how
    /// many seconds it waits, the longest first: at most [`WORST`] instants
    /// two loops apart, between any two of which the wait halves.
    pub worst: Vec<(Instant, f64)>,
    /// At each of [`LOOPS`]; equal delays once.
    pub by_delay: Vec<AtLoop>,
    /// As many points as asked for.
    pub series: Vec<Point>,
}

/// The unavoidable delay up to `until` of the capacity `steps` with a loop
/// `delay`, with `points` of a figure.
///
/// ```
/// use sojourn_theory::unavoidable::unavoidable;
/// use sojourn_units::{Duration, Instant, Rate};
///
/// let drop = [(Instant(0), Rate::from_mbit(60)), (Instant(1_000_000_000), Rate::from_mbit(20))];
/// let found = unavoidable(&drop, Duration::from_millis(50), Instant(2_000_000_000), 0);
/// assert!((found.here.matching.max_s - 0.100).abs() < 1e-9);
/// assert!(found.here.draining.p99_s < found.here.matching.p99_s);
/// ```
pub fn unavoidable(steps: &[Step], delay: Duration, until: Instant, points: usize) -> Unavoidable {
    let [matching, draining] = both(steps, delay, until);
    let mut loops: Vec<Duration> = LOOPS.iter().map(|times| delay.mul_f64(*times)).collect();
    loops.dedup();
    Unavoidable {
        here: AtLoop { delay, matching: percentiles(&matching), draining: percentiles(&draining) },
        mean_rate_bps: means(steps, until, 1)[0],
        worst: worst(&matching, delay + delay, WORST),
        by_delay: loops.into_iter().map(|delay| at_loop(steps, delay, until)).collect(),
        series: series(steps, [&matching, &draining], until, points),
    }
}

fn both(steps: &[Step], delay: Duration, until: Instant) -> [Vec<Wait>; 2] {
    [Sender::Matching, Sender::Draining].map(|sender| waits(steps, delay, sender, until))
}

fn percentiles(waits: &[Wait]) -> Percentiles {
    let [p50_s, p95_s, p99_s, max_s] = [0.50, 0.95, 0.99, 1.0].map(|q| quantile(waits, q));
    Percentiles { p50_s, p95_s, p99_s, max_s }
}

fn at_loop(steps: &[Step], delay: Duration, until: Instant) -> AtLoop {
    let [matching, draining] = both(steps, delay, until).map(|waits| percentiles(&waits));
    AtLoop { delay, matching, draining }
}

fn series(steps: &[Step], both: [&[Wait]; 2], until: Instant, points: usize) -> Vec<Point> {
    if points == 0 {
        return Vec::new();
    }
    let span = until.0 as f64 / 1e9 / points as f64;
    let capacity = means(steps, until, points);
    let [matching, draining] = both.map(|waits| longest(waits, until, points));
    let point = |k: usize| Point {
        end_s: (k + 1) as f64 * span,
        capacity_bps: capacity[k],
        matching_s: matching[k],
        draining_s: draining[k],
    };
    (0..points).map(point).collect()
}
