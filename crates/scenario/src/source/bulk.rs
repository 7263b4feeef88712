//! Endless data, as fast as the transport accepts it.

use std::sync::Arc;

use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant};

use crate::source::cdf::Cdf;
use crate::source::contract::{Action, Info, Model, Setup, Source};

/// More bytes than any run can send.
const ENDLESS: u64 = u64::MAX / 4;

/// The bulk source.
#[derive(Debug)]
pub(crate) struct Bulk {
    next_at: Instant,
}

impl Model for Bulk {
    const INFO: Info = Info { name: "bulk", title: "Unlimited data", ..Info::BASE };

    fn build(setup: &Setup) -> Box<dyn Source> {
        Box::new(Bulk { next_at: setup.start })
    }

    fn bytes_in(_: &Params, _: Option<&Arc<Cdf>>, _: Bytes, _: Duration) -> Bytes {
        Bytes::MAX
    }
}

impl Source for Bulk {
    fn next_at(&self) -> Instant {
        self.next_at
    }

    fn act(&mut self, _: Instant) -> Action {
        self.next_at = Instant::MAX;
        Action::Write(ENDLESS)
    }
}
