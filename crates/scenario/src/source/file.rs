//! One file.

use std::sync::Arc;

use sojourn_units::params::{Param, Params};
use sojourn_units::{Bytes, Duration};

use crate::source::cdf::Cdf;
use crate::source::contract::{Info, Model, Setup, Source};
use crate::source::kinds::SIZE;
use crate::source::transfers::{Series, Transfer};

/// The source of one file.
pub(crate) enum File {}

impl Model for File {
    const INFO: Info = Info {
        name: "file",
        title: "One file",
        params: &[Param { name: "size", kind: SIZE, doc: "size of the file", source: "" }],
        ..Info::BASE
    };

    fn build(setup: &Setup) -> Box<dyn Source> {
        Box::new(Transfer { think: Duration::ZERO, series: Series::new(setup, "size", Some(1)) })
    }

    fn bytes_in(params: &Params, _: Option<&Arc<Cdf>>, _: Bytes, _: Duration) -> Bytes {
        params.data("size")
    }
}
