//! Periodic bursts of cross traffic: figures 6 and 8 of TR11-007, and the worst phase of the
//! second, against its fluid model (`sojourn_theory::rapid`).

use sojourn_theory::rapid::{Bursts, steady};
use sojourn_units::{Duration, Rate};

use super::dumbbell::{Dumbbell, loads, mean};

const C: f64 = 1e9;
/// Mean rate of the cross traffic in both figures.
const MEAN: f64 = 111e6;
/// Cross traffic starts at 1 s; the results are periodic from 7 s on.
const FROM: f64 = 7.0;

/// Settings of a figure, in milliseconds.
#[derive(Clone, Copy)]
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
            Dumbbell { capacity: C, rtt_ms: self.rtt, seconds: 16, sample_ms: 10, params, cross }
                .run();
        let loads = loads(&run);
        // 9 s are 20 periods of figure 6 and 30 of figure 8.
        let late: Vec<_> = loads.iter().filter(|(t, ..)| *t > FROM + 0.001).collect();
        Found {
            used: mean(late.iter().map(|(_, bps, _)| bps / C)),
            queue: late.iter().map(|(.., wait)| wait * 1e3).fold(0.0, f64::max),
        }
    }
}

/// The model's own assumptions hold for the ideal estimator and the linear filter. The difference is
/// that packets are not a fluid, and a stream of 30 packets adds up to 0.1 ms to the queue.
#[test]
fn the_ideal_estimator_is_the_fluid_model() {
    for setting in [FIGURE_6, WORST_8] {
        let (found, model) = (setting.measure("ideal", "linear"), setting.model());
        let what = format!("{}: {found:?}, model {model:?}", setting.name);
        assert!((found.used - model.used).abs() < 0.002, "{what}");
        assert!((found.queue - model.queue).abs() < 0.15, "{what}");
    }
}

/// The model is of the worst phase: in any other, the link is used more, and the queue is shorter.
#[test]
fn no_phase_is_worse_than_the_models() {
    let (found, model) = (FIGURE_8.measure("ideal", "linear"), FIGURE_8.model());
    assert!(found.used > model.used && found.queue < model.queue, "{found:?}, model {model:?}");
}

/// The exponential filter leaves the maximum sooner than a ramp, so that the queue is shorter, and
/// approaches it later: but it loses less than twice what the bursts cost the model's sender.
#[test]
fn the_exponential_filter_trades_use_for_delay() {
    let (found, model) = (WORST_8.measure("ideal", "exponential"), WORST_8.model());
    assert!(found.queue < model.queue, "{found:?}, model {model:?}");
    assert!(1.0 - found.used < 2.0 * (1.0 - model.used), "{found:?}, model {model:?}");
}

/// The streams' own estimates cost little more than the model. Streams probe at most twice the rate,
/// and their estimates scatter while cross traffic is on.
#[test]
fn streams_measure_well_enough_beside_bursts() {
    for (setting, filter) in [(FIGURE_6, "linear"), (FIGURE_8, "exponential")] {
        let (found, model) = (setting.measure("probe", filter), setting.model());
        let what = format!("{} {filter}: {found:?}, model {model:?}", setting.name);
        assert!(found.used > model.used - 0.03, "{what}");
        assert!(found.queue < model.queue + 1.0, "{what}");
    }
}
