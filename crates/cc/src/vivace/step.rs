//! The size of a step of the rate: gradient, confidence amplifier and dynamic change boundary
//! (section 4.2).

/// Grows the steps while they go in one direction, and bounds them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stepper {
    /// Conversion from the utility's gradient to a change of the rate (theta_0).
    pub(super) factor: f64,
    /// Initial boundary of a change, as a share of the rate (omega_0), and its increment (delta).
    ///
    /// Deviation (PCC-Uspace, branch NSDI-2018): the increment is the paper's, 10 %; the authors'
    /// code has 6 %.
    pub(super) boundary: f64,
    pub(super) increment: f64,
    /// Successive steps in one direction (tau), and whether they raise the rate.
    steps: u32,
    is_rising: bool,
    /// Increments of the boundary (k).
    widened: u32,
}

/// A boundary beyond any change, so that the search for it ends.
const MOST_WIDENED: u32 = 1_000;

impl Stepper {
    pub(super) fn new(factor: f64, boundary: f64, increment: f64) -> Stepper {
        Stepper { factor, boundary, increment, steps: 0, is_rising: false, widened: 0 }
    }

    /// The confidence amplifier m(tau).
    fn amplifier(&self) -> f64 {
        let tau = f64::from(self.steps);
        if self.steps <= 3 { tau } else { 2.0 * tau - 3.0 }
    }

    /// The change in Mbit/s of a rate of `rate` Mbit/s after the gradient `gradient`.
    pub(super) fn change(&mut self, gradient: f64, rate: f64) -> f64 {
        let is_rising = gradient > 0.0;
        if self.steps == 0 || is_rising != self.is_rising {
            (self.steps, self.widened) = (0, 0);
        }
        self.steps = (self.steps + 1).min(1_000);
        self.is_rising = is_rising;
        let wanted = self.amplifier() * self.factor * gradient;
        let bound = |widened: u32| (self.boundary + f64::from(widened) * self.increment) * rate;
        let limit = bound(self.widened);
        if wanted.abs() > limit {
            self.widened = (self.widened + 1).min(MOST_WIDENED);
            return limit.copysign(wanted);
        }
        // The least boundary that admits the change.
        self.widened =
            (0..self.widened).find(|k| wanted.abs() <= bound(*k)).unwrap_or(self.widened);
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::Stepper;

    fn stepper() -> Stepper {
        Stepper::new(1.0, 0.05, 0.1)
    }

    /// Section 4.2: m(tau) = tau up to 3, then 2 tau - 3, until the direction changes.
    #[test]
    fn steps_grow_in_one_direction() {
        let mut steps = stepper();
        let found: Vec<f64> = (0..6).map(|_| steps.change(0.1, 1_000.0)).collect();
        let expected = [0.1, 0.2, 0.3, 0.5, 0.7, 0.9];
        assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-9), "{found:?}");
        assert!((steps.change(-0.1, 1_000.0) + 0.1).abs() < 1e-9);
    }

    /// Section 4.2: the boundary is 5 % of the rate, then 15 %, 25 % and so on while changes exceed it, and
    /// the least that admits the change once one does not.
    #[test]
    fn the_boundary_widens_while_changes_exceed_it() {
        let mut steps = stepper();
        let found: Vec<f64> = (0..3).map(|_| steps.change(500.0, 100.0)).collect();
        assert!(
            found.iter().zip([5.0, 15.0, 25.0]).all(|(f, e)| (f - e).abs() < 1e-9),
            "{found:?}"
        );
        // m(4) = 5: a change of 10 is within 15 %.
        assert!((steps.change(2.0, 100.0) - 10.0).abs() < 1e-9);
        assert!((steps.change(500.0, 100.0) - 15.0).abs() < 1e-9);
        assert!((steps.change(-500.0, 100.0) + 5.0).abs() < 1e-9, "the direction changed");
    }
}
