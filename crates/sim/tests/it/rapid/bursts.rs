//! Periodic bursts of cross traffic: figures 6 and 8 of TR11-007, and the worst phase of the
//! second, against its fluid model (`sojourn_theory::rapid`).

use sojourn_theory::rapid::{Bursts, steady};
use sojourn_units::{Duration, Rate};

use super::dumbbell::{Dumbbell, loads, mean};
use crate::table::Table;

const C: f64 = 1e9;
/// Mean rate of the cross traffic in both figures.
const MEAN: f64 = 111e6;
/// Cross traffic starts at 1 s; the results are periodic from 7 s on.
const FROM: f64 = 7.0;

/// Settings of a figure, in milliseconds.
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
/// The round trip at which the model's queue is longest: T_on / T (T_off - D).
const WORST_8: Setting = Setting { name: "8, worst phase", rtt: 58.0, ..FIGURE_8 };

/// Utilisation, and maximum queueing delay in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Found {
    used: f64,
    queue: f64,
}

impl Setting {
    fn rate_on(&self) -> f64 {
        MEAN * (self.on + self.off) / self.on
    }

    /// The model's results in the worst phase.
    fn model(&self) -> Found {
        let ms = |ms: f64| Duration::from_millis(ms as u64);
        let bursts = Bursts {
            capacity: Rate(C as u64),
            load: Rate(MEAN as u64),
            on: ms(self.on),
            off: ms(self.off),
            tau: ms(self.tau),
            eta: ms(self.eta),
        };
        let found = steady(&bursts).expect("within the model's assumptions");
        Found { used: found.utilisation, queue: found.delay_s * 1e3 }
    }

    fn measure(&self, estimator: &str, filter: &str) -> Found {
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
        let loads = loads(&run);
        // 18 s are 40 periods of figure 6 and 60 of figure 8.
        let late: Vec<_> = loads.iter().filter(|(t, ..)| *t > FROM + 0.001).collect();
        Found {
            used: mean(late.iter().map(|(_, bps, _)| bps / C)),
            queue: late.iter().map(|(.., wait)| wait * 1e3).fold(0.0, f64::max),
        }
    }
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
                format!("{:.2} ms", found.queue),
                format!("{:.2} ms", model.queue),
            ]);
        }
    }
    table.publish_in("rapid.md");
}

fn check(setting: &Setting, estimator: &str, filter: &str, found: Found, model: Found) {
    let what = format!("{} {estimator} {filter}: {found:?}, model {model:?}", setting.name);
    match (estimator, filter) {
        // The model's own assumptions. The difference is that packets are not a fluid, and a stream
        // of 30 packets adds up to 0.1 ms to the queue.
        ("ideal", "linear") if setting.name != "8" => {
            assert!((found.used - model.used).abs() < 0.002, "{what}");
            assert!((found.queue - model.queue).abs() < 0.15, "{what}");
        }
        // In any other phase the loss is smaller than in the worst.
        ("ideal", "linear") => {
            assert!(found.used > model.used && found.queue < model.queue, "{what}");
        }
        // The exponential filter leaves the maximum sooner and approaches it later than a ramp.
        ("ideal", _) => assert!((model.used - 0.02..model.used).contains(&found.used), "{what}"),
        // Streams probe at most twice the rate, and their estimates scatter while cross traffic is
        // on.
        _ => {
            assert!((found.used - model.used).abs() < 0.03, "{what}");
            assert!(found.queue < model.queue + 1.0, "{what}");
        }
    }
}
