//! Variants chosen by name: registered controllers and queues, sources, and transport profiles.

use sojourn_cc::Catalogue;
use sojourn_queue::Inner;
use sojourn_units::params::{Kind, Param};
use sojourn_units::{Bytes, Duration};

use crate::schema::{DISTRIBUTIONS, QUEUE};
use crate::shape::{
    COUNT, Field, Given, SIZE, SPAN, SPEED, SWITCH, Shape, TIME, Variant, WINDOW, integer, up_to,
};

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
        plain("bulk", "Unlimited data", &[]),
        plain("file", "One file", &[Field::required("size", SIZE, "size of the file")]),
        plain("files", "Files one after the other", FILES),
        plain("on-off", "On and off at a constant rate; without pauses if `off` is 0s", ON_OFF),
        Variant {
            exclusive: Some(("think", "interval")),
            ..plain("request", "Requests in the reverse direction, each with a response", REQUEST)
        },
        plain("ping", "ICMP echo requests, each answered at once; their RTT is recorded", PING),
    ]
}

const FILES: &[Field] = &[
    Field::required("size", SIZE, "size of each file"),
    Field::required("count", COUNT, "number of files"),
    Field::new("think", TIME, "0s", "pause between the delivery of one and the start of the next"),
];

const ON_OFF: &[Field] = &[
    Field::required("rate", SPEED, "rate of payload while on"),
    Field::required("on", SPAN, "time on; its mean if exponential"),
    Field::required("off", TIME, "time off; its mean if exponential"),
    Field::new("distribution", DISTRIBUTIONS, "periodic", "distribution of the times"),
];

const REQUEST: &[Field] = &[
    Field::required("request", SIZE, "size of a request"),
    Field::required("response", SIZE, "size of a response"),
    Field::optional("count", COUNT, "number of requests; unlimited if absent"),
    Field::optional(
        "think",
        TIME,
        "pause between the arrival of a response and the next request; 0s if absent",
    ),
    Field::optional(
        "interval",
        SPAN,
        "time between requests, instead of `think`; a late response delays the next request",
    ),
];

const PING: &[Field] = &[
    Field::new("interval", SPAN, "1s", "time between two requests, independent of the replies")
        .from("ping(8), -i"),
    Field::new(
        "size",
        // From ICMP's header alone to the size of the largest packet.
        Shape::Scalar(Kind::Data(Bytes(64), Bytes(8), Bytes(65_000))),
        "64B",
        "size of the ICMP message, 8 bytes of header included; IP's 20 bytes are added",
    )
    .from("RFC 792; ping(8), -s: 56 bytes of data"),
];

/// Every transport profile.
pub(crate) fn transports(_: &Catalogue) -> Vec<Variant> {
    let tcp = [&transport(&TCP)[..], &[ECN_FEEDBACK, PRR, TIMESTAMPS]].concat();
    let quic = [&transport(&QUIC)[..], &[RECOVERY_PERIOD]].concat();
    vec![
        plain("tcp", "TCP: RFC 9293 with SACK, timestamps, RACK-TLP and PRR", &tcp),
        plain("quic", "QUIC: RFC 9000 and RFC 9002", &quic),
    ]
}

const ECN_FEEDBACK: Field = Field::new(
    "ecn_feedback",
    Shape::Scalar(Kind::Choice("accurate", &["accurate", "classic"])),
    "accurate",
    "how the receiver echoes ECN marks: `accurate` by exact counts, `classic` by a flag once a \
     round trip, as some hosts do",
)
.from("RFC 9768; RFC 3168 section 6.1.3");

const PRR: Field = Field::new(
    "prr",
    Shape::Scalar(Kind::Choice("rfc9937", &["rfc9937", "linux-5.10", "none"])),
    "rfc9937",
    "how a reduction of the window is spread over a round trip, if the controller leaves it to \
     the transport; with `linux-5.10` an unused opportunity to send is lost until the reduction \
     ends; with `none` the window shrinks at once",
)
.from("RFC 9937; Linux 5.10 tcp_cwnd_reduction; RFC 6675");

const TIMESTAMPS: Field = Field::new(
    "timestamps",
    SWITCH,
    "true",
    "timestamps, by which a sender distinguishes a late segment from a lost one at once; without \
     them, `header` and `ack_size` are 12B less, and F-RTO and DSACK detect it later",
)
.from("RFC 7323; RFC 3522 (Eifel)");

const RECOVERY_PERIOD: Field = Field::new(
    "recovery_period",
    Shape::Scalar(Kind::Choice("rfc9002", &["rfc9002", "picoquic-2022"])),
    "rfc9002",
    "losses that begin a recovery period: those of packets sent after the last reduction; with \
     `picoquic-2022`, all after the end of the last period, so that one overflow may reduce the \
     window twice",
)
.from("RFC 9002 appendix B.6; picoquic until 31 August 2022");

/// A default and its source.
type Default = (&'static str, &'static str);

/// The settings that differ between the profiles.
struct Profile {
    mss: Default,
    header: Default,
    ack_size: Default,
    ack_every: Default,
    ack_delay: Default,
    receive_times: Default,
    sack_ranges: Default,
    pacing: Default,
    tso: Default,
    gro: Default,
    min_rto: Default,
    handshake: Handshake,
}

/// A profile's handshake, and its source.
struct Handshake {
    doc: &'static str,
    source: &'static str,
}

const TCP: Profile = Profile {
    mss: ("1448B", "Ethernet's 1500 bytes minus the headers"),
    header: ("52B", "IPv4 20, TCP 20, timestamps 12: RFC 7323 appendix A"),
    ack_size: ("52B", "the same headers"),
    ack_every: ("2", "RFC 9293 section 3.8.6.3"),
    ack_delay: ("40ms", "Linux TCP_DELACK_MIN; RFC 9293 allows up to 500ms"),
    receive_times: (
        "false",
        "the timestamps of RFC 7323 tick in milliseconds, and an acknowledgement has one for all \
         its packets",
    ),
    sack_ranges: ("3", "RFC 2018 section 3, with timestamps"),
    pacing: ("false", "Linux paces only if the controller requests it"),
    tso: (
        "0B",
        "with it, a burst is about 1ms of the pacing rate, and at least two packets: \
         Linux 6.12 tcp_tso_autosize",
    ),
    gro: ("0s", "ethtool -C rx-usecs, Linux gro_flush_timeout"),
    min_rto: ("200ms", "Linux TCP_RTO_MIN; RFC 6298 has 1s"),
    handshake: Handshake {
        doc: "`1-rtt`: SYN and SYN-ACK of 60B each come before the data; `0-rtt`: Fast Open, the \
              SYN carries the first packet's data; `none`: the connection is open at `start`",
        source: "RFC 9293 section 3.5, RFC 7413; 60B: IPv4 20, TCP 20, MSS 4, SACK permitted 2, \
                 timestamps 10, NOP 1, window scale 3",
    },
};

const QUIC: Profile = Profile {
    mss: ("1420B", "1475 bytes a packet with its headers: within Ethernet's 1500"),
    header: (
        "55B",
        "IPv4 20, UDP 8, short header of RFC 9000 section 17.3 with an 8-byte connection ID and \
         a 2-byte packet number 11, AEAD tag 16",
    ),
    ack_size: ("67B", "the same headers and about 12 bytes of ACK frame, RFC 9000 section 19.3"),
    ack_every: ("2", "RFC 9000 section 13.2.2"),
    ack_delay: ("25ms", "max_ack_delay, RFC 9000 section 18.2"),
    receive_times: ("true", "draft-ietf-quic-receive-ts"),
    sack_ranges: ("32", "RFC 9000 section 13.2.3 leaves the number to the receiver"),
    pacing: ("true", "RFC 9002 section 7.7"),
    tso: ("0B", "with it, UDP GSO fills its batches at any rate; 14200B: ten packets"),
    gro: ("0s", "UDP GRO, as TCP's"),
    min_rto: ("1ms", "kGranularity, RFC 9002 section 6.1.2"),
    handshake: Handshake {
        doc: "`1-rtt`: an Initial of 1228B and three such packets in answer come before the data; \
              `0-rtt`: data follow the Initial; `none`: the connection is open at `start`",
        source: "RFC 9001 sections 4.1 and 4.6; RFC 9000 section 14.1: 1200 bytes with IPv4 20 \
                 and UDP 8, section 8.1: three times as much",
    },
};

const HANDSHAKES: Shape = Shape::Scalar(Kind::Choice("1-rtt", &["1-rtt", "0-rtt", "none"]));

/// Hosts delay interrupts by tens of microseconds, rarely hundreds.
const COALESCING: Shape =
    Shape::Scalar(Kind::Time(Duration::ZERO, Duration::ZERO, Duration::from_millis(10)));

fn transport(profile: &Profile) -> [Field; 17] {
    let field = |name, shape, (default, source): Default, doc| {
        Field::new(name, shape, default, doc).from(source)
    };
    let packet = Shape::Scalar(Kind::Data(Bytes(1), Bytes(1), Bytes(65_000)));
    let window = ("10", "RFC 6928");
    [
        field("mss", packet, profile.mss, "payload of a full packet"),
        field("header", up_to(1_000), profile.header, "headers of a data packet, IP included"),
        field("ack_size", packet, profile.ack_size, "size of a pure acknowledgement, IP included"),
        field("initial_window", COUNT, window, "initial congestion window in packets"),
        Field::new("receive_window", WINDOW, "unlimited", "receive window"),
        field("ack_every", COUNT, profile.ack_every, "full packets for each acknowledgement"),
        Field::new(
            "quick_acks",
            integer(0, 1_000_000_000),
            "0",
            "number of first packets that are each acknowledged at once",
        )
        .from("up to 16 in Linux, TCP_MAX_QUICKACKS; 1 in ns-3"),
        field("ack_delay", TIME, profile.ack_delay, "longest delay of an acknowledgement"),
        field(
            "sack_ranges",
            integer(0, 256),
            profile.sack_ranges,
            "ranges that an acknowledgement reports beyond the cumulative one",
        ),
        Field::new("ecn", SWITCH, "true", "ECN, if the controller uses it"),
        field(
            "receive_times",
            SWITCH,
            profile.receive_times,
            "acknowledgements contain the arrival time of each packet, if the controller uses it",
        ),
        Field::new("handshake", HANDSHAKES, "1-rtt", profile.handshake.doc)
            .from(profile.handshake.source),
        Field::optional(
            "initial_burst",
            COUNT,
            "number of first packets that leave unpaced if a rate paces packets; if absent, 10 \
             for `bbr`, `lola` and the pacing of this transport, as in stacks, and 0 for other \
             controllers that pace",
        )
        .from(
            "Linux tcp_update_skb_after_send; RFC 9002 section 7.7; \
             draft-briscoe-iccrg-prague-congestion-control and draft-ietf-ccwg-bbr-06 section \
             5.6.2 pace the initial window",
        ),
        field("pacing", SWITCH, profile.pacing, "pacing, if the controller does not pace"),
        field(
            "tso",
            up_to(65_536),
            profile.tso,
            "greatest burst of payload that leaves back to back, as with segmentation offload; 0B \
             for single packets",
        ),
        field(
            "gro",
            COALESCING,
            profile.gro,
            "longest time for which the receiving host holds packets, to pass on and acknowledge \
             them together; 0s: no coalescing",
        ),
        field("min_rto", SPAN, profile.min_rto, "minimum retransmission timeout"),
    ]
}
