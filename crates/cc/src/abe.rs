//! Alternative Backoff with ECN: RFC 8511. Marks come from an AQM that keeps its queue
//! short, so a mark reduces the window by less than a loss.

use sojourn_units::params::{Key, Kind};

use crate::contract::Setup;

/// The parameter `beta_ecn` of a controller whose `beta` applies to losses.
pub(crate) const fn beta_ecn(doc: &'static str) -> Key {
    Key::new("beta_ecn", Kind::Number(0.0, 0.0, 0.95), doc)
        .from("RFC 8511 section 3.1; RFC 3168 section 6.1.2, by which a mark counts as a loss")
}

/// The factor by which a mark multiplies the window.
pub(crate) fn mark_factor(setup: &Setup) -> f64 {
    match setup.params.number("beta_ecn") {
        0.0 => setup.params.number("beta"),
        beta_ecn => beta_ecn,
    }
}
