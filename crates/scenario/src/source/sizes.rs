//! Distributions of transfer sizes, with the keys that they need in a scenario.

use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_units::Bytes;
use sojourn_units::params::{Given, Key, Kind, Params, keys};

use crate::source::cdf::Cdf;
use crate::source::contract::{Fault, FileName};
use crate::source::draws::{exponential, greatest_exponential, normal, uniform};

/// The name of each distribution, with the keys that it needs beside `sizes`.
const KEYS: &[(&str, &[&str])] = &[
    ("fixed", &["mean"]),
    ("exponential", &["mean"]),
    ("lognormal", &["mean", "sigma"]),
    ("pareto", &["mean", "shape"]),
    ("web-search", &[]),
    ("data-mining", &[]),
    ("file", &[]),
];

/// The names of all distributions.
pub(crate) const NAMES: &[&str] =
    &["fixed", "exponential", "lognormal", "pareto", "web-search", "data-mining", "file"];

keys! {
    /// distribution of the sizes; web-search and data-mining are published ones
    pub(crate) const SIZES = optional sizes: Kind::Choice("", NAMES),
        "web-search: Alizadeh et al. 2010, DCTCP, SIGCOMM; data-mining: Greenberg et al. 2009, \
         VL2, SIGCOMM; points as in HKUST-SING/TrafficGenerator, conf";
    /// mean size, for fixed, exponential, lognormal and pareto
    pub(crate) const MEAN = optional mean: Kind::AMOUNT;
    /// standard deviation of the size's natural logarithm, for lognormal
    pub(crate) const SIGMA = optional sigma: Kind::Number(0.001, 0.001, 5.0);
    /// exponent of the tail, for pareto; the mean is finite above 1
    pub(crate) const SHAPE = optional shape: Kind::Number(1.001, 1.001, 100.0);
}
pub(crate) const FILE: Key<FileName> = Key::new(
    "file",
    FileName,
    "file of sizes, for file: each line has a size in bytes and the share of transfers up to \
          it, from 0 to 1 or in percent; its path is relative to the scenario's folder",
)
.given(Given::Optional);

/// A distribution of transfer sizes, in bytes.
#[derive(Clone, Debug)]
pub(crate) enum Sizes {
    Fixed(f64),
    /// The mean.
    Exponential(f64),
    /// Mean and standard deviation of the size's natural logarithm.
    Lognormal {
        mu: f64,
        sigma: f64,
    },
    /// The least size, and the exponent of the tail.
    Pareto {
        least: f64,
        shape: f64,
    },
    Empirical(Arc<Cdf>),
}

impl Sizes {
    /// The distribution that the keys declare. `file`: the content of the named file, if any.
    pub(crate) fn of(params: &Params, file: Option<&Arc<Cdf>>) -> Sizes {
        let mean = || params.data("mean").as_f64();
        match params.choice("sizes") {
            "fixed" => Sizes::Fixed(mean()),
            "exponential" => Sizes::Exponential(mean()),
            "lognormal" => {
                // The mean of a lognormal size is exp(mu + sigma^2 / 2).
                let sigma = params.number("sigma");
                Sizes::Lognormal { mu: libm::log(mean()) - sigma * sigma / 2.0, sigma }
            }
            "pareto" => {
                // The mean of a Pareto size is least * shape / (shape - 1).
                let shape = params.number("shape");
                Sizes::Pareto { least: mean() * (shape - 1.0) / shape, shape }
            }
            "web-search" => Sizes::Empirical(Arc::new(Cdf::web_search())),
            "data-mining" => Sizes::Empirical(Arc::new(Cdf::data_mining())),
            _ => Sizes::Empirical(file.expect("the scenario was validated").clone()),
        }
    }

    /// The mean size in bytes.
    pub(crate) fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed(mean) | Sizes::Exponential(mean) => *mean,
            Sizes::Lognormal { mu, sigma } => libm::exp(mu + sigma * sigma / 2.0),
            Sizes::Pareto { least, shape } => least * shape / (shape - 1.0),
            Sizes::Empirical(cdf) => cdf.mean(),
        }
    }

    /// A size in bytes, at least one.
    pub(crate) fn draw(&self, draws: &mut Xoshiro256PlusPlus) -> u64 {
        let size = match self {
            Sizes::Fixed(size) => *size,
            Sizes::Exponential(mean) => mean * exponential(draws),
            Sizes::Lognormal { mu, sigma } => libm::exp(mu + sigma * normal(draws)),
            Sizes::Pareto { least, shape } => least / libm::pow(1.0 - uniform(draws), 1.0 / shape),
            Sizes::Empirical(cdf) => cdf.quantile(uniform(draws)),
        };
        whole(size)
    }

    /// The greatest size in bytes that can be drawn.
    fn greatest(&self) -> u64 {
        let tail = greatest_exponential();
        whole(match self {
            Sizes::Fixed(size) => *size,
            Sizes::Exponential(mean) => mean * tail,
            Sizes::Lognormal { mu, sigma } => libm::exp(mu + sigma * libm::sqrt(2.0 * tail)),
            Sizes::Pareto { least, shape } => least * libm::exp(tail / shape),
            Sizes::Empirical(cdf) => cdf.quantile(1.0),
        })
    }
}

/// A size in whole bytes, at least one.
fn whole(size: f64) -> u64 {
    (libm::round(size) as u64).clamp(1, sojourn_units::params::Kind::MOST.0)
}

/// The greatest size of a source that has either this key for one size, or `sizes`. `file`: the
/// content of the named file, if any.
pub(crate) fn greatest(params: &Params, single: &str, file: Option<&Arc<Cdf>>) -> Bytes {
    if params.has(single) {
        return params.data(single);
    }
    Bytes(Sizes::of(params, file).greatest())
}

/// Whether the keys declare the distribution of a file.
pub(crate) fn are_of_file(params: &Params) -> bool {
    params.has("sizes") && params.choice("sizes") == "file"
}

/// Whether the sizes differ.
pub(crate) fn are_random(params: &Params) -> bool {
    params.has("sizes") && params.choice("sizes") != "fixed"
}

/// As [`fault`], for a source that has either this key for one size, or `sizes`.
pub(crate) fn fault_of_either(params: &Params, single: &str) -> Option<Fault> {
    if params.has("sizes") {
        return fault(params);
    }
    if !params.has(single) {
        return Some(Fault {
            message: format!("the source has neither `{single}` nor `sizes`"),
            help: format!("add `{single}`, or `sizes`, a distribution of sizes"),
        });
    }
    let idle = ["mean", "sigma", "shape"].into_iter().find(|key| params.has(key))?;
    Some(Fault {
        message: format!("`{idle}` has no effect without `sizes`"),
        help: format!("remove `{idle}`, or replace `{single}` by `sizes`"),
    })
}

/// The fault of the keys of a distribution: one that is missing, or that has no effect.
pub(crate) fn fault(params: &Params) -> Option<Fault> {
    let name = params.choice("sizes");
    let needed = KEYS.iter().find(|(kind, _)| *kind == name).map_or(&[][..], |(_, keys)| keys);
    for key in ["mean", "sigma", "shape"] {
        match (needed.contains(&key), params.has(key)) {
            (true, false) => {
                return Some(Fault {
                    message: format!("sizes = \"{name}\" needs `{key}`"),
                    help: format!("add `{key}` to the source"),
                });
            }
            (false, true) => {
                return Some(Fault {
                    message: format!("`{key}` has no effect with sizes = \"{name}\""),
                    help: format!("remove `{key}`, or choose other `sizes`"),
                });
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    fn sample_mean(sizes: &Sizes, count: u64) -> f64 {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(1);
        let sum: f64 = (0..count).map(|_| sizes.draw(&mut draws) as f64).sum();
        sum / count as f64
    }

    #[test]
    fn each_name_has_its_keys() {
        let named: Vec<&str> = KEYS.iter().map(|(name, _)| *name).collect();
        assert_eq!(named, NAMES);
    }

    /// The means that simulations of pFabric and PIAS use for the two published distributions.
    #[test]
    fn published_sizes_have_their_means() {
        assert_eq!(Cdf::web_search().mean().round(), 1_711_250.0);
        assert_eq!(Cdf::data_mining().mean().round(), 12_658_199.0);
    }

    /// The standard error of 100,000 draws is below 1 % for each of these.
    #[test]
    fn draws_have_the_mean() {
        for sizes in [
            Sizes::Fixed(1e5),
            Sizes::Exponential(1e5),
            Sizes::Lognormal { mu: 10.0, sigma: 1.0 },
            Sizes::Pareto { least: 1e4, shape: 3.0 },
            Sizes::Empirical(Arc::new(Cdf::web_search())),
        ] {
            let mut draws = Xoshiro256PlusPlus::seed_from_u64(2);
            assert!((0..10_000).all(|_| sizes.draw(&mut draws) <= sizes.greatest()), "{sizes:?}");
            let ratio = sample_mean(&sizes, 100_000) / sizes.mean();
            assert!((ratio - 1.0).abs() < 0.03, "{sizes:?}: {ratio}");
        }
    }

    /// Half of all transfers have exactly 100 bytes, the others are between 100 and 300.
    #[test]
    fn a_share_at_the_first_point_is_one_size() {
        let cdf = Cdf::new(vec![(100.0, 0.5), (300.0, 1.0)]).expect("it is valid");
        assert_eq!(cdf.mean(), 150.0);
        assert_eq!(
            (cdf.quantile(0.2), cdf.quantile(0.5), cdf.quantile(0.75)),
            (100.0, 100.0, 200.0)
        );
    }
}
