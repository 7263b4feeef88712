//! Files one after the other.

use sojourn_params::{Param, Params};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{Action, Carrier, Info, Model, Setup, Source, Transfers};
use crate::kinds::{COUNT, PAUSE, SIZE};
use crate::transfers::Series;

/// The source of several files.
#[derive(Debug)]
pub(crate) struct Files {
    size: u64,
    think: Duration,
    series: Series,
}

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
        carrier: Carrier::Connection,
    };

    fn new(setup: &Setup) -> Files {
        let params = &setup.params;
        Files {
            size: params.data("size").0,
            think: params.time("think"),
            series: Series::new(setup.start, Some(params.integer("count"))),
        }
    }

    fn bytes_in(params: &Params, _: Bytes, _: Duration) -> Bytes {
        params.data("size")
    }
}

impl Source for Files {
    fn next_at(&self) -> Instant {
        self.series.next_at
    }

    fn act(&mut self, now: Instant) -> Action {
        self.series.begin(now);
        Action::Write(self.size)
    }

    fn target(&self) -> Option<u64> {
        Some(self.series.target(self.size))
    }

    fn on_delivered(&mut self, now: Instant) -> Option<Duration> {
        self.series.complete(now, now + self.think);
        None
    }

    fn transfers(&self) -> Transfers {
        self.series.done
    }
}
