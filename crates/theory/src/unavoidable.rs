//! The delay that no sender can avoid if it fills the link, in one result. It holds
//! percentiles of both ideal senders of [`crate::capacity`], the worst instants, the effect
//! of the loop delay, and the points of a figure.

use sojourn_units::{Duration, Instant};

use crate::capacity::{Opening, Sender, Step, means, waits_after};
use crate::waits::{Wait, longest, quantile, worst};

/// Maximum number of worst instants in the result.
pub const WORST: usize = 5;

/// Multiples of the loop delay for which the result holds percentiles.
pub const LOOPS: [f64; 5] = [0.125, 0.25, 0.5, 1.0, 2.0];

/// Queueing delay over all arrivals, weighted by bits, in seconds; infinite if that share
/// never leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentiles {
    /// The median.
    pub p50_s: f64,
    /// The 95th percentile.
    pub p95_s: f64,
    /// The 99th percentile.
    pub p99_s: f64,
    /// The maximum.
    pub max_s: f64,
}

/// The percentiles of both senders at one loop delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtLoop {
    /// The loop delay d = d_signal + d_flight.
    pub delay: Duration,
    /// Percentiles of [`Sender::Matching`].
    pub matching: Percentiles,
    /// Percentiles of [`Sender::Draining`].
    pub draining: Percentiles,
}

/// One time interval of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// End of the interval, in seconds since the start of the run.
    pub end_s: f64,
    /// The mean capacity in the interval, in bit/s.
    pub capacity_bps: f64,
    /// The maximum wait in seconds of its arrivals from [`Sender::Matching`]; NaN without
    /// arrivals.
    pub matching_s: f64,
    /// The same from [`Sender::Draining`].
    pub draining_s: f64,
}

/// The unavoidable delay of a capacity over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Unavoidable {
    /// Percentiles at the requested loop delay.
    pub here: AtLoop,
    /// The mean capacity, in bit/s.
    pub mean_rate_bps: f64,
    /// The longest waits of arrivals from [`Sender::Matching`]: arrival time and wait in
    /// seconds, the longest first. At most [`WORST`] instants, at a distance of two
    /// loop delays or more; between any two of them the wait falls by half.
    pub worst: Vec<(Instant, f64)>,
    /// Percentiles at each of [`LOOPS`], with equal delays merged.
    pub by_delay: Vec<AtLoop>,
    /// The requested number of points.
    pub series: Vec<Point>,
}

/// The unavoidable delay up to `until` of the capacity `steps` with a loop `delay`, with
/// `points` points of a figure. The first loop is without a queue ([`Opening::Followed`]).
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
    [Sender::Matching, Sender::Draining]
        .map(|sender| waits_after(Opening::Followed, steps, delay, sender, until))
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
