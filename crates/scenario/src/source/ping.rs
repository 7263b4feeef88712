//! ICMP echo requests (RFC 792), each answered at once by as large a reply.

use std::sync::Arc;

use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::source::cdf::Cdf;
use crate::source::contract::{Action, Carrier, IP_HEADER, Info, Model, Setup, Source};
use crate::source::kinds::span_of;

/// The source of echo requests.
#[derive(Debug)]
pub(crate) struct Ping {
    interval: Duration,
    size: u64,
    next_at: Instant,
}

impl Model for Ping {
    const INFO: Info = Info {
        name: "ping",
        title: "ICMP echo requests, each answered at once; their RTT is recorded",
        params: keys! {
            /// time between two requests, independent of the replies
            interval: span_of(Duration::from_secs(1)), "ping(8), -i";
            /// size of the ICMP message, 8 bytes of header included; IP's 20 bytes are added
            // From ICMP's header alone to the size of the largest packet.
            size: Kind::Data(Bytes(64), Bytes(8), Bytes(65_000)),
                "RFC 792; ping(8), -s: 56 bytes of data";
        },
        carrier: Carrier::Echo,
        ..Info::BASE
    };

    fn build(setup: &Setup) -> Box<dyn Source> {
        let params = &setup.params;
        Box::new(Ping {
            interval: params.time("interval"),
            size: params.data("size").0,
            next_at: setup.start,
        })
    }

    fn bytes_in(params: &Params, _: Option<&Arc<Cdf>>, mss: Bytes, span: Duration) -> Bytes {
        mss * span.0.div_ceil(params.time("interval").0)
    }

    fn packet(params: &Params) -> Option<Bytes> {
        Some(params.data("size") + IP_HEADER)
    }
}

impl Source for Ping {
    fn next_at(&self) -> Instant {
        self.next_at
    }

    fn act(&mut self, now: Instant) -> Action {
        self.next_at = now + self.interval;
        Action::Write(self.size)
    }
}
