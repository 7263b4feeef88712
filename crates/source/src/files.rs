//! Files one after the other.

use sojourn_params::{Param, Params};
use sojourn_units::{Bytes, Duration};

use crate::contract::{Carrier, Info, Model, Setup, Source};
use crate::kinds::{COUNT, PAUSE, SIZE};
use crate::transfers::{Series, Transfer};

/// The source of several files.
pub(crate) enum Files {}

impl Model for Files {
    const INFO: Info = Info {
        name: "files",
        title: "Files one after the other",
        params: &[
            Param { name: "size", kind: SIZE, doc: "size of each file", source: "" },
            Param { name: "count", kind: COUNT, doc: "number of files", source: "" },
            Param {
                name: "think",
                kind: PAUSE,
                doc: "pause between the delivery of one and the start of the next",
                source: "",
            },
        ],
        optional: &[],
        exclusive: None,
        file: None,
        carrier: Carrier::Connection,
    };

    fn build(setup: &Setup) -> Box<dyn Source> {
        let params = &setup.params;
        Box::new(Transfer {
            size: params.data("size").0,
            think: params.time("think"),
            series: Series::new(setup.start, Some(params.integer("count"))),
        })
    }

    fn bytes_in(params: &Params, _: Bytes, _: Duration) -> Bytes {
        params.data("size")
    }
}
