//! Random capacity: published models of WiFi and cellular links, and a chain fitted to a
//! measured capacity.
//!
//! The caller passes in the generator; the same seed gives the same capacity.

mod cellular;
mod chain;
mod fitted;
mod length;
mod wifi;

use rand_core::RngCore;
use sojourn_units::params::{Key, Kind, ParamError, Params, Value};
use sojourn_units::{Instant, Rate, UnitError};

pub use cellular::Cellular;
pub use chain::{Chain, FitError, autocorrelation};
pub use fitted::{Fit, Fitted, Moments};
pub use length::{MOST_STEPS, TooLong};
pub use wifi::Wifi;

use crate::capacity::{Step, means};

/// A model of a link whose capacity changes at random.
#[derive(Debug, Clone, PartialEq)]
pub enum Process {
    /// Rates that follow the received signal strength under Rayleigh fading.
    Wifi(Wifi),
    /// Brownian motion of the rate, with outages.
    Cellular(Cellular),
    /// A chain of rates, fitted to a capacity.
    Chain(Chain),
}

/// A model that cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProcessError {
    /// No model has this name.
    #[error("there is no process `{0}`; there are: wifi, cellular")]
    Unknown(String),
    /// The text is not a quantity.
    #[error("`{name}`: {error}")]
    Quantity {
        /// The parameter.
        name: &'static str,
        /// The fault.
        error: UnitError,
    },
    /// The text is not a number.
    #[error("`{name}`: {text} is not a number")]
    Number {
        /// The parameter.
        name: &'static str,
        /// The text.
        text: String,
    },
    /// The parameter is unknown, or its value is outside the range.
    #[error(transparent)]
    Param(#[from] ParamError),
}

/// The parameters of a published model, or `None` if the name is unknown.
pub fn declared(name: &str) -> Option<&'static [Key]> {
    match name {
        "wifi" => Some(wifi::PARAMS),
        "cellular" => Some(cellular::PARAMS),
        _ => None,
    }
}

impl Process {
    /// The published model of this name, `wifi` or `cellular`, with some of its parameters
    /// as text: rates and durations with a unit.
    ///
    /// # Errors
    /// If the name or a parameter is unknown, or a value is malformed or outside its range.
    pub fn published(name: &str, given: &[(String, String)]) -> Result<Process, ProcessError> {
        let declared = declared(name).ok_or_else(|| ProcessError::Unknown(name.to_owned()))?;
        let mut params = Params::defaults(declared);
        for (key, text) in given {
            let known = declared.iter().find(|param| param.name == key);
            // The value is irrelevant for an unknown name, which `set` refuses.
            let value = known.map_or(Ok(Value::Switch(true)), |param| value(param, text))?;
            params.set(declared, key, value)?;
        }
        Ok(match name {
            "wifi" => Process::Wifi(Wifi::new(&params)),
            _ => Process::Cellular(Cellular::new(&params)),
        })
    }

    /// A capacity from the start to `until`, then its mean, so that a remaining queue can
    /// drain. [`Process::check_length`] checks its length.
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

fn value(param: &Key, text: &str) -> Result<Value, ProcessError> {
    let name = param.name;
    let quantity = |error| ProcessError::Quantity { name, error };
    let number = |_| ProcessError::Number { name, text: text.to_owned() };
    match param.kind {
        Kind::Time(..) => text.parse().map(Value::Time).map_err(quantity),
        Kind::Rate(..) => text.parse().map(Value::Rate).map_err(quantity),
        _ => text.trim().parse().map(Value::Number).map_err(number),
    }
}

/// A uniform number in [0, 1), with the 53 bits of a float.
fn uniform(random: &mut impl RngCore) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A random index into `shares`, which sum to 1 and are its probabilities.
fn pick(shares: &[f64], random: &mut impl RngCore) -> usize {
    let mut left = uniform(random);
    for (place, share) in shares.iter().enumerate() {
        if left < *share {
            return place;
        }
        left -= share;
    }
    // The remainder from rounding goes to the last possible index.
    shares.iter().rposition(|share| *share > 0.0).unwrap_or(0)
}
