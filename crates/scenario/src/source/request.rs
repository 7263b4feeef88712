//! Requests against the direction of the flow, each answered by a response.

use std::sync::Arc;

use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::source::cdf::Cdf;
use crate::source::contract::{
    Action, Carrier, Fault, Info, Model, Setup, SizedTransfer, Source, Transfers,
};
use crate::source::sizes;
use crate::source::transfers::Series;

/// The source of requests and responses.
#[derive(Debug)]
pub(crate) struct Request {
    request: u64,
    /// Requests of a batch: each follows the response to the one before.
    batch: u64,
    batch_begun_at: Instant,
    pause: Pause,
    series: Series,
}

/// Time of the next batch.
#[derive(Clone, Copy, Debug)]
enum Pause {
    /// This long after the arrival of the last response.
    Think(Duration),
    /// This long after the begin of the last batch, or at once if its last response comes later.
    Interval(Duration),
}

impl Model for Request {
    const INFO: Info = Info {
        name: "request",
        title: "Requests in the reverse direction, each with a response",
        params: keys! {
            /// size of a request
            required request: Kind::AMOUNT;
            /// size of a response, unless `sizes` draws it
            optional response: Kind::AMOUNT;
            sizes::SIZES;
            sizes::MEAN;
            sizes::SIGMA;
            sizes::SHAPE;
            /// number of requests; unlimited if absent
            optional count: Kind::COUNT;
            /// number of requests between two pauses, each sent when the response to the one before
            /// has arrived
            batch: Kind::Integer(1, 1, 1_000_000_000);
            /// pause between the arrival of a batch's last response and the next request; 0s if
            /// absent
            optional think: Kind::TIME;
            /// time between the first requests of two batches, instead of `think`; a late response
            /// delays the next batch
            optional interval: Kind::SPAN;
        },
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
            batch: params.integer("batch"),
            batch_begun_at: setup.start,
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
        if self.series.done.completed.is_multiple_of(self.batch) {
            self.batch_begun_at = now;
        }
        self.series.begin(now);
        Action::Request(self.request)
    }

    fn target(&self) -> Option<u64> {
        Some(self.series.target())
    }

    fn on_delivered(&mut self, now: Instant) -> Option<Duration> {
        let begun_at = self.series.begun_at;
        let ends_batch = (self.series.done.completed + 1).is_multiple_of(self.batch);
        let next_at = match self.pause {
            _ if !ends_batch => now,
            Pause::Think(think) => now + think,
            Pause::Interval(interval) => now.max(self.batch_begun_at + interval),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::spec::Spec;
    use sojourn_units::params::Value;

    /// Times in ms of 8 requests in batches of 3, each answered after `answer_ms`.
    fn requests(pause: (&str, u64), answer_ms: u64) -> Vec<u64> {
        let declared = Request::INFO.params;
        let mut params = Params::empty();
        let span = |ms| Value::Time(Duration::from_millis(ms));
        for (name, value) in [
            ("request", Value::Data(Bytes(500))),
            ("response", Value::Data(Bytes(32_000))),
            ("batch", Value::Integer(3)),
            (pause.0, span(pause.1)),
        ] {
            params.set(declared, name, value).expect("it is in range");
        }
        let spec = Spec::new("request", params).expect("it is listed");
        let mut source = spec.build(Instant::ZERO, Bytes(1200), 1);
        let mut times = Vec::new();
        for _ in 0..8 {
            let at = source.next_at();
            times.push(at.since(Instant::ZERO).0 / 1_000_000);
            assert_eq!(source.act(at), Action::Request(500));
            let response = source.on_delivered(at + Duration::from_millis(answer_ms));
            assert_eq!(response, Some(Duration::from_millis(answer_ms)));
        }
        times
    }

    #[test]
    fn a_batch_has_no_pause_within_it() {
        assert_eq!(requests(("think", 100), 10), [0, 10, 20, 130, 140, 150, 260, 270]);
        assert_eq!(requests(("interval", 100), 10), [0, 10, 20, 100, 110, 120, 200, 210]);
        // A batch that takes longer than the interval delays the next one.
        assert_eq!(requests(("interval", 100), 40), [0, 40, 80, 120, 160, 200, 240, 280]);
    }
}
