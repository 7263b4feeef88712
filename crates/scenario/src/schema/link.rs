//! The keys of a link.

use sojourn_queue::SHAPER_RATE;
use sojourn_transport::Choice;
use sojourn_units::Bytes;
use sojourn_units::params::Kind;

use crate::damage::{BURST_GAP_TEXT, EcnFaultKind};
use crate::model::{Distribution, Spacing};
use crate::shape::{
    COUNT, Either, Field, Form, PROBABILITY, RATE, SPAN, SWITCH, Shape, TIME, fields, up_to,
};

/// The form of a value that changes at steps and ramps: its title, the shape and the key of the value,
/// and descriptions of the first value and of each later one.
macro_rules! schedule {
    ($title:literal, $value:expr, $key:literal, $first:literal, $after:literal) => {
        Form {
            title: $title,
            fields: &[
                Field::required("start", $value, $first),
                Field::new(
                    "steps",
                    Shape::List(
                        &Shape::Table(&Form {
                            title: "step",
                            fields: &[
                                Field::required("at", TIME, "time of the step"),
                                Field::required($key, $value, $after),
                            ],
                        }),
                        0,
                    ),
                    "[]",
                    "sudden changes",
                ),
                Field::new(
                    "ramps",
                    Shape::List(
                        &Shape::Table(&Form {
                            title: "ramp",
                            fields: &[
                                Field::required("from", TIME, "start of the ramp"),
                                Field::required("to", TIME, "end of the ramp"),
                                Field::required($key, $value, $after),
                            ],
                        }),
                        0,
                    ),
                    "[]",
                    "linear changes",
                ),
            ],
        }
    };
}

pub(super) static LINK: Form = Form {
    title: "link",
    fields: fields! {
        /// capacity: a rate, a schedule of rates, or a trace; unlimited if absent
        optional rate: Shape::Either(&CAPACITY);
        /// propagation delay
        delay: Shape::Either(&DELAY), "0s";
        /// queue discipline in front of the link
        queue: Shape::OneOf(&super::QUEUE), "droptail";
        /// size of the buffer: "300kB", "100packets", "50ms" (the link's capacity in that time) or
        /// "unlimited"; the discipline's default if absent. A time becomes bytes at the start, by
        /// the first rate or a trace's mean, and again at each change of `rate`, except to 0. If
        /// the buffer shrinks, the waiting packets stay, and from the next arrival on the queue
        /// drops packets as if full; a size in bytes does not shrink
        optional buffer: Shape::Buffer;
        /// the device's transmit ring below the queue, kept short by byte queue limits; if absent,
        /// the queue passes on one packet at a time
        optional ring: Shape::Table(&RING);
        /// loss on the wire, after the queue
        loss: Shape::Either(&LOSS), "0";
        /// extra delay, uniform in [0, jitter], or a table; packets keep their order unless the
        /// table has `reorder`
        jitter: Shape::Either(&JITTER), "0s";
        /// reordering on the wire: the probability that a packet skips the delay and overtakes, or
        /// a table
        reorder: Shape::Either(&REORDER), "0";
        /// duplication on the wire: the probability that a copy follows the packet, or a table
        duplicate: Shape::Either(&DUPLICATE), "0";
        /// damage to ECN on the wire, after the queue: `bleach` clears the ECN field,
        /// `ect1-to-ect0` rewrites it, `mark` sets CE on every packet, `drop` drops ECN-capable
        /// packets, `drop-syn` drops SYNs that ask for ECN; or a table
        optional ecn: Shape::Either(&ECN);
        /// of this many pure acknowledgements of a TCP connection in a row, a middlebox passes the
        /// first and drops the others; those of QUIC are encrypted and pass
        ack_thinning: Shape::Either(&ACK_THINNING), "1", "RFC 3449 section 5.2";
        /// delivery in batches, as WiFi, cable and LTE aggregate; if absent, each packet arrives at
        /// its own time
        optional slots: Shape::Table(&SLOTS);
        /// bytes that the link counts for each packet beyond the IP packet (14B: Ethernet's header;
        /// 38B: the whole frame)
        overhead: up_to(65_000), "0B";
    },
};

static CAPACITY: Either = Either {
    short: RATE,
    key: Some("start"),
    forms: &[
        Form {
            title: "trace",
            fields: fields! {
                /// a mahimahi trace, with the millisecond of a delivery of 1504 bytes in each line,
                /// or a table of times and rates from then on, such as `0,60Mbit`; its path is
                /// relative to the scenario's folder
                required trace: Shape::Text;
                /// `even` delivers at a rate that changes as little as the milliseconds of the
                /// deliveries allow, so that a constant trace is a constant rate; `burst` makes all
                /// deliveries of a millisecond at its end, as mahimahi does
                spacing: Shape::Scalar(Kind::Choice("even", Spacing::NAMES)), "even";
            },
        },
        schedule!("schedule of rates", RATE, "rate", "initial rate", "rate afterwards"),
    ],
};

/// The rate of a shaper: as [`CAPACITY`], in its own range.
pub(crate) static SHAPER: Either = Either {
    short: Shape::Scalar(SHAPER_RATE),
    key: Some("start"),
    forms: &[schedule!(
        "schedule of rates",
        Shape::Scalar(SHAPER_RATE),
        "rate",
        "initial rate",
        "rate afterwards"
    )],
};

static DELAY: Either = Either {
    short: TIME,
    key: Some("start"),
    forms: &[schedule!("schedule of delays", TIME, "delay", "initial delay", "delay afterwards")],
};

static LOSS: Either = Either {
    short: PROBABILITY,
    key: None,
    forms: &[
        PERIODIC_LOSS,
        schedule!(
            "schedule of loss",
            PROBABILITY,
            "loss",
            "initial probability of a loss",
            "probability of a loss afterwards"
        ),
        GILBERT_ELLIOTT,
    ],
};

const PERIODIC_LOSS: Form = Form {
    title: "periodic loss",
    fields: fields! {
        /// period in packets, of which the last is lost
        required every: COUNT, "RFC 9438 section 5: the deterministic loss model";
    },
};

const GILBERT_ELLIOTT: Form = Form {
    title: "Gilbert-Elliott loss",
    fields: fields! {
        /// probability that a packet enters the bad state
        required p: PROBABILITY, "tc-netem(8), gemodel";
        /// probability that a packet leaves the bad state
        required r: PROBABILITY, "tc-netem(8), gemodel";
        /// loss in the bad state
        loss_bad: PROBABILITY, "1", "tc-netem(8), gemodel: 1-h";
        /// loss in the good state
        loss_good: PROBABILITY, "0", "tc-netem(8), gemodel: 1-k";
    },
};

static JITTER: Either = Either {
    short: TIME,
    key: Some("span"),
    forms: &[Form {
        title: "jitter",
        fields: fields! {
            /// greatest extra delay; with `distribution = "normal"` the standard deviation
            required span: TIME;
            /// `uniform` draws from [0, span]; `normal` draws around zero, up to 4 deviations and
            /// not below a delay of zero. Packets that keep their order wait for earlier ones, so
            /// that the mean delay of a busy link is above `delay`
            distribution: Shape::Scalar(Kind::Choice("uniform", Distribution::NAMES)),
                "uniform", "tc-netem(8), distribution";
            /// whether packets overtake each other, by jitter and by a shrinking delay
            reorder: SWITCH, "false", "tc-netem(8), delay: netem does so";
            CORRELATION;
        },
    }],
};

static REORDER: Either =
    Either { short: PROBABILITY, key: Some("probability"), forms: &[LATE, EARLY] };

const LATE: Form = Form {
    title: "late packets",
    fields: fields! {
        /// extra delay of the packets that the others overtake
        required late: SPAN;
        /// probability that a packet is late
        required probability: PROBABILITY;
        CORRELATION;
    },
};

const EARLY: Form = Form {
    title: "early packets",
    fields: fields! {
        /// probability that a packet skips delay and jitter, and overtakes the others
        required probability: PROBABILITY, "tc-netem(8), reorder";
        CORRELATION;
        /// after an early packet, and at the start, gap - 1 packets are never early
        gap: COUNT, "1", "tc-netem(8), gap";
    },
};

static DUPLICATE: Either = Either {
    short: PROBABILITY,
    key: Some("probability"),
    forms: &[Form {
        title: "duplicates",
        fields: fields! {
            /// probability that a copy follows a packet
            required probability: PROBABILITY, "tc-netem(8), duplicate";
            CORRELATION;
        },
    }],
};

static ECN: Either = Either {
    short: Shape::Scalar(Kind::Choice("bleach", EcnFaultKind::NAMES)),
    key: Some("kind"),
    forms: &[Form {
        title: "damage to ECN",
        fields: fields! {
            /// the damage
            required kind: Shape::Scalar(Kind::Choice("bleach", EcnFaultKind::NAMES));
            /// probability that it happens to a packet, such as on one of several paths
            probability: PROBABILITY, "1";
        },
    }],
};

static ACK_THINNING: Either = Either {
    short: COUNT,
    key: Some("every"),
    forms: &[Form {
        title: "thinned acknowledgements",
        fields: fields! {
            /// number of acknowledgements of which the first passes
            required every: COUNT;
            /// after this time without an acknowledgement of the connection, the next one is a
            /// first one: a device thins those of a burst
            gap: TIME, BURST_GAP_TEXT;
        },
    }],
};

static SLOTS: Form = Form {
    title: "slots",
    fields: fields! {
        /// least time from a slot to the next
        required least: SPAN, "tc-netem(8), slot";
        /// greatest time from a slot to the next; `least` if absent
        optional most: SPAN;
        /// greatest number of packets in a slot
        optional packets: COUNT;
        /// bytes in a slot, which ends with the packet that reaches them
        optional bytes: Shape::Scalar(Kind::Data(Bytes(1), Bytes(1), Bytes(1_000_000_000)));
        /// whether the modem keeps only the newest acknowledgement of a TCP connection in a slot,
        /// except those with selective ranges or ECN echoes
        filter_acks: SWITCH, "false", "RFC 3449 section 5.2.1, ACK filtering";
    },
};

const CORRELATION: Field = Field::new(
    "correlation",
    PROBABILITY,
    "0",
    "weight of the previous draw in each draw; draws then concentrate around their mean, so that \
     a small probability selects fewer packets",
)
.from("tc-netem(8); Linux get_crandom");

static RING: Form = Form {
    title: "transmit ring",
    fields: fields! {
        /// greatest number of packets in the ring
        required packets: COUNT;
        /// time after which an unused part of its limit is withdrawn
        hold_time: TIME, "1s", "Linux dql_init, slack_hold_time";
    },
};
