//! Samples over time, reduced to a bounded number for a plot.

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Capture time of the answer, in ns since 1970.
    pub at_ns: i64,
    /// Time from the segment to its answer, in ns.
    pub rtt_ns: u64,
    /// Packet number of the answer in the capture, from 1.
    pub packet: u64,
}

/// Consecutive samples.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    least: Point,
    greatest: Point,
}

impl Stretch {
    fn with(self, other: Stretch) -> Stretch {
        let least = if other.least.rtt_ns < self.least.rtt_ns { other.least } else { self.least };
        let higher = other.greatest.rtt_ns > self.greatest.rtt_ns;
        Stretch { least, greatest: if higher { other.greatest } else { self.greatest } }
    }
}

/// The minimum and maximum sample of each interval, with equally many samples per interval.
/// If there are too many intervals, adjacent ones merge in pairs, so that no peak is lost
/// however long the flow lasts.
#[derive(Clone, Debug)]
pub(super) struct Course {
    stretches: Vec<Stretch>,
    /// Samples per interval: a power of 2.
    each: u32,
    /// Samples in the last interval.
    last: u32,
    most: usize,
}

impl Course {
    /// Keeps up to `points` points; a limit below 4 keeps no points.
    pub(super) fn new(points: usize) -> Course {
        Course { stretches: Vec::new(), each: 1, last: 0, most: points / 4 * 2 }
    }

    /// No points, with as many at most.
    pub(super) fn empty(&self) -> Course {
        Course { stretches: Vec::new(), each: 1, last: 0, most: self.most }
    }

    /// The samples of both.
    pub(super) fn merged(&self, other: &Course) -> Course {
        let mut points = [self.points(), other.points()].concat();
        points.sort_by_key(|point| point.packet);
        let mut merged = self.empty();
        points.into_iter().for_each(|point| merged.record(point));
        merged
    }

    pub(super) fn record(&mut self, point: Point) {
        if self.most == 0 {
            return;
        }
        let stretch = Stretch { least: point, greatest: point };
        match self.stretches.last_mut() {
            Some(last) if self.last < self.each => *last = last.with(stretch),
            _ => {
                self.make_room();
                self.stretches.push(stretch);
                self.last = 0;
            }
        }
        self.last += 1;
    }

    fn make_room(&mut self) {
        if self.stretches.len() == self.most {
            let pairs = self.stretches.chunks_exact(2).map(|pair| pair[0].with(pair[1]));
            self.stretches = pairs.collect();
            // After 2^31 samples per interval, intervals stop growing.
            self.each = self.each.saturating_mul(2);
        }
    }

    /// The points in the order of their packets; an interval with one sample gives one
    /// point.
    pub(super) fn points(&self) -> Vec<Point> {
        let ends = self.stretches.iter().flat_map(|stretch| {
            let [mut first, mut second] = [stretch.least, stretch.greatest];
            if second.packet < first.packet {
                std::mem::swap(&mut first, &mut second);
            }
            [Some(first), Some(second).filter(|second| second.packet != first.packet)]
        });
        ends.flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(points: usize, rtts: impl Iterator<Item = u64>) -> Vec<Point> {
        let mut course = Course::new(points);
        rtts.zip(1..).for_each(|(rtt_ns, packet)| {
            course.record(Point { at_ns: packet as i64, rtt_ns, packet });
        });
        course.points()
    }

    #[test]
    fn few_samples_are_kept_as_they_are() {
        let points = course(40, 1..=20);
        assert_eq!(
            points.iter().map(|point| point.rtt_ns).collect::<Vec<_>>(),
            Vec::from_iter(1..=20)
        );
        assert_eq!(course(0, 1..=20), []);
    }

    #[test]
    fn no_peak_is_lost() {
        // A peak of one sample in 100,000, followed by the minimum.
        let rtts = (0..100_000).map(|k| match k {
            77_777 => 1_000_000,
            77_778 => 1,
            _ => 500 + k % 7,
        });
        let points = course(400, rtts);
        assert!((100..=400).contains(&points.len()), "{}", points.len());
        assert!(points.iter().any(|point| (point.packet, point.rtt_ns) == (77_778, 1_000_000)));
        assert!(points.iter().any(|point| (point.packet, point.rtt_ns) == (77_779, 1)));
        assert!(points.is_sorted_by_key(|point| point.packet));
    }
}
