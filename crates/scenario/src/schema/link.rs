//! The keys of a link, and the link that they make.

use sojourn_queue::SHAPER_RATE;
use sojourn_transport::Choice;
use sojourn_units::params::{Given, Key, Kind, keys};
use sojourn_units::{Bytes, Duration, Rate};

use crate::damage::{self, EcnFaultKind};
use crate::model::{Buffer, Capacity, Discipline, Distribution, Loss, Reorder, Schedule, Spacing};
use crate::shape::{COUNT, Either, Form, PROBABILITY, RATE, SPAN, SWITCH, Shape, TIME, up_to};
use crate::table::table;
use crate::{link, queue};

/// The form of a value that changes at steps and ramps: its title, the shape and the key of the value,
/// and descriptions of the first value and of each later one.
macro_rules! schedule {
    ($title:literal, $value:expr, $key:ident, $first:literal, $after:literal) => {
        Form {
            title: $title,
            fields: keys! {
                #[doc = $first]
                required start: $value;
                /// sudden changes
                steps: Shape::List(
                    &Shape::Table(&Form {
                        title: "step",
                        fields: keys! {
                            /// time of the step
                            required at: TIME;
                            #[doc = $after]
                            required $key: $value;
                        },
                    }),
                    0,
                ) => "[]";
                /// linear changes
                ramps: Shape::List(
                    &Shape::Table(&Form {
                        title: "ramp",
                        fields: keys! {
                            /// start of the ramp
                            required from: TIME;
                            /// end of the ramp
                            required to: TIME;
                            #[doc = $after]
                            required $key: $value;
                        },
                    }),
                    0,
                ) => "[]";
            },
        }
    };
}

table! {
    /// A one-way link.
    "link" Link, with Beside,
        check link::no_order_in_slots => (jitter, reorder),
        link::no_delay_to_skip => (delay, jitter, reorder),
        queue::needs_constant_rate => (rate, queue);

    /// its name
    own name: String;
    /// the rates of its shaper, if they change; the link's rate is then constant
    own shaper: Option<Schedule<Rate>>;
    /// capacity: a rate, a schedule of rates, or a trace; unlimited if absent
    optional rate: Capacity = Shape::Either(&CAPACITY) => Capacity::Unlimited;
    /// propagation delay
    delay: Schedule<Duration> = Shape::Either(&DELAY) => "0s";
    /// queue discipline in front of the link
    queue: Discipline = Shape::OneOf(&super::QUEUE) => "droptail";
    /// size of the buffer: "300kB", "100packets", "50ms" (the link's capacity in that time) or
    /// "unlimited"; the discipline's default if absent. A time becomes bytes at the start, by
    /// the first rate or a trace's mean, and again at each change of `rate`, except to 0. If
    /// the buffer shrinks, the waiting packets stay, and from the next arrival on the queue
    /// drops packets as if full; a size in bytes does not shrink
    optional buffer: Buffer = Shape::Buffer => Buffer::Default;
    /// the device's transmit ring below the queue, kept short by byte queue limits; if absent,
    /// the queue passes on one packet at a time
    optional ring: Option<Ring> = Shape::Table(&Ring::FORM);
    /// loss on the wire, after the queue
    loss: Loss = Shape::Either(&LOSS) => "0";
    /// extra delay, uniform in [0, jitter], or a table; packets keep their order unless the
    /// table has `reorder`
    jitter: Jitter = Shape::Either(&Jitter::EITHER) => "0s";
    /// reordering on the wire: the probability that a packet skips the delay and overtakes, or
    /// a table
    reorder: Reorder = Shape::Either(&REORDER) => "0";
    /// duplication on the wire: the probability that a copy follows the packet, or a table
    duplicate: Chance = Shape::Either(&Chance::EITHER) => "0";
    /// damage to ECN on the wire, after the queue: `bleach` clears the ECN field,
    /// `ect1-to-ect0` rewrites it, `mark` sets CE on every packet, `drop` drops ECN-capable
    /// packets, `drop-syn` drops SYNs that ask for ECN; or a table
    optional ecn: Option<EcnFault> = Shape::Either(&EcnFault::EITHER);
    /// of this many pure acknowledgements of a TCP connection in a row, a middlebox passes the
    /// first and drops the others; those of QUIC are encrypted and pass
    ack_thinning: Option<AckThinning> = Shape::Either(&AckThinning::EITHER) => "1",
        "RFC 3449 section 5.2";
    /// delivery in batches, as WiFi, cable and LTE aggregate; if absent, each packet arrives at
    /// its own time
    optional slots: Option<Slots> = Shape::Table(&Slots::FORM);
    /// bytes that the link counts for each packet beyond the IP packet (14B: Ethernet's header;
    /// 38B: the whole frame)
    overhead: Bytes = up_to(65_000) => "0B";
}

static CAPACITY: Either = Either {
    short: RATE,
    key: Some("start"),
    forms: &[
        Form {
            title: "trace",
            fields: keys! {
                /// a mahimahi trace, with the millisecond of a delivery of 1504 bytes in each line,
                /// or a table of times and rates from then on, such as `0,60Mbit`; its path is
                /// relative to the scenario's folder
                required trace: Shape::Text;
                /// `even` delivers at a rate that changes as little as the milliseconds of the
                /// deliveries allow, so that a constant trace is a constant rate; `burst` makes all
                /// deliveries of a millisecond at its end, as mahimahi does
                spacing: Shape::Scalar(Kind::Choice("even", Spacing::NAMES)) => "even";
            },
        },
        schedule!("schedule of rates", RATE, rate, "initial rate", "rate afterwards"),
    ],
};

/// The rate of a shaper: as [`CAPACITY`], in its own range.
pub(crate) static SHAPER: Either = Either {
    short: Shape::Scalar(SHAPER_RATE),
    key: Some("start"),
    forms: &[schedule!(
        "schedule of rates",
        Shape::Scalar(SHAPER_RATE),
        rate,
        "initial rate",
        "rate afterwards"
    )],
};

static DELAY: Either = Either {
    short: TIME,
    key: Some("start"),
    forms: &[schedule!("schedule of delays", TIME, delay, "initial delay", "delay afterwards")],
};

static LOSS: Either = Either {
    short: PROBABILITY,
    key: None,
    forms: &[
        PERIODIC_LOSS,
        schedule!(
            "schedule of loss",
            PROBABILITY,
            loss,
            "initial probability of a loss",
            "probability of a loss afterwards"
        ),
        GILBERT_ELLIOTT,
    ],
};

const PERIODIC_LOSS: Form = Form {
    title: "periodic loss",
    fields: keys! {
        /// period in packets, of which the last is lost
        required every: COUNT, "RFC 9438 section 5: the deterministic loss model";
    },
};

const GILBERT_ELLIOTT: Form = Form {
    title: "Gilbert-Elliott loss",
    fields: keys! {
        /// probability that a packet enters the bad state
        required p: PROBABILITY, "tc-netem(8), gemodel";
        /// probability that a packet leaves the bad state
        required r: PROBABILITY, "tc-netem(8), gemodel";
        /// loss in the bad state
        loss_bad: PROBABILITY => "1", "tc-netem(8), gemodel: 1-h";
        /// loss in the good state
        loss_good: PROBABILITY => "0", "tc-netem(8), gemodel: 1-k";
    },
};

table! {
    /// Random extra delay.
    #[derive(Copy, Default)]
    "jitter" Jitter, short span;

    /// greatest extra delay; with `distribution = "normal"` the standard deviation
    required span: Duration = TIME;
    /// `uniform` draws from [0, span]; `normal` draws around zero, up to 4 deviations and
    /// not below a delay of zero. Packets that keep their order wait for earlier ones, so
    /// that the mean delay of a busy link is above `delay`
    distribution: Distribution = Shape::Scalar(Kind::Choice("uniform", Distribution::NAMES))
        => "uniform", "tc-netem(8), distribution";
    /// whether packets overtake each other, by jitter and by a shrinking delay
    reorder: bool = SWITCH => "false", "tc-netem(8), delay: netem does so";
    /// weight of the previous draw in each draw
    shared correlation: f64 = CORRELATION;
}

static REORDER: Either =
    Either { short: PROBABILITY, key: Some("probability"), forms: &[LATE, EARLY] };

const LATE: Form = Form {
    title: "late packets",
    fields: keys! {
        /// extra delay of the packets that the others overtake
        required late: SPAN;
        /// probability that a packet is late
        required probability: PROBABILITY;
        CORRELATION;
    },
};

const EARLY: Form = Form {
    title: "early packets",
    fields: keys! {
        /// probability that a packet skips delay and jitter, and overtakes the others
        required probability: PROBABILITY, "tc-netem(8), reorder";
        CORRELATION;
        /// after an early packet, and at the start, gap - 1 packets are never early
        gap: COUNT => "1", "tc-netem(8), gap";
    },
};

table! {
    /// A random event of each packet.
    #[derive(Copy, Default)]
    "duplicates" Chance, short probability;

    /// probability that a copy follows a packet
    required probability: f64 = PROBABILITY, "tc-netem(8), duplicate";
    /// weight of the previous draw in each draw
    shared correlation: f64 = CORRELATION;
}

table! {
    /// Damage to the ECN field by a device on the wire.
    #[derive(Copy)]
    "damage to ECN" EcnFault, short kind;

    /// the damage
    required kind: EcnFaultKind = Shape::Scalar(Kind::Choice("bleach", EcnFaultKind::NAMES));
    /// probability that it happens to a packet, such as on one of several paths
    probability: f64 = PROBABILITY => "1";
}

table! {
    /// A middlebox that drops pure TCP acknowledgements. It does not recognise those of QUIC, which
    /// are encrypted.
    #[derive(Copy, Eq)]
    "thinned acknowledgements" AckThinning, short every, idle AckThinning::passes_all;

    /// number of acknowledgements of which the first passes
    required every: u64 = COUNT;
    /// after this time without an acknowledgement of the connection, the next one is a
    /// first one: a device thins those of a burst
    // Longer than the time between acknowledgements of a burst, and shorter than most round trips.
    gap: Duration = TIME => "5ms";
}

table! {
    /// Deliveries in batches, as netem's slots emulate WiFi, cable and LTE.
    #[derive(Copy, Eq)]
    "slots" Slots, check damage::slots_in_order => (least, most);

    /// least time from a slot to the next
    required least: Duration = SPAN, "tc-netem(8), slot";
    /// greatest time from a slot to the next; `least` if absent
    optional most: Option<Duration> = SPAN;
    /// greatest number of packets in a slot
    optional packets: u64 = COUNT => u64::MAX;
    /// bytes in a slot, which ends with the packet that reaches them
    optional bytes: Bytes =
        Shape::Scalar(Kind::Data(Bytes(1), Bytes(1), Bytes(1_000_000_000))) => Bytes::MAX;
    /// whether the modem keeps only the newest acknowledgement of a TCP connection in a slot,
    /// except those with selective ranges or ECN echoes
    filter_acks: bool = SWITCH => "false", "RFC 3449 section 5.2.1, ACK filtering";
}

const CORRELATION: Key<Shape> = Key::new(
    "correlation",
    PROBABILITY,
    "weight of the previous draw in each draw; draws then concentrate around their mean, so that \
     a small probability selects fewer packets",
)
.given(Given::Default("0"))
.from("tc-netem(8); Linux get_crandom");

table! {
    /// A device's transmit ring, limited by byte queue limits.
    #[derive(Copy, Eq)]
    "transmit ring" Ring;

    /// greatest number of packets in the ring
    required packets: u64 = COUNT;
    /// time after which an unused part of its limit is withdrawn
    hold_time: Duration = TIME => "1s", "Linux dql_init, slack_hold_time";
}
