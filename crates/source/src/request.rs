//! Requests against the direction of the flow, each answered by a response.

use std::sync::Arc;

use sojourn_params::{Param, Params};
use sojourn_units::{Bytes, Duration, Instant};

use crate::cdf::Cdf;
use crate::contract::{
    Action, Carrier, Fault, Info, Model, Setup, SizedTransfer, Source, Transfers,
};
use crate::kinds::{COUNT, PAUSE, SIZE, SPAN};
use crate::sizes;
use crate::transfers::Series;

/// The source of requests and responses.
#[derive(Debug)]
pub(crate) struct Request {
    request: u64,
    pause: Pause,
    series: Series,
}

/// Time of the next request.
#[derive(Clone, Copy, Debug)]
enum Pause {
    /// This long after the arrival of the last response.
    Think(Duration),
    /// This long after the last request, or at once if the response comes later.
    Interval(Duration),
}

impl Model for Request {
    const INFO: Info = Info {
        name: "request",
        title: "Requests in the reverse direction, each with a response",
        params: &[
            Param { name: "request", kind: SIZE, doc: "size of a request", source: "" },
            Param {
                name: "response",
                kind: SIZE,
                doc: "size of a response, unless `sizes` draws it",
                source: "",
            },
            sizes::SIZES,
            sizes::MEAN,
            sizes::SIGMA,
            sizes::SHAPE,
            Param {
                name: "count",
                kind: COUNT,
                doc: "number of requests; unlimited if absent",
                source: "",
            },
            Param {
                name: "think",
                kind: PAUSE,
                doc: "pause between the arrival of a response and the next request; 0s if absent",
                source: "",
            },
            Param {
                name: "interval",
                kind: SPAN,
                doc: "time between requests, instead of `think`; a late response delays the next \
                      request",
                source: "",
            },
        ],
        optional: &["response", "sizes", "mean", "sigma", "shape", "count", "think", "interval"],
        exclusive: &[("response", "sizes"), ("think", "interval")],
        file: Some(sizes::FILE),
        carrier: Carrier::Requests,
    };

    fn build(setup: &Setup) -> Box<dyn Source> {
        let params = &setup.params;
        let pause = match (params.has("interval"), params.has("think")) {
            (true, _) => Pause::Interval(params.time("interval")),
            (false, true) => Pause::Think(params.time("think")),
            (false, false) => Pause::Think(Duration::ZERO),
        };
        let count = params.has("count").then(|| params.integer("count"));
        Box::new(Request {
            request: params.data("request").0,
            pause,
            series: Series::new(setup, "response", count),
        })
    }

    fn bytes_in(params: &Params, file: Option<&Arc<Cdf>>, _: Bytes, _: Duration) -> Bytes {
        params.data("request").max(sizes::greatest(params, "response", file))
    }

    fn is_random(params: &Params) -> bool {
        sizes::are_random(params)
    }

    fn fault(params: &Params, _: Bytes) -> Option<Fault> {
        sizes::fault_of_either(params, "response")
    }

    fn reads_file(params: &Params) -> bool {
        sizes::are_of_file(params)
    }
}

impl Source for Request {
    fn next_at(&self) -> Instant {
        self.series.next_at
    }

    fn act(&mut self, now: Instant) -> Action {
        self.series.begin(now);
        Action::Request(self.request)
    }

    fn target(&self) -> Option<u64> {
        Some(self.series.target())
    }

    fn on_delivered(&mut self, now: Instant) -> Option<Duration> {
        let begun_at = self.series.begun_at;
        let next_at = match self.pause {
            Pause::Think(think) => now + think,
            Pause::Interval(interval) => now.max(begun_at + interval),
        };
        self.series.complete(now, next_at);
        Some(now.since(begun_at))
    }

    fn request_target(&self, answered: u64) -> Option<u64> {
        Some(self.request * (answered + 1))
    }

    fn response(&self) -> u64 {
        self.series.size()
    }

    fn transfers(&self) -> Transfers {
        self.series.done
    }

    fn sized_transfers(&self) -> Vec<SizedTransfer> {
        self.series.sized()
    }
}
