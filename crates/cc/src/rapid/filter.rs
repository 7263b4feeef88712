//! The filter between the estimate and the sending rate (TR11-007 section II.A).

use sojourn_units::Duration;

/// The course of the rate after a change of the estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Course {
    /// The paper's formula: an exponential approach, 63 % after tau (eta).
    Exponential,
    /// The paper's text and model: a ramp that lasts tau (eta). Holds its slope in bit/s
    /// per second.
    Linear(f64),
}

/// The smoothing filter.
pub(super) struct Filter {
    course: Course,
    tau: Duration,
    eta: Duration,
}

impl Filter {
    pub(super) fn new(linear: bool, tau: Duration, eta: Duration) -> Filter {
        let course = if linear { Course::Linear(0.0) } else { Course::Exponential };
        Filter { course, tau, eta }
    }

    /// Ends a ramp.
    pub(super) fn reset(&mut self) {
        if let Course::Linear(slope) = &mut self.course {
            *slope = 0.0;
        }
    }

    /// The rate for the next stream in bit/s, if the last stream lasted `length`.
    pub(super) fn next(&mut self, rate: f64, estimate: f64, length: Duration) -> f64 {
        let way = estimate - rate;
        // Deviation (TR11-007 section II.A): a rise towards the estimate takes tau, and a fall eta,
        // as the next sentence says and figures 5 to 8 show. The printed conditions are swapped.
        let span = if way > 0.0 { self.tau } else { self.eta };
        if length >= span {
            self.reset();
            return estimate;
        }
        let (length, span) = (length.as_secs_f64(), span.as_secs_f64());
        match &mut self.course {
            Course::Exponential => rate + way * (length / span),
            Course::Linear(slope) => {
                // Deviation (TR11-007 section II.A): with `filter = "linear"`, a ramp keeps its
                // slope until it arrives, turns, or must become steeper to last no longer than tau
                // (eta).
                let wanted = way / span;
                if wanted * *slope <= 0.0 || wanted.abs() > slope.abs() {
                    *slope = wanted;
                }
                let step = *slope * length;
                if step.abs() < way.abs() {
                    return rate + step;
                }
                *slope = 0.0;
                estimate
            }
        }
    }
}
