//! Periodic bursts of others: document 001's figures 6 and 8, and the worst phase of the
//! second, against its fluid model with the corrections to its text.

use crate::dumbbell::{Dumbbell, loads, mean};
use crate::table::Table;

const C: f64 = 1e9;
/// The cross traffic's mean rate in both figures.
const MEAN: f64 = 111e6;
/// Cross traffic starts at 1 s; from 7 s on the courses repeat.
const FROM: f64 = 7.0;

/// The settings of a figure, in milliseconds.
struct Setting {
    name: &'static str,
    on: f64,
    off: f64,
    tau: f64,
    eta: f64,
    rtt: f64,
}

const FIGURE_6: Setting =
    Setting { name: "6", on: 100.0, off: 350.0, tau: 150.0, eta: 75.0, rtt: 125.0 };
const FIGURE_8: Setting =
    Setting { name: "8", on: 100.0, off: 200.0, tau: 200.0, eta: 175.0, rtt: 100.0 };
/// The round trip for which the model's queue is greatest: T_on / T (T_off - D).
const WORST_8: Setting = Setting { name: "8, worst phase", rtt: 58.0, ..FIGURE_8 };

/// Utilisation, and the greatest queueing delay in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Result {
    used: f64,
    queue: f64,
}

impl Setting {
    fn rate_on(&self) -> f64 {
        MEAN * (self.on + self.off) / self.on
    }

    /// The model in the worst phase: case L1 where the bursts are long enough to be
    /// followed (equation 4), else S5, of these.
    fn model(&self) -> Result {
        let queue = MEAN * (self.on + self.off) / C;
        let is_long = self.on + queue >= self.eta && queue <= self.off - self.on - self.tau;
        if !is_long {
            return self.model_s5();
        }
        let load = MEAN / C;
        let used = 1.0
            - load * load * (self.on + self.off) / self.on
            - load * (self.tau - self.eta) / (2.0 * self.on);
        Result { used, queue }
    }

    /// Neither change is followed to its end. R_H = R_L + (C - R_L) (T_off - D) / tau,
    /// where the text has a minus; R_M and Q_max, where it has others. D is a fixed
    /// point.
    fn model_s5(&self) -> Result {
        let (period, low) = (self.on + self.off, C - self.rate_on());
        let (mut queue, mut used) = (0.0, 0.0);
        for _ in 0..1000 {
            let (rise, fall) = ((self.off - queue) / self.tau, (self.on + queue) / self.eta);
            // From R_L = R_H - (R_H - low) fall and R_H = R_L + (C - R_L) rise.
            let bottom =
                (C * rise * (1.0 - fall) + low * fall) / (1.0 - (1.0 - rise) * (1.0 - fall));
            let top = bottom + (C - bottom) * rise;
            let middle = (top * self.off + bottom * self.on) / period;
            queue = (self.on * (middle + top) / 2.0 - low * self.on) / C;
            used = (MEAN + (bottom + top) / 2.0) / C;
        }
        Result { used, queue }
    }

    fn measure(&self, estimator: &str, filter: &str) -> Result {
        let params: &'static str = Box::leak(
            format!(
                ", tau = \"{}ms\", eta = \"{}ms\", filter = \"{filter}\", estimator = \"{estimator}\"",
                self.tau, self.eta
            )
            .into(),
        );
        let cross = Some((self.rate_on(), self.on as u64, self.off as u64, 1));
        let run =
            Dumbbell { capacity: C, rtt_ms: self.rtt, seconds: 25, sample_ms: 10, params, cross }
                .run();
        let loads = loads(&run, &format!("bursts-{}-{estimator}-{filter}", self.name));
        // 18 s are 40 periods of figure 6 and 60 of figure 8.
        let late: Vec<_> = loads.iter().filter(|(t, ..)| *t > FROM + 0.001).collect();
        Result {
            used: mean(late.iter().map(|(_, bps, _)| bps / C)),
            queue: late.iter().map(|(.., wait)| wait * 1e3).fold(0.0, f64::max),
        }
    }
}

/// The figures that the corrected text gives, to its own three digits.
#[test]
fn the_model_is_the_papers() {
    let (six, eight) = (FIGURE_6.model(), WORST_8.model());
    assert!((six.used - 0.903).abs() < 5e-4 && (six.queue - 49.95).abs() < 5e-3, "{six:?}");
    assert!((eight.used - 0.970).abs() < 5e-4 && (eight.queue - 26.4).abs() < 0.05, "{eight:?}");
}

#[test]
fn bursts_cost_what_the_fluid_model_says() {
    let mut table = Table::new(&[
        "figure",
        "RTT",
        "estimator",
        "filter",
        "utilisation",
        "model's",
        "greatest queue",
        "model's",
    ]);
    for setting in [FIGURE_6, FIGURE_8, WORST_8] {
        let model = setting.model();
        for (estimator, filter) in [
            ("ideal", "linear"),
            ("ideal", "exponential"),
            ("probe", "linear"),
            ("probe", "exponential"),
        ] {
            let found = setting.measure(estimator, filter);
            check(&setting, estimator, filter, found, model);
            table.row(&[
                setting.name.into(),
                format!("{} ms", setting.rtt),
                estimator.into(),
                filter.into(),
                format!("{:.3}", found.used),
                format!("{:.3}", model.used),
                format!("{:.1} ms", found.queue),
                format!("{:.1} ms", model.queue),
            ]);
        }
    }
    table.publish_in("rapid.md");
}

fn check(setting: &Setting, estimator: &str, filter: &str, found: Result, model: Result) {
    let what = format!("{} {estimator} {filter}: {found:?}, model {model:?}", setting.name);
    match (estimator, filter) {
        // The model's own assumptions: what is left is that packets are not fluid, and a
        // stream of 30 of them adds up to 0.1 ms to the queue.
        ("ideal", "linear") if setting.name != "8" => {
            assert!((found.used - model.used).abs() < 0.002, "{what}");
            assert!((found.queue - model.queue).abs() < 0.15, "{what}");
        }
        // In another phase less than the worst is lost.
        ("ideal", "linear") => {
            assert!(found.used > model.used && found.queue < model.queue, "{what}");
        }
        // It leaves the top sooner and comes near it later than a ramp does.
        ("ideal", _) => assert!((model.used - 0.02..model.used).contains(&found.used), "{what}"),
        // Streams look to twice the rate at most, and scatter while cross traffic is on.
        _ => {
            assert!((found.used - model.used).abs() < 0.03, "{what}");
            assert!(found.queue < model.queue + 1.0, "{what}");
        }
    }
}
