//! Kinds of keys that several sources have.

use sojourn_units::params::Kind;
use sojourn_units::{Bytes, Duration, Rate};

/// An amount of data greater than zero; required.
pub(crate) const SIZE: Kind = Kind::Data(Bytes::ZERO, Bytes(1), Kind::MOST);
/// A count of at least one; required.
pub(crate) const COUNT: Kind = Kind::Integer(0, 1, 1_000_000_000);
/// A rate greater than zero; required.
pub(crate) const SPEED: Kind = Kind::Rate(Rate::ZERO, Rate(1), Kind::FASTEST);
/// A span of time greater than zero; required.
pub(crate) const SPAN: Kind = Kind::Time(Duration::ZERO, Duration(1), Kind::LONGEST);
/// A span of time, zero included; required.
pub(crate) const TIME: Kind = Kind::Time(Duration::MAX, Duration::ZERO, Kind::LONGEST);
/// A span of time, zero by default.
pub(crate) const PAUSE: Kind = Kind::Time(Duration::ZERO, Duration::ZERO, Kind::LONGEST);

/// A span of time greater than zero with a default.
pub(crate) const fn span_of(default: Duration) -> Kind {
    Kind::Time(default, Duration(1), Kind::LONGEST)
}
