//! The schema: every key of a scenario, declared once, with the model that the keys make.

use sojourn_cc::Catalogue;
use sojourn_transport::{Choice as _, Host, Noise, Stacks};
use sojourn_units::params::{Kind, keys};
use sojourn_units::{Duration, Instant};

use crate::host::HOST;
use crate::model::{Control, Source, StackChoice, Transport};
use crate::shape::{COUNT, Form, OneOf, SPAN, Shape, TIME, integer};
use crate::table::table;
use crate::variants;

mod link;

pub use link::{AckThinning, Chance, EcnFault, Jitter, Link, Ring, Slots};
pub(crate) use link::{Beside, SHAPER};

/// The version of the schema that this code reads.
pub(crate) const VERSION: u64 = 1;

/// Greatest number of flows of one table: beyond the memory of any machine in use.
const MOST_COPIES: u64 = 1_000_000;

table! {
    /// A whole scenario.
    "scenario" Scenario, with Parts;

    /// controllers to run one after the other, for the flows that name no controller
    own controls: Vec<Control>;
    /// links, in the order of the document
    own links: Vec<Link>;
    /// flows, in the order of the document
    own flows: Vec<Flow>;
    /// the controllers that it may name
    own controllers: Catalogue;
    /// the stacks that it may name
    own stacks: Stacks;

    /// version of this schema
    schema = integer(VERSION, VERSION) => "1";
    /// subject of the scenario, in one line
    title: String = Shape::Text => "";
    /// simulated time
    required duration: Duration = SPAN;
    /// seed of all random draws; each link and each flow draws by its own name
    // The greatest integer of TOML (TOML 1.0, Integer).
    seed: u64 = integer(0, i64::MAX as u64) => "1";
    /// every change of a link and every stop is delayed by one draw from [0, spread)
    // The same for all, so that repeated runs meet the senders at different points of their cycle.
    spread: Duration = TIME => "0s";
    /// each flow's start is delayed by its own draw from [0, start_jitter), so that seeds
    /// differ; if absent, a round trip without queues, at least a tick of 4 ms, and 1 ms for
    /// hosts whose own noise is `none` or `ns-2`
    optional start_jitter = TIME,
        "Floyd and Jacobson 1992, On Traffic Phase Effects in Packet-Switched Gateways";
    /// the host at both ends of each flow that names none
    host = Shape::Either(&HOST) => Host::DEFAULT;
    /// the time that hosts take to answer a packet, in order: `none`, up to 10 us (`ns-2`), or
    /// as measured on an `idle` machine, with a `process` there, on a `busy` one, or on a
    /// `virtual` one beside others; if absent, each host's own
    optional noise = Shape::Scalar(Kind::Choice("idle", Noise::NAMES));
    /// controllers to run one after the other, for flows without `control`
    controls = Shape::List(&Shape::OneOf(&CONTROLLER), 0) => "[]";
    /// settings of the recording
    record: Record = Shape::Table(&Record::FORM) => "{}";
    /// the time over which figures are taken
    measure: Measure = Shape::Table(&Measure::FORM) => "{}";
    /// the study of `sojourn sweep`, which other commands leave out
    optional sweep = Shape::Table(&SWEEP);
    /// groups of equal members, as [group.NAME], each with links and flows of its own
    optional group = Shape::Named(&GROUP);
    /// the links, as [link.NAME]
    required link = Shape::Named(&Link::FORM);
    /// the flows, as [flow.NAME]
    required flow = Shape::Named(&Flow::FORM);
}

/// The document.
pub(crate) static DOCUMENT: Form = Scenario::FORM;

static SWEEP: Form = Form {
    title: "sweep",
    fields: keys! {
        /// the axes: for each key, or for keys joined by +, a list of values or a range such as
        /// "1ms..20ms:log:5"
        required vary: Shape::Changes;
        /// derived values: for each key, an expression of axes and keys
        let: Shape::Changes => "{}";
        /// condition of the points that run
        optional where: Shape::Text;
        /// choice of the points: all combinations, or samples of the axes
        design: Shape::Scalar(Kind::Choice("grid", DESIGNS)) => "grid";
        /// number of points of a sampled design
        optional points: COUNT;
        /// number of consecutive seeds of each point
        runs: COUNT => "1";
    },
};

/// A group. Each value of its links and flows may be a draw.
pub(crate) static GROUP: Form = Form {
    title: "group",
    fields: keys! {
        /// number of members; the parts of the first one are called NAME-1/PART
        required count: COUNT;
        /// links of each member
        optional link: Shape::Named(&Link::FORM);
        /// flows of each member
        optional flow: Shape::Named(&Flow::FORM);
        /// groups in each member
        optional group: Shape::Named(&GROUP);
    },
};

/// The designs of a sweep.
const DESIGNS: &[&str] = &["grid", "random", "latin-hypercube", "sobol"];

table! {
    /// Settings of the recording.
    "record" Record;

    /// time between samples; 0s records no series
    interval: Duration = TIME => "10ms";
    /// time after a change of capacity in which its spike is measured
    spike_window: Duration = SPAN => "5s";
}

table! {
    /// The time over which figures are taken.
    "measure" Measure;

    /// end of the warm-up: goodput, utilisation and the percentiles of queueing delays,
    /// round-trip times and response times leave out earlier samples; counts cover the whole
    /// run
    from: Duration = TIME => "0s";
}

table! {
    /// A flow of data from one host to another.
    "flow" Flow, with Carried;

    /// its name
    own name: String;
    /// its controller; `None` if the scenario's `controls` decide. [`Scenario::control_of`] has the
    /// parameters of its host
    own control: Option<Control>;
    /// its application
    own source: Source;
    /// it starts later by one draw from [0, `start_jitter`), but before it stops. Different starts
    /// break phase effects (Floyd and Jacobson 1992, "On Traffic Phase Effects in Packet-Switched
    /// Gateways")
    own start_jitter: Duration;
    /// the host that sends. Neither a stack nor datagrams use it
    own host: &'static Host;
    /// the host that receives
    own receiver: &'static Host;
    /// both with the values that differ from the host of this name
    own systems: [String; 2];
    /// the time that the sending and the receiving host take to process a packet
    own noise: [Noise; 2];
    /// its transport, by the settings of both hosts. With a stack, only the sizes apply
    own transport: Transport;
    /// its transport in the opposite direction, for requests, if the hosts differ
    own reverse: Option<Box<Transport>>;
    /// the stack that carries it; `None` for Sojourn's own transport
    own stack: Option<StackChoice>;

    /// congestion controller; if absent, those of `controls`, or none for a ping
    optional control = Shape::OneOf(&CONTROL);
    /// the links from sender to receiver, by name
    required path: Vec<usize> = Shape::List(&Shape::Text, 1);
    /// the links from receiver to sender, by name
    back: Vec<usize> = Shape::List(&Shape::Text, 0) => "[]";
    /// source of its data
    source = Shape::OneOf(&SOURCE) => "bulk";
    /// differentiated services codepoint of its packets in both directions, for queues with
    /// priorities
    dscp: u8 = Shape::Scalar(Kind::Choice("CS0", sojourn_queue::DSCP_NAMES)) => "CS0", "RFC 2474";
    /// host that sends; flows with one name share a host, and the others have their own
    optional from: Option<String> = Shape::Text;
    /// host that receives, as `from`
    optional to: Option<String> = Shape::Text;
    /// start time
    start: Instant = TIME => "0s";
    /// stop time; the end of the run if absent
    optional stop: Option<Instant> = TIME;
    /// number of equal flows; two or more get the names NAME-1, NAME-2, ...
    count = integer(1, MOST_COPIES) => "1";
    /// time over which the flows of `count` start, evenly spaced
    stagger = TIME => "0s";
    /// host of both ends, or of the sender beside a `receiver`; the scenario's `host` if absent
    optional host = Shape::Either(&HOST);
    /// host of the receiving end
    optional receiver = Shape::Either(&HOST);
    /// a real QUIC stack that carries its data, in place of the hosts' transport
    optional stack = Shape::OneOf(&STACK);
}

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
