//! The deliveries of a trace as a curve of the least changes of rate.
//!
//! Of a delivery at `m` ms, a trace says that it ended in (m - 1, m]. A curve of deliveries over time
//! that agrees with the trace is thus at least the count of the trace at each whole millisecond, and at
//! most one more. The shortest such curve, a string pulled taut in this corridor, is straight wherever
//! it can be.

use std::collections::VecDeque;

/// Milliseconds, and deliveries until then.
type Point = (u64, u64);

/// The corners of the curve over one period, from its start to its end.
pub(crate) fn taut(opportunities_ms: &[u64]) -> Vec<Point> {
    let mut string = String::default();
    let at_zero = opportunities_ms.iter().filter(|ms| **ms == 0).count() as u64;
    let later = &opportunities_ms[at_zero as usize..];
    let mut count = 0;
    for group in later.chunk_by(|a, b| a == b) {
        let ms = group[0];
        string.keep_below((ms - 1, count + 1));
        count += group.len() as u64;
        string.keep_above((ms, count));
    }
    // Deliveries at zero end with the period before.
    if at_zero > 0 {
        let ms = later.last().copied().unwrap_or(1);
        string.keep_above((ms, count + at_zero));
    }
    string.finish()
}

/// A funnel of strings from `apex` through the corridor so far: along its lower side, which bends down
/// from point to point, and along its upper side, which bends up.
#[derive(Debug, Default)]
struct String {
    corners: Vec<Point>,
    apex: Point,
    lower: VecDeque<Point>,
    upper: VecDeque<Point>,
}

impl String {
    /// Lets the string pass this point or above it.
    fn keep_above(&mut self, point: Point) {
        while let Some(last) = self.lower.back().copied() {
            let before = self.lower.iter().rev().nth(1).copied().unwrap_or(self.apex);
            if is_steeper(before, last, point) {
                break;
            }
            self.lower.pop_back();
        }
        while self.lower.is_empty()
            && let Some(first) = self.upper.front().copied()
            && is_flatter(self.apex, first, point)
        {
            self.upper.pop_front();
            self.fix(first);
        }
        self.lower.push_back(point);
    }

    /// Lets the string pass this point or below it.
    fn keep_below(&mut self, point: Point) {
        if point.0 <= self.apex.0 {
            return;
        }
        while let Some(last) = self.upper.back().copied() {
            let before = self.upper.iter().rev().nth(1).copied().unwrap_or(self.apex);
            if is_flatter(before, last, point) {
                break;
            }
            self.upper.pop_back();
        }
        while self.upper.is_empty()
            && let Some(first) = self.lower.front().copied()
            && is_steeper(self.apex, first, point)
        {
            self.lower.pop_front();
            self.fix(first);
        }
        self.upper.push_back(point);
    }

    /// The string bends at this point.
    fn fix(&mut self, corner: Point) {
        self.corners.push(self.apex);
        self.apex = corner;
    }

    /// The corners of the string that ends at the last point of the lower side.
    fn finish(mut self) -> Vec<Point> {
        self.corners.push(self.apex);
        self.corners.extend(self.lower);
        self.corners
    }
}

/// Rise of a line, times the length of another.
fn rise(from: Point, to: Point, other: (Point, Point)) -> i128 {
    let height = i128::from(to.1) - i128::from(from.1);
    height * (i128::from(other.1.0) - i128::from(other.0.0))
}

/// Whether the line to `first` is steeper than that from the same point to `second`.
fn is_steeper(from: Point, first: Point, second: Point) -> bool {
    rise(from, first, (from, second)) > rise(from, second, (from, first))
}

/// Whether the line to `first` is flatter than that from the same point to `second`.
fn is_flatter(from: Point, first: Point, second: Point) -> bool {
    rise(from, first, (from, second)) < rise(from, second, (from, first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_string_bends_only_where_it_must() {
        // 1, 2, 2, 1, 2, 2 a millisecond.
        assert_eq!(taut(&[1, 2, 2, 3, 3, 4, 5, 5, 6, 6]), [(0, 0), (6, 10)]);
        // Four in the last of three milliseconds: at most one has begun.
        assert_eq!(taut(&[3, 3, 3, 3]), [(0, 0), (2, 1), (3, 4)]);
        // One a millisecond, then three: at 3 ms the fourth ends.
        assert_eq!(taut(&[1, 2, 3, 4, 4, 4, 5, 5, 5]), [(0, 0), (3, 4), (5, 9)]);
        assert_eq!(taut(&[0, 0, 5]), [(0, 0), (4, 1), (5, 3)]);
    }

    /// Deliveries by `ms` on the curve, as a fraction.
    fn at(corners: &[Point], ms: u64) -> (u64, u64) {
        let place = corners.partition_point(|corner| corner.0 < ms).max(1);
        let (from, to) = (corners[place - 1], corners[place]);
        (from.1 * (to.0 - from.0) + (to.1 - from.1) * (ms - from.0), to.0 - from.0)
    }

    proptest! {
        /// The curve never leaves the corridor, and each of its bends is at a side of it that
        /// forces it.
        #[test]
        fn a_string_stays_in_its_corridor(gaps in prop::collection::vec(0_u64..4, 1..200)) {
            let mut ms = 1;
            let trace: Vec<u64> = gaps.iter().map(|gap| { ms += gap; ms }).collect();
            let corners = taut(&trace);
            prop_assert_eq!((corners[0], corners[corners.len() - 1]), ((0, 0), (ms, trace.len() as u64)));
            for ms in 0..=ms {
                let count = trace.partition_point(|at| *at <= ms) as u64;
                let (part, whole) = at(&corners, ms);
                prop_assert!(count * whole <= part && part <= (count + 1) * whole, "at {} ms", ms);
            }
            for corner in corners.windows(3) {
                let count = trace.partition_point(|at| *at <= corner[1].0) as u64;
                let side = if is_steeper(corner[0], corner[1], corner[2]) { count } else { count + 1 };
                prop_assert_eq!(corner[1].1, side, "a bend at {} ms", corner[1].0);
            }
        }
    }
}
