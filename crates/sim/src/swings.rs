//! The changes of a trace's capacity. A trace has no steps, so its capacity is cut at its turning
//! points.

use sojourn_scenario::Trace;
use sojourn_theory::capacity::Step;
use sojourn_units::{Duration, Instant, Rate};

/// The capacity is averaged over intervals of this length, so that single packets do not count.
const STRETCH: Duration = Duration::from_millis(200);
/// Smaller changes of the capacity, as a factor, are part of the swing around them.
const LEAST: f64 = 2.0;

/// A capacity within this part of a swing is that of its turning point.
const EDGE: f64 = 0.1;

/// A fall or a rise of the capacity by a factor of [`LEAST`] or more, from one turning point to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Swing {
    pub(crate) at: Instant,
    pub(crate) complete_at: Instant,
    /// Mean capacity around `at`.
    pub(crate) from: Rate,
    /// Mean capacity around `complete_at`.
    pub(crate) to: Rate,
}

/// The swings of a trace within a run of this length.
pub(crate) fn swings(trace: &Trace, duration: Duration) -> Vec<Swing> {
    let end = Instant::ZERO + duration;
    let means = trace.means(STRETCH, duration);
    let points = points(&means, end);
    let turns = turning_points(&points);
    let swing = |pair: &[usize]| {
        let (begin, end) = edges(&points, pair[0], pair[1]);
        let ((at, from), (complete_at, to)) = (points[begin], points[end]);
        Swing { at, complete_at, from, to }
    };
    turns.windows(2).map(swing).filter(|swing| swing.complete_at < end).collect()
}

/// The last point near the value of one turning point, and the first near that of the next: between two
/// plateaus, the change is where they end, and not where their ripples are greatest.
fn edges(points: &[Step], from: usize, to: usize) -> (usize, usize) {
    let rate = |at: usize| points[at].1.as_f64();
    let near = EDGE * (rate(from) - rate(to)).abs();
    let is_near = |at: usize, turn: usize| (rate(at) - rate(turn)).abs() <= near;
    let begin = (from..=to).rev().find(|at| is_near(*at, from)).unwrap_or(from);
    let end = (begin..=to).find(|at| is_near(*at, to)).unwrap_or(to);
    (begin, end)
}

/// The first and the last mean of each constant piece, at the middle of its interval.
fn points(means: &[Step], end: Instant) -> Vec<Step> {
    let mut points = Vec::new();
    for (place, &(at, rate)) in means.iter().enumerate() {
        let next = means.get(place + 1).map_or(end, |(next, _)| *next);
        let half = Duration(STRETCH.0 / 2);
        points.push((at + half, rate));
        if next > at + STRETCH {
            points.push((next.saturating_sub(half), rate));
        }
    }
    points
}

/// Indices of the first point, the turning points and the last extreme. Between two of them the
/// rate changes by [`LEAST`] or more.
fn turning_points(points: &[Step]) -> Vec<usize> {
    let rate = |at: usize| points[at].1.as_f64();
    let is_large = |low: usize, high: usize| rate(high) > 0.0 && rate(high) >= LEAST * rate(low);
    let mut turns = Vec::new();
    // The lowest and the highest point so far: while the rate falls only the former is used, and
    // while it rises only the latter.
    let (mut low, mut high) = (0, 0);
    let mut rises = None;
    for at in 1..points.len() {
        low = if rate(at) <= rate(low) { at } else { low };
        high = if rate(at) >= rate(high) { at } else { high };
        let (turn, rising) = match rises {
            None if is_large(low, high) => (low.min(high), high > low),
            Some(true) if is_large(at, high) => (high, false),
            Some(false) if is_large(low, at) => (low, true),
            _ => continue,
        };
        turns.push(turn);
        rises = Some(rising);
        if rising { high = at } else { low = at }
    }
    turns.extend(rises.map(|rising| if rising { high } else { low }));
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points a second apart, in Mbit/s.
    fn turns(rates: &[u64]) -> Vec<usize> {
        let point = |(at, rate): (usize, &u64)| {
            (Instant::ZERO + Duration::from_secs(at as u64), Rate::from_mbit(*rate))
        };
        turning_points(&rates.iter().enumerate().map(point).collect::<Vec<_>>())
    }

    #[test]
    fn a_capacity_that_varies_by_less_than_the_factor_has_no_swing() {
        assert!(turns(&[10, 12, 9, 11, 8, 10]).is_empty());
    }

    #[test]
    fn swings_lead_from_one_turning_point_to_the_next() {
        assert_eq!(turns(&[10, 11, 8, 4, 2, 3, 9, 12, 11, 5, 6, 5]), [1, 4, 7, 11]);
    }

    /// The middle of a fall is not a turning point, however small its ripples are.
    #[test]
    fn ripples_belong_to_the_swing_around_them() {
        assert_eq!(turns(&[20, 15, 16, 10, 11, 6, 7, 3]), [0, 7]);
    }

    #[test]
    fn a_step_between_plateaus_with_ripples_is_where_they_end() {
        let rates = [200, 203, 199, 202, 198, 51, 49, 52, 50, 48, 50];
        let point = |(at, rate): (usize, &u64)| {
            (Instant::ZERO + Duration::from_secs(at as u64), Rate::from_mbit(*rate))
        };
        let points: Vec<Step> = rates.iter().enumerate().map(point).collect();
        let turns = turning_points(&points);
        assert_eq!(turns, [1, 9]);
        assert_eq!(edges(&points, turns[0], turns[1]), (4, 5));
    }

    #[test]
    fn an_outage_is_a_swing() {
        assert_eq!(turns(&[8, 0, 0, 8, 8]), [0, 2, 4]);
    }
}
