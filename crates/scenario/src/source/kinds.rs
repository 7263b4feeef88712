//! Kinds of keys that several sources have.

use sojourn_units::params::Kind;
use sojourn_units::{Duration, Rate};

/// A rate greater than zero.
pub(crate) const SPEED: Kind = Kind::Rate(Rate(1), Rate(1), Kind::FASTEST);

/// A span of time greater than zero with a default.
pub(crate) const fn span_of(default: Duration) -> Kind {
    Kind::Time(default, Duration(1), Kind::LONGEST)
}
