//! Variants chosen by name: registered controllers and queues, sources, and transport profiles.

use sojourn_cc::Catalogue;
use sojourn_params::{Kind, Param};
use sojourn_queue::Inner;
use sojourn_transport::{Choice, Config, Profile, Setting};
use sojourn_units::Bytes;

use crate::schema::{DISTRIBUTIONS, QUEUE};
use crate::shape::{COUNT, Field, Given, SIZE, SPAN, SPEED, Shape, TIME, Variant};

/// Every controller of the catalogue.
pub(crate) fn controllers(catalogue: &Catalogue) -> Vec<Variant> {
    catalogue.infos().map(|info| registered(info.name, info.title, info.params)).collect()
}

/// Every controller, and `none`.
pub(crate) fn controls(catalogue: &Catalogue) -> Vec<Variant> {
    let mut all = controllers(catalogue);
    all.push(plain("none", "No controller: datagrams at the source's own rate", &[]));
    all
}

/// Every shipped queue, with the keys of the queues inside it.
pub(crate) fn queues(_: &Catalogue) -> Vec<Variant> {
    let all = sojourn_queue::infos().iter();
    all.map(|info| {
        let mut variant = registered(info.name, info.title, info.params);
        variant.fields.extend(info.inner.iter().map(inner));
        variant
    })
    .collect()
}

fn inner(inner: &Inner) -> Field {
    Field::new(inner.name, Shape::OneOf(&QUEUE), inner.default, inner.doc)
}

fn registered(name: &'static str, title: &'static str, params: &[Param]) -> Variant {
    let fields = params.iter().map(|param| Field {
        name: param.name,
        shape: Shape::Scalar(param.kind),
        given: if param.is_required() { Given::Required } else { Given::OfKind },
        doc: param.doc,
        source: param.source,
    });
    Variant { name, title, fields: fields.collect(), exclusive: None }
}

fn plain(name: &'static str, title: &'static str, fields: &[Field]) -> Variant {
    Variant { name, title, fields: fields.to_vec(), exclusive: None }
}

/// Every source.
pub(crate) fn sources(_: &Catalogue) -> Vec<Variant> {
    vec![
        plain("bulk", "As much as the transport takes", &[]),
        plain("file", "One file", &[Field::required("size", SIZE, "size of the file")]),
        plain("files", "Files one after the other", FILES),
        plain("on-off", "On and off at a constant rate; constant where `off` is 0s", ON_OFF),
        Variant {
            exclusive: Some(("think", "interval")),
            ..plain("request", "Requests the other way, each answered by a response", REQUEST)
        },
        plain("ping", "ICMP echo requests, each answered at once; their RTT is recorded", PING),
    ]
}

const FILES: &[Field] = &[
    Field::required("size", SIZE, "size of each"),
    Field::required("count", COUNT, "how many files"),
    Field::new("think", TIME, "0s", "pause between the delivery of one and the start of the next"),
];

const ON_OFF: &[Field] = &[
    Field::required("rate", SPEED, "rate of payload while on"),
    Field::required("on", SPAN, "time on; the mean where exponential"),
    Field::required("off", TIME, "time off; the mean where exponential"),
    Field::new("distribution", DISTRIBUTIONS, "periodic", "how the times are distributed"),
];

const REQUEST: &[Field] = &[
    Field::required("request", SIZE, "size of a request"),
    Field::required("response", SIZE, "size of a response"),
    Field::optional("count", COUNT, "how many requests; no end where absent"),
    Field::optional(
        "think",
        TIME,
        "pause between the arrival of a response and the next request; 0s where absent",
    ),
    Field::optional(
        "interval",
        SPAN,
        "time between requests, in place of `think`; a late response delays the next request",
    ),
];

const PING: &[Field] = &[
    Field::new("interval", SPAN, "1s", "time between two requests, whatever comes back")
        .from("ping(8), -i"),
    Field::new(
        "size",
        // From ICMP's header alone to the size of the largest packet.
        Shape::Scalar(Kind::Data(Bytes(64), Bytes(8), Bytes(65_000))),
        "64B",
        "the ICMP message, 8 bytes of header included; IP's 20 bytes come on top",
    )
    .from("RFC 792; ping(8), -s: 56 bytes of data"),
];

/// Every transport profile.
pub(crate) fn transports(_: &Catalogue) -> Vec<Variant> {
    let variant = |profile: Profile, title| {
        let fields: Vec<_> = Config::settings(profile).into_iter().map(setting).collect();
        plain(profile.name(), title, &fields)
    };
    vec![
        variant(Profile::Tcp, "TCP: RFC 9293 with SACK, timestamps, RACK-TLP and PRR"),
        variant(Profile::Quic, "QUIC: RFC 9000 and RFC 9002"),
    ]
}

fn setting(setting: Setting) -> Field {
    let Setting { name, kind, default, may_be_unlimited, doc, source } = setting;
    let shape = if may_be_unlimited { Shape::Window(kind) } else { Shape::Scalar(kind) };
    let given = default.map_or(Given::Optional, Given::Default);
    Field { name, shape, given, doc, source }
}
