//! One file.

use sojourn_params::{Param, Params};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{Action, Carrier, Info, Model, Setup, Source, Transfers};
use crate::kinds::SIZE;
use crate::transfers::Series;

/// The source of one file.
#[derive(Debug)]
pub(crate) struct File {
    size: u64,
    series: Series,
}

impl Model for File {
    const INFO: Info = Info {
        name: "file",
        title: "One file",
        params: &[Param { name: "size", kind: SIZE, doc: "size of the file", source: "" }],
        optional: &[],
        exclusive: None,
        carrier: Carrier::Connection,
    };

    fn new(setup: &Setup) -> File {
        File { size: setup.params.data("size").0, series: Series::new(setup.start, Some(1)) }
    }

    fn bytes_in(params: &Params, _: Bytes, _: Duration) -> Bytes {
        params.data("size")
    }
}

impl Source for File {
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
        self.series.complete(now, Instant::MAX);
        None
    }

    fn transfers(&self) -> Transfers {
        self.series.done
    }
}
