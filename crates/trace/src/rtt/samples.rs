//! The samples of one direction.

use super::course::{Course, Point};
use crate::Histogram;

/// Samples that are kept one by one; a histogram of more takes some kB, and most
/// flows of a busy link are short.
const FEW: usize = 64;

/// The round-trip times of one direction, in ns.
#[derive(Debug)]
pub struct Samples {
    counted: Counted,
    course: Course,
    /// Answers before what they answer.
    backwards: u64,
}

#[derive(Debug)]
enum Counted {
    Few(Vec<u64>),
    Many(Box<Histogram>),
}

impl Samples {
    /// None yet, with at most `points` over time.
    pub(super) fn new(points: usize) -> Samples {
        Samples { counted: Counted::Few(Vec::new()), course: Course::new(points), backwards: 0 }
    }

    /// Counts what was sent at `sent` and answered by packet number `packet` at
    /// `now`, both in ns.
    pub(super) fn record(&mut self, sent: i64, now: i64, packet: u64) {
        let Some(rtt_ns) = now.checked_sub(sent).and_then(|rtt| u64::try_from(rtt).ok()) else {
            self.backwards += 1;
            return;
        };
        self.course.record(Point { at_ns: now, rtt_ns, packet });
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

    /// How often each time occurred.
    pub fn histogram(&self) -> Histogram {
        match &self.counted {
            Counted::Few(few) => of(few),
            Counted::Many(histogram) => (**histogram).clone(),
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        match &self.counted {
            Counted::Few(few) => few.len() as u64,
            Counted::Many(histogram) => histogram.count(),
        }
    }

    /// Pairs that gave no sample, since the answer has the earlier time.
    pub fn backwards(&self) -> u64 {
        self.backwards
    }

    /// The samples over time: all, or the least and greatest of each of up to
    /// half [`super::Options::points`] stretches with equally many.
    pub fn points(&self) -> Vec<Point> {
        self.course.points()
    }
}

fn of(few: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    few.iter().for_each(|rtt| histogram.record(*rtt));
    histogram
}
