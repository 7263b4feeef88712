//! Files one after the other.

use std::sync::Arc;

use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration};

use crate::source::cdf::Cdf;
use crate::source::contract::{Carrier, Fault, Info, Model, Setup, Source};
use crate::source::sizes;
use crate::source::transfers::{Series, Transfer};

/// The source of several files.
pub(crate) enum Files {}

impl Model for Files {
    const INFO: Info = Info {
        name: "files",
        title: "Files one after the other",
        params: keys! {
            /// size of each file, unless `sizes` draws it
            optional size: Kind::AMOUNT;
            sizes::SIZES;
            sizes::MEAN;
            sizes::SIGMA;
            sizes::SHAPE;
            /// number of files
            required count: Kind::COUNT;
            /// pause between the delivery of one and the start of the next
            think: Kind::TIME;
        },
        exclusive: &[("size", "sizes")],
        file: Some(sizes::FILE),
        carrier: Carrier::Connection,
    };

    fn build(setup: &Setup) -> Box<dyn Source> {
        let params = &setup.params;
        Box::new(Transfer {
            think: params.time("think"),
            series: Series::new(setup, "size", Some(params.integer("count"))),
        })
    }

    fn bytes_in(params: &Params, file: Option<&Arc<Cdf>>, _: Bytes, _: Duration) -> Bytes {
        sizes::greatest(params, "size", file)
    }

    fn is_random(params: &Params) -> bool {
        sizes::are_random(params)
    }

    fn fault(params: &Params, _: Bytes) -> Option<Fault> {
        sizes::fault_of_either(params, "size")
    }

    fn reads_file(params: &Params) -> bool {
        sizes::are_of_file(params)
    }
}
