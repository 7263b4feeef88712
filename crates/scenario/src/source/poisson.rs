//! Transfers that arrive at random, each over a connection of its own.

use std::sync::Arc;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_units::params::{Given, Kind, Params, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::source::cdf::Cdf;
use crate::source::contract::{Action, Carrier, Fault, Info, Model, Setup, Source};
use crate::source::draws::exponential;
use crate::source::kinds::SPEED;
use crate::source::sizes::{self, Sizes};

/// The source of a Poisson process of transfers.
#[derive(Debug)]
pub(crate) struct Poisson {
    /// Mean time between two arrivals.
    interval: Duration,
    sizes: Sizes,
    /// Arrivals still to come.
    left: u64,
    next_at: Instant,
    draws: Xoshiro256PlusPlus,
}

impl Model for Poisson {
    const INFO: Info = Info {
        name: "poisson",
        title: "Transfers that arrive at random, each over a new connection",
        params: keys! {
            /// mean rate of payload that arrives
            optional load: SPEED;
            /// mean time between two arrivals, instead of `load`
            optional interval: Kind::SPAN;
            /// number of transfers; unlimited if absent
            optional count: Kind::COUNT;
            sizes::SIZES.given(Given::Required);
            sizes::MEAN;
            sizes::SIGMA;
            sizes::SHAPE;
        },
        exclusive: &[("load", "interval")],
        file: Some(sizes::FILE),
        carrier: Carrier::Connections,
    };

    fn build(setup: &Setup) -> Box<dyn Source> {
        let params = &setup.params;
        let sizes = Sizes::of(params, setup.sizes.as_ref());
        let mut source = Poisson {
            interval: interval(params, &sizes),
            sizes,
            left: if params.has("count") { params.integer("count") } else { u64::MAX },
            next_at: setup.start,
            draws: Xoshiro256PlusPlus::seed_from_u64(setup.seed),
        };
        source.plan();
        Box::new(source)
    }

    /// Unlimited: transfers of any number may be open.
    fn bytes_in(_: &Params, _: Option<&Arc<Cdf>>, _: Bytes, _: Duration) -> Bytes {
        Bytes::MAX
    }

    fn is_random(_: &Params) -> bool {
        true
    }

    fn fault(params: &Params, _: Bytes) -> Option<Fault> {
        if !params.has("load") && !params.has("interval") {
            return Some(Fault {
                message: "the source has neither `load` nor `interval`".to_owned(),
                help: "add `load`, the mean rate of payload that arrives, or `interval`, the mean \
                       time between two transfers"
                    .to_owned(),
            });
        }
        sizes::fault(params)
    }

    fn reads_file(params: &Params) -> bool {
        sizes::are_of_file(params)
    }

    fn most_transfers(params: &Params, file: Option<&Arc<Cdf>>, span: Duration) -> u64 {
        let interval = interval(params, &Sizes::of(params, file));
        let mean = span.as_secs_f64() / interval.as_secs_f64();
        let most = (mean + SPARE_DEVIATIONS * libm::sqrt(mean) + SPARE_DEVIATIONS).ceil() as u64;
        if params.has("count") { most.min(params.integer("count")) } else { most }
    }
}

/// Standard deviations above the mean of a Poisson number that no seed in use exceeds: the
/// probability is below 1e-20.
const SPARE_DEVIATIONS: f64 = 10.0;

/// Mean time between two arrivals, at least a nanosecond.
fn interval(params: &Params, sizes: &Sizes) -> Duration {
    if params.has("interval") {
        return params.time("interval");
    }
    let seconds = sizes.mean() * 8.0 / params.rate("load").as_f64();
    Duration::from_secs_f64(seconds).max(Duration(1))
}

impl Poisson {
    /// Plans the next arrival.
    fn plan(&mut self) {
        self.next_at = match self.left {
            0 => Instant::MAX,
            _ => self.next_at + self.interval.mul_f64(exponential(&mut self.draws)),
        };
    }
}

impl Source for Poisson {
    fn next_at(&self) -> Instant {
        self.next_at
    }

    fn act(&mut self, _: Instant) -> Action {
        let size = self.sizes.draw(&mut self.draws);
        self.left -= 1;
        self.plan();
        Action::Transfer(size)
    }
}
