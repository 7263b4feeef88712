//! The schema: every key of a scenario, declared once.

use crate::host::HOST;
use crate::shape::{COUNT, Field, Form, OneOf, SPAN, Shape, TIME, integer};
use crate::variants;
use sojourn_params::Kind;
use sojourn_transport::{Choice as _, Host, Noise};

mod link;

pub(crate) use link::SHAPER;

/// The version of the schema that this code reads.
pub(crate) const VERSION: u64 = 1;

/// Greatest number of flows of one table: beyond the memory of any machine in use.
const MOST_COPIES: u64 = 1_000_000;

/// The document.
pub(crate) static DOCUMENT: Form = Form {
    title: "scenario",
    fields: &[
        Field::new("schema", integer(VERSION, VERSION), "1", "version of this schema"),
        Field::new("title", Shape::Text, "", "subject of the scenario, in one line"),
        Field::required("duration", SPAN, "simulated time"),
        // The greatest integer of TOML (TOML 1.0, Integer).
        Field::new(
            "seed",
            integer(0, i64::MAX as u64),
            "1",
            "seed of all random draws; each link and each flow draws by its own name",
        ),
        Field::new(
            "spread",
            TIME,
            "0s",
            "every change of a link and every stop is delayed by one draw from [0, spread)",
        ),
        Field::optional(
            "start_jitter",
            TIME,
            "each flow's start is delayed by its own draw from [0, start_jitter), so that seeds \
             differ; if absent, a round trip without queues, at least a tick of 4 ms, and 1 ms for hosts \
             whose own noise is `none` or `ns-2`",
        )
        .from("Floyd and Jacobson 1992, On Traffic Phase Effects in Packet-Switched Gateways"),
        Field::new(
            "host",
            Shape::Either(&HOST),
            Host::DEFAULT,
            "the host at both ends of each flow that names none",
        ),
        Field::optional(
            "noise",
            Shape::Scalar(Kind::Choice("idle", Noise::NAMES)),
            "the time that hosts take to answer a packet, in order: `none`, up to 10 us (`ns-2`), or \
             as measured on an `idle` machine, with a `process` there, on a `busy` one, or on a \
             `virtual` one beside others; if absent, each host's own",
        ),
        Field::new(
            "controls",
            Shape::List(&Shape::OneOf(&CONTROLLER), 0),
            "[]",
            "controllers to run one after the other, for flows without `control`",
        ),
        Field::new("record", Shape::Table(&RECORD), "{}", "settings of the recording"),
        Field::new(
            "measure",
            Shape::Table(&MEASURE),
            "{}",
            "the time over which figures are taken",
        ),
        Field::optional(
            "sweep",
            Shape::Table(&SWEEP),
            "the study of `sojourn sweep`, which other commands leave out",
        ),
        Field::required("link", Shape::Named(&link::LINK), "the links, as [link.NAME]"),
        Field::required("flow", Shape::Named(&FLOW), "the flows, as [flow.NAME]"),
    ],
};

static SWEEP: Form = Form {
    title: "sweep",
    fields: &[
        Field::required(
            "vary",
            Shape::Changes,
            "the axes: for each key, or for keys joined by +, a list of values or a range such as \
             \"1ms..20ms:log:5\"",
        ),
        Field::new(
            "let",
            Shape::Changes,
            "{}",
            "derived values: for each key, an expression of axes and keys",
        ),
        Field::optional("where", Shape::Text, "condition of the points that run"),
        Field::new(
            "design",
            Shape::Scalar(Kind::Choice("grid", DESIGNS)),
            "grid",
            "choice of the points: all combinations, or samples of the axes",
        ),
        Field::optional("points", COUNT, "number of points of a sampled design"),
        Field::new("runs", COUNT, "1", "number of consecutive seeds of each point"),
    ],
};

/// The designs of a sweep.
const DESIGNS: &[&str] = &["grid", "random", "latin-hypercube", "sobol"];

static RECORD: Form = Form {
    title: "record",
    fields: &[
        Field::new("interval", TIME, "10ms", "time between samples; 0s records no series"),
        Field::new(
            "spike_window",
            SPAN,
            "5s",
            "time after a change of capacity in which its spike is measured",
        ),
    ],
};

static MEASURE: Form = Form {
    title: "measure",
    fields: &[Field::new(
        "from",
        TIME,
        "0s",
        "end of the warm-up: goodput, utilisation and the percentiles of queueing delays, \
         round-trip times and response times leave out earlier samples; counts cover the whole run",
    )],
};

static FLOW: Form = Form {
    title: "flow",
    fields: &[
        Field::optional(
            "control",
            Shape::OneOf(&CONTROL),
            "congestion controller; if absent, those of `controls`, or none for a ping",
        ),
        Field::required(
            "path",
            Shape::List(&Shape::Text, 1),
            "the links from sender to receiver, by name",
        ),
        Field::new(
            "back",
            Shape::List(&Shape::Text, 0),
            "[]",
            "the links from receiver to sender, by name",
        ),
        Field::new("source", Shape::OneOf(&SOURCE), "bulk", "source of its data"),
        Field::new(
            "dscp",
            Shape::Scalar(Kind::Choice("CS0", sojourn_queue::DSCP_NAMES)),
            "CS0",
            "differentiated services codepoint of its packets in both directions, for queues with \
             priorities",
        )
        .from("RFC 2474"),
        Field::optional(
            "from",
            Shape::Text,
            "host that sends; flows with one name share a host, and the others have their own",
        ),
        Field::optional("to", Shape::Text, "host that receives, as `from`"),
        Field::new("start", TIME, "0s", "start time"),
        Field::optional("stop", TIME, "stop time; the end of the run if absent"),
        Field::new(
            "count",
            integer(1, MOST_COPIES),
            "1",
            "number of equal flows; two or more get the names NAME-1, NAME-2, ...",
        ),
        Field::new(
            "stagger",
            TIME,
            "0s",
            "time over which the flows of `count` start, evenly spaced",
        ),
        Field::optional(
            "host",
            Shape::Either(&HOST),
            "host of both ends, or of the sender beside a `receiver`; the scenario's `host` if \
             absent",
        ),
        Field::optional("receiver", Shape::Either(&HOST), "host of the receiving end"),
        Field::optional(
            "stack",
            Shape::OneOf(&STACK),
            "a real QUIC stack that carries its data, in place of the hosts' transport",
        ),
    ],
};

static CONTROLLER: OneOf = OneOf {
    what: "controller",
    part: "parameter",
    tag: "kind",
    variants: variants::controllers,
    aliases: &[],
    foreign: &[
        ("bbr1", "bbr"),
        ("bbr2", "bbr3"),
        ("bbrv1", "bbr"),
        ("bbrv2", "bbr3"),
        ("bbrv3", "bbr3"),
        ("newreno", "reno"),
        ("tcp_bbr", "bbr"),
        ("tcp_cubic", "cubic"),
        ("tcp_reno", "reno"),
    ],
};

static CONTROL: OneOf = OneOf { variants: variants::controls, ..CONTROLLER };

/// A queue, which may contain others: its variants refer to its own shape.
pub(crate) static QUEUE: OneOf = OneOf {
    what: "queue",
    part: "parameter",
    tag: "kind",
    variants: variants::queues,
    // The names of `tc`.
    aliases: &[("bfifo", "droptail"), ("pfifo", "droptail")],
    foreign: &[
        ("fifo", "droptail"),
        ("fq", "drr"),
        ("fq_pie", "fq_codel"),
        ("pfifo_fast", "prio"),
        ("sfq", "drr"),
        ("tbf", "htb"),
    ],
};

static SOURCE: OneOf = OneOf {
    what: "source",
    part: "key",
    tag: "kind",
    variants: variants::sources,
    aliases: &[],
    foreign: &[],
};

static STACK: OneOf = OneOf { what: "stack", variants: variants::stacks, ..SOURCE };
