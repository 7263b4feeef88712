//! Capacity at random: published models of WiFi and cellular links, and a chain
//! fitted to a measured capacity.
//!
//! The generator is passed in; the same seed gives the same capacity.

mod cellular;
mod chain;
mod fitted;
mod length;
mod wifi;

use rand_core::RngCore;
use sojourn_units::params::{Kind, Param, Params, Value};
use sojourn_units::{Instant, Rate};

pub use cellular::Cellular;
pub use chain::{Chain, FitError, autocorrelation};
pub use fitted::{Fit, Fitted, Moments};
pub use length::{MOST_STEPS, TooLong};
pub use wifi::Wifi;

use crate::capacity::{Step, means};

/// A model of a link whose capacity changes at random.
#[derive(Debug, Clone, PartialEq)]
pub enum Process {
    /// Rates by the received signal's strength under Rayleigh fading.
    Wifi(Wifi),
    /// Brownian motion of the rate, with outages.
    Cellular(Cellular),
    /// A chain of rates, fitted to a capacity.
    Chain(Chain),
}

/// The parameters of a published model; none where there is no such model.
pub fn declared(name: &str) -> Option<&'static [Param]> {
    match name {
        "wifi" => Some(wifi::PARAMS),
        "cellular" => Some(cellular::PARAMS),
        _ => None,
    }
}

impl Process {
    /// The published model of this name, `wifi` or `cellular`, with some of its
    /// parameters as text: rates and durations with a unit.
    ///
    /// # Errors
    /// A sentence that names the models, the parameters or the range.
    pub fn published(name: &str, given: &[(String, String)]) -> Result<Process, String> {
        let declared = declared(name)
            .ok_or_else(|| format!("there is no process `{name}`; there are: wifi, cellular"))?;
        let mut params = Params::defaults(declared);
        for (key, text) in given {
            let known = declared.iter().find(|param| param.name == key);
            // Any value will do where there is no such name: `set` refuses it.
            let value = known.map_or(Ok(Value::Switch(true)), |param| value(param, text))?;
            params.set(declared, key, value)?;
        }
        Ok(match name {
            "wifi" => Process::Wifi(Wifi::new(&params)),
            _ => Process::Cellular(Cellular::new(&params)),
        })
    }

    /// A capacity from the start to `until`, and its mean from there on, so that
    /// what still waits then can leave. [`Process::check_length`] says whether it
    /// is too much.
    pub fn steps(&self, random: &mut impl RngCore, until: Instant) -> Vec<Step> {
        let mut steps = match self {
            Process::Wifi(wifi) => wifi.steps(random, until),
            Process::Cellular(cellular) => cellular.steps(random, until),
            Process::Chain(chain) => chain.steps(random, until),
        };
        let mean = means(&steps, until, 1)[0].max(1.0);
        steps.push((until, Rate(mean as u64)));
        steps
    }
}

fn value(param: &Param, text: &str) -> Result<Value, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("`{}`: {error}", param.name);
    match param.kind {
        Kind::Time(..) => text.parse().map(Value::Time).map_err(|error| wrong(&error)),
        Kind::Rate(..) => text.parse().map(Value::Rate).map_err(|error| wrong(&error)),
        _ => text
            .trim()
            .parse()
            .map(Value::Number)
            .map_err(|_| wrong(&format!("{text} is not a number"))),
    }
}

/// From 0 to 1, 1 excluded: the 53 bits that a float holds.
fn uniform(random: &mut impl RngCore) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A place in `shares`, which sum up to 1, with these probabilities.
fn pick(shares: &[f64], random: &mut impl RngCore) -> usize {
    let mut left = uniform(random);
    for (place, share) in shares.iter().enumerate() {
        if left < *share {
            return place;
        }
        left -= share;
    }
    // What rounding left over goes to the last that can be.
    shares.iter().rposition(|share| *share > 0.0).unwrap_or(0)
}
