//! One file.

use std::sync::Arc;

use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration};

use crate::source::cdf::Cdf;
use crate::source::contract::{Info, Model, Setup, Source};
use crate::source::transfers::{Series, Transfer};

/// The source of one file.
pub(crate) enum File {}

impl Model for File {
    const INFO: Info = Info {
        name: "file",
        title: "One file",
        params: keys! {
            /// size of the file
            required size: Kind::AMOUNT;
        },
        ..Info::BASE
    };

    fn build(setup: &Setup) -> Box<dyn Source> {
        Box::new(Transfer { think: Duration::ZERO, series: Series::new(setup, "size", Some(1)) })
    }

    fn bytes_in(params: &Params, _: Option<&Arc<Cdf>>, _: Bytes, _: Duration) -> Bytes {
        params.data("size")
    }
}
