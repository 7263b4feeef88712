//! Shared helpers of the transport's tests.

pub(crate) mod desk;
pub(crate) mod network;

use sojourn_transport::{Config, Profile};
use sojourn_units::{Bytes, Duration, Instant};

/// Payload of a full packet.
pub(crate) const MSS: u64 = 1000;

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// This many milliseconds after the start.
pub(crate) fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// A profile's defaults with packets of [`MSS`], unpaced.
pub(crate) fn config(profile: Profile) -> Config {
    Config { mss: Bytes(MSS), pacing: false, ..Config::new(profile) }
}
