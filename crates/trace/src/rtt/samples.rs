//! The samples of one direction.

use super::course::{Course, Point};
use super::coverage::Coverage;
use crate::Histogram;

/// Maximum number of samples stored individually. A histogram takes some kB, and most flows
/// of a busy link are short.
const FEW: usize = 64;

/// The round-trip times of one direction, in ns.
#[derive(Clone, Debug)]
pub struct Samples {
    counted: Counted,
    course: Course,
    pub(super) coverage: Coverage,
    /// Answers with a time before that of their segment.
    backwards: u64,
}

#[derive(Clone, Debug)]
enum Counted {
    Few(Vec<u64>),
    Many(Box<Histogram>),
}

impl Samples {
    /// Starts without samples, with at most `points` points over time.
    pub(super) fn new(points: usize) -> Samples {
        Samples {
            counted: Counted::Few(Vec::new()),
            course: Course::new(points),
            coverage: Coverage::default(),
            backwards: 0,
        }
    }

    /// No samples, with as many points at most.
    pub(super) fn empty(&self) -> Samples {
        Samples {
            counted: Counted::Few(Vec::new()),
            course: self.course.empty(),
            coverage: Coverage::default(),
            backwards: 0,
        }
    }

    /// Records a segment sent at `sent` and answered by packet number `packet` at `now`,
    /// both in ns.
    pub(super) fn record(&mut self, sent: i64, now: i64, packet: u64) {
        let Some(rtt_ns) = now.checked_sub(sent).and_then(|rtt| u64::try_from(rtt).ok()) else {
            self.backwards += 1;
            return;
        };
        self.course.record(Point { at_ns: now, rtt_ns, packet });
        self.coverage.record(sent, now);
        match &mut self.counted {
            Counted::Few(few) if few.len() < FEW => few.push(rtt_ns),
            Counted::Few(few) => {
                let mut histogram = of(few);
                histogram.record(rtt_ns);
                self.counted = Counted::Many(Box::new(histogram));
            }
            Counted::Many(histogram) => histogram.record(rtt_ns),
        }
    }

    /// The samples of both; `coverage` is theirs together.
    pub(super) fn merged(&self, other: &Samples, coverage: Coverage) -> Samples {
        let mut histogram = self.histogram();
        histogram.merge(&other.histogram());
        Samples {
            counted: Counted::Many(Box::new(histogram)),
            course: self.course.merged(&other.course),
            coverage,
            backwards: self.backwards + other.backwards,
        }
    }

    /// The distribution of the samples.
    pub fn histogram(&self) -> Histogram {
        match &self.counted {
            Counted::Few(few) => of(few),
            Counted::Many(histogram) => (**histogram).clone(),
        }
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        match &self.counted {
            Counted::Few(few) => few.len() as u64,
            Counted::Many(histogram) => histogram.count(),
        }
    }

    /// Pairs without a sample, because the answer has the earlier time.
    pub fn backwards(&self) -> u64 {
        self.backwards
    }

    /// The samples over time: all of them, or the minimum and maximum of each interval,
    /// with up to half of [`super::Options::points`] intervals of equally many samples.
    pub fn points(&self) -> Vec<Point> {
        self.course.points()
    }
}

fn of(few: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    few.iter().for_each(|rtt| histogram.record(*rtt));
    histogram
}
