//! The fluid model of Rapid under bursts: the paper's own parameters, and an independent
//! numerical solution of the same system.

use std::collections::BTreeMap;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_theory::rapid::{Bursts, Case, Outside, steady};
use sojourn_units::{Duration, Rate};

fn bursts(load_mbit: u64, ms: [u64; 4]) -> Bursts {
    let [on, off, tau, eta] = ms.map(Duration::from_millis);
    Bursts { capacity: Rate(1_000_000_000), load: Rate(load_mbit * 1_000_000), on, off, tau, eta }
}

/// Parameters of the paper's figure 6. The values come from a separate numerical solution
/// of the fluid system.
#[test]
fn figure_6() {
    let found = steady(&bursts(111, [100, 350, 150, 75])).unwrap();
    assert_eq!(found.case, Case::L1);
    // To the known digits.
    assert!((found.delay_s - 49.95e-3).abs() < 0.005e-3, "{found:?}");
    assert!((found.utilisation - 0.903).abs() < 0.0005, "{found:?}");
    assert_eq!(found.rate_high, Rate(1_000_000_000));
    // R_on = 111 Mbit/s * 450 / 100.
    assert_eq!(found.rate_low, Rate(1_000_000_000 - 499_500_000));
}

/// Figure 8, in the same way.
#[test]
fn figure_8() {
    let found = steady(&bursts(111, [100, 200, 200, 175])).unwrap();
    assert_eq!(found.case, Case::S5);
    assert!((found.delay_s - 26.4e-3).abs() < 0.05e-3, "{found:?}");
    assert!((found.utilisation - 0.970).abs() < 0.0005, "{found:?}");
    assert!(found.rate_low.0.abs_diff(750_000_000) < 500_000, "{found:?}");
    assert!(found.rate_high.0.abs_diff(967_000_000) < 500_000, "{found:?}");
}

/// Equation 4, in closed form: case L1.
#[test]
fn equation_4() {
    let found = steady(&bursts(111, [100, 350, 150, 75])).unwrap();
    let load = 0.111;
    let expected = 1.0 - load * load * 450.0 / 100.0 - load * (150.0 - 75.0) / 200.0;
    // Float rounding only.
    assert!((found.utilisation - expected).abs() < 1e-8);
}

/// The plotted course matches the figures reported.
#[test]
fn the_course_has_the_throughput_and_the_queue() {
    let given = bursts(111, [100, 200, 200, 175]);
    let found = steady(&given).unwrap();
    let area = |(a, b): (&(f64, f64), &(f64, f64))| (b.0 - a.0) * (a.1 + b.1) / 2.0;
    let sent: f64 = found.course.iter().zip(&found.course[1..]).map(area).sum();
    // Rounding to whole bit/s.
    assert!((sent / 0.3 - found.throughput.as_f64()).abs() < 1.0);
    // Case S5: the rate is R_M at the start of the burst, during the rise.
    let (from, to) = (found.course[0], found.course[1]);
    let at_start = from.1 + (to.1 - from.1) * (0.0 - from.0) / (to.0 - from.0);
    assert!((at_start - found.rate_middle.unwrap().as_f64()).abs() < 1.0);
}

#[test]
fn what_the_model_does_not_hold_for_is_refused() {
    let of = |load, ms| steady(&bursts(load, ms)).unwrap_err();
    assert!(matches!(of(111, [100, 350, 75, 150]), Outside::FallsSlower { .. }));
    assert!(matches!(of(400, [100, 350, 150, 75]), Outside::Overload { .. }));
    assert!(matches!(of(111, [100, 0, 150, 75]), Outside::Zero { name: "T_off" }));
    assert!(matches!(of(1_100, [100, 350, 150, 75]), Outside::Overload { .. }));
    // The area that Rapid gives up is less than the burst: utilisation would be 1.004.
    assert!(matches!(of(20, [100, 400, 250, 249]), Outside::NeverEmpty { .. }));
}

/// The same system, solved in time steps without the closed forms.
struct Numerical {
    bursts: Bursts,
    steps: usize,
}

impl Numerical {
    fn spans(&self) -> [f64; 4] {
        let b = &self.bursts;
        [b.on, b.off, b.tau, b.eta].map(|span| span.0 as f64 / 1e9)
    }

    /// Rapid's rate at each step of one period in steady state, which starts when it learns
    /// that the link is free; rates are shares of the capacity.
    fn course(&self, delay: f64) -> Vec<f64> {
        let [on, off, tau, eta] = self.spans();
        let (period, load) = (on + off, self.bursts.load.as_f64() / 1e9);
        let floor = 1.0 - load * period / on;
        let dt = period / self.steps as f64;
        let mut start = 1.0;
        for _ in 0..1_000 {
            let mut course = Vec::with_capacity(self.steps);
            let mut fell_from = None;
            for step in 0..self.steps {
                let t = (step as f64 + 0.5) * dt;
                if t < off - delay {
                    course.push(start + (1.0 - start) * (t / tau).min(1.0));
                } else {
                    let rose = start + (1.0 - start) * ((off - delay) / tau).min(1.0);
                    let from = *fell_from.get_or_insert(rose);
                    course.push(from + (floor - from) * ((t - off + delay) / eta).min(1.0));
                }
            }
            let rose = fell_from.unwrap_or(start);
            let end = rose + (floor - rose) * ((on + delay) / eta).min(1.0);
            if (end - start).abs() < 1e-12 {
                return course;
            }
            start = end;
        }
        panic!("{:?} does not settle", self.bursts);
    }

    /// The maximum queue over all phases, in seconds at capacity.
    fn greatest_queue(&self, course: &[f64]) -> f64 {
        let [on, off, ..] = self.spans();
        let (period, load) = (on + off, self.bursts.load.as_f64() / 1e9);
        let dt = period / self.steps as f64;
        let mut sums = vec![0.0];
        for rate in course.iter().chain(course) {
            sums.push(sums[sums.len() - 1] + rate * dt);
        }
        // The window rarely ends on a step: interpolate the rest.
        let window = on / dt;
        let (whole, part) = (window as usize, window.fract());
        let sent = |from: usize| {
            let end = from + whole;
            sums[end] - sums[from] + part * (sums[end + 1] - sums[end])
        };
        let most = (0..self.steps - 1).map(sent).fold(0.0, f64::max);
        most - (1.0 - load * period / on) * on
    }

    /// D, and the utilisation.
    fn solve(&self) -> (f64, f64) {
        let [_, off, ..] = self.spans();
        let (mut low, mut high) = (0.0, off);
        for _ in 0..30 {
            let middle = (low + high) / 2.0;
            if self.greatest_queue(&self.course(middle)) > middle {
                low = middle;
            } else {
                high = middle;
            }
        }
        let course = self.course(low);
        let mean = course.iter().sum::<f64>() / course.len() as f64;
        (low, mean + self.bursts.load.as_f64() / 1e9)
    }
}

/// Times of the paper's order of magnitude, in any mix of large and small. Short bursts are
/// as frequent as long ones, since S1 and S2 have only short ones.
fn any(random: &mut Xoshiro256PlusPlus) -> Bursts {
    let mut between = |low: u64, high: u64| low + random.next_u64() % (high - low);
    let on = if between(0, 2) == 0 { between(5, 40) } else { between(40, 400) };
    let off = between(20, 600);
    let tau = between(5, 500);
    let eta = between(4, tau);
    bursts(between(5, 800), [on, off, tau, eta])
}

#[test]
fn all_eight_cases_agree_with_a_numerical_solution() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2013);
    let mut seen = BTreeMap::new();
    while seen.values().sum::<u32>() < 400 {
        let given = any(&mut random);
        let Ok(found) = steady(&given) else { continue };
        let (delay_s, utilisation) = Numerical { bursts: given, steps: 2_000 }.solve();
        // Two thousand steps per period resolve a ramp's ends to 1 / 4000 of it; the test
        // requires 0.1 % of the utilisation.
        assert!(
            (found.utilisation - utilisation).abs() < 1e-3 * utilisation,
            "{given:?} {found:?}"
        );
        assert!((found.delay_s - delay_s).abs() < 1e-3 * (0.1 + delay_s), "{given:?} {found:?}");
        *seen.entry(found.case).or_insert(0) += 1;
    }
    println!("{seen:?}");
    assert_eq!(seen.len(), 8, "{seen:?}");
    assert!(seen.values().all(|count| *count >= 5), "{seen:?}");
}
