//! Cellular links: the rate as Brownian motion, with persistent outages.
//!
//! This is the model of Sprout's forecasts: K. Winstein, A. Sivaraman and H. Balakrishnan,
//! "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks"
//! (NSDI 2013), section 3.1. The values are the authors' (`MAX_ARRIVAL_RATE`,
//! `BROWNIAN_MOTION_RATE`, `OUTAGE_ESCAPE_RATE` and `TICK_LENGTH` of their receiver).
//!
//! Deviation (Winstein et al. 2013, section 3.1): the rate is the capacity. There, packets
//! arrive as a Poisson process of this rate, of which a sender cannot know more.

use rand_core::RngCore;
use sojourn_units::params::{Key, Kind, Params, keys};
use sojourn_units::{Duration, Instant, Rate};

use super::uniform;
use crate::capacity::Step;

pub(super) const PARAMS: &[Key] = keys! {
    /// standard deviation of the rate's change after one second
    sigma: Kind::Rate(Rate(2_400_000), Rate(1), Rate::MAX),
        "Sprout: 200 packets (of 1500 bytes) per second and root second";
    /// greatest rate
    most: Kind::Rate(Rate(12_000_000), Rate(1), Rate::MAX),
        "Sprout: 1000 packets (of 1500 bytes) per second";
    /// rate at which an outage ends, per second
    escape: Kind::Number(1.0, 0.001, 1_000.0), "Sprout: 1";
    /// duration of a rate
    tick: Kind::Time(
        Duration::from_millis(20),
        Duration::from_micros(100),
        Duration::from_secs(10),
    ), "Sprout: 20 ms";
};

/// A cellular link in Sprout's model.
#[derive(Debug, Clone, PartialEq)]
pub struct Cellular {
    /// Standard deviation of the change per tick, in bit/s.
    spread: f64,
    most: f64,
    /// Probability that an outage ends within a tick.
    escapes: f64,
    tick: Duration,
}

impl Cellular {
    pub(super) fn new(params: &Params) -> Cellular {
        let tick = params.time("tick");
        let seconds = tick.as_secs_f64();
        Cellular {
            spread: params.rate("sigma").as_f64() * seconds.sqrt(),
            most: params.rate("most").as_f64(),
            escapes: 1.0 - libm::exp(-params.number("escape") * seconds),
            tick,
        }
    }

    pub(super) fn tick(&self) -> Duration {
        self.tick
    }

    pub(super) fn steps(&self, random: &mut impl RngCore, until: Instant) -> Vec<Step> {
        // "Initially, all values are equally probable."
        let mut rate = self.most * uniform(random);
        let mut now = Instant::ZERO;
        let mut steps = Vec::new();
        while now < until {
            steps.push((now, Rate(rate as u64)));
            rate = self.next(rate, random);
            now += self.tick;
        }
        steps
    }

    /// Returns the next rate. A rate of zero lasts for an exponential time, then changes
    /// upwards by the usual amount. Changes stop at the ends of the range.
    ///
    /// Deviation (Sprout): the step that ends an outage is upwards. In the authors' code, half
    /// of these steps would fall below zero again.
    fn next(&self, rate: f64, random: &mut impl RngCore) -> f64 {
        let is_out = rate <= 0.0;
        if is_out && uniform(random) >= self.escapes {
            return 0.0;
        }
        let change = self.spread * normal(random);
        (rate + if is_out { change.abs() } else { change }).clamp(0.0, self.most)
    }
}

/// A normal variate of mean 0 and variance 1 (Box and Muller, 1958).
fn normal(random: &mut impl RngCore) -> f64 {
    let length = (-2.0 * libm::log(1.0 - uniform(random))).sqrt();
    length * libm::cos(2.0 * std::f64::consts::PI * uniform(random))
}
