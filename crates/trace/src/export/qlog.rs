//! qlog: the events of a transport, as a sequence of JSON texts (RFC 7464).
//!
//! draft-ietf-quic-qlog-main-schema-13 (MAIN) defines the file, and
//! draft-ietf-quic-qlog-quic-events-12 (EVENTS) its events.

use std::fmt::{self, Write};

use serde_json::{Value, json};

use super::date::date;

/// MAIN section 4: the file's schema and its serialization.
const FILE_SCHEMA: &str = "urn:ietf:params:qlog:file:sequential";
const FORMAT: &str = "application/qlog+json-seq";
/// EVENTS section 2.1: the URN includes the draft's number until there is an RFC.
pub const EVENT_SCHEMA: &str = "urn:ietf:params:qlog:events:quic-12";

/// Record separator (RFC 7464 section 2.2).
const RS: char = '\u{1e}';

/// The end of a connection that writes the file (MAIN section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// The end that opened the connection: here, the receiver of data.
    Client,
    /// The other end.
    Server,
}

impl Vantage {
    /// Its name in the schema.
    pub fn name(self) -> &'static str {
        match self {
            Vantage::Client => "client",
            Vantage::Server => "server",
        }
    }
}

/// A file's description of itself.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// Title of the run.
    pub title: &'a str,
    /// Description of the run.
    pub description: &'a str,
    /// The end that writes the file.
    pub vantage: Vantage,
    /// Name of that end.
    pub name: &'a str,
    /// Identifier shared by both ends of a connection, and unique among connections.
    pub group: &'a str,
    /// `QUIC` or `TCP`.
    pub protocol: &'a str,
    /// Time 0 of the events in nanoseconds since 1970 (MAIN section 7.1);
    /// [`EPOCH_NS`](super::EPOCH_NS) for a run, which has no date.
    pub epoch_ns: u64,
}

/// Stream data in a packet (EVENTS section 9.13.8).
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// The stream (RFC 9000 section 2.1).
    pub id: u64,
    /// Offset of the data in the stream, in bytes.
    pub offset: u64,
    /// Length of the data in bytes.
    pub length: u32,
}

/// An acknowledgement (EVENTS section 9.13.3).
#[derive(Clone, Debug, Default)]
pub struct Ack {
    /// Delay of the acknowledgement.
    pub delay_ns: u64,
    /// Packet numbers `first..=last`, the highest first.
    pub ranges: Vec<(u64, u64)>,
    /// Packets received with ECT(0), ECT(1) and CE, if counted.
    pub ecn: Option<[u64; 3]>,
}

/// The content of a packet.
#[derive(Clone, Copy, Debug)]
pub enum Frame<'a> {
    /// Data.
    Stream(Stream),
    /// An acknowledgement.
    Ack(&'a Ack),
}

/// The reason why a packet was deemed lost (EVENTS section 7.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Enough later packets were acknowledged.
    ReorderingThreshold,
    /// The packet was outstanding for too long.
    TimeThreshold,
    /// A timeout expired.
    PtoExpired,
}

/// The metrics of EVENTS section 7.2; `None` for a missing value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Minimum round-trip time.
    pub min_rtt_ns: Option<u64>,
    /// Smoothed round-trip time.
    pub smoothed_rtt_ns: Option<u64>,
    /// Newest round-trip sample.
    pub latest_rtt_ns: Option<u64>,
    /// Variation of the round-trip time.
    pub rtt_variance_ns: Option<u64>,
    /// Consecutive timeouts.
    pub pto_count: Option<u64>,
    /// In bytes.
    pub congestion_window: Option<u64>,
    /// In bytes.
    pub bytes_in_flight: Option<u64>,
    /// In bytes.
    pub ssthresh: Option<u64>,
    /// In bits per second.
    pub pacing_rate: Option<u64>,
}

/// A qlog file being written.
#[derive(Debug)]
pub struct Qlog {
    out: String,
    last: Metrics,
    state: String,
}

impl Qlog {
    /// Starts a file with its header.
    pub fn new(header: &Header<'_>) -> Qlog {
        let mut file = Qlog { out: String::new(), last: Metrics::default(), state: String::new() };
        let trace = json!({
            "title": header.title,
            "description": header.description,
            "common_fields": {
                "group_id": header.group,
                "time_format": "relative_to_epoch",
                "reference_time": { "clock_type": "system", "epoch": date(header.epoch_ns) },
                "protocol_types": [header.protocol],
            },
            "vantage_point": { "name": header.name, "type": header.vantage.name() },
            "event_schemas": [EVENT_SCHEMA],
        });
        // MAIN section 3: these two fields must be within the first 256 bytes.
        let (schema, format) = (Value::from(FILE_SCHEMA), Value::from(FORMAT));
        file.write(format_args!(
            "{RS}{{\"file_schema\":{schema},\"serialization_format\":{format},\"trace\":{trace}}}\n"
        ));
        file
    }

    /// Records any event with few fields that occurs rarely.
    pub fn event(&mut self, at_ns: u64, name: &str, data: &Value) {
        self.record(at_ns, name, format_args!("{data}"));
    }

    /// Records that a packet was sent or received (EVENTS sections 5.5, 5.6). `length` is
    /// in bytes and excludes the headers of lower layers. A packet whose `number` is unknown has
    /// none.
    pub fn packet(
        &mut self,
        at_ns: u64,
        is_sent: bool,
        number: Option<u64>,
        length: u32,
        frame: &Frame<'_>,
    ) {
        let name = if is_sent { "packet_sent" } else { "packet_received" };
        let number = Number(number);
        self.record(
            at_ns,
            name,
            format_args!(
                "{{\"header\":{{\"packet_type\":\"1RTT\"{number}}},\
                 \"raw\":{{\"length\":{length}}},\"frames\":[{frame}]}}"
            ),
        );
    }

    /// Records a packet of any type, with its frames as an array of JSON objects.
    pub fn framed_packet(
        &mut self,
        at_ns: u64,
        is_sent: bool,
        kind: &str,
        number: u64,
        length: u32,
        frames: &str,
    ) {
        let name = if is_sent { "packet_sent" } else { "packet_received" };
        self.record(
            at_ns,
            name,
            format_args!(
                "{{\"header\":{{\"packet_type\":\"{kind}\",\"packet_number\":{number}}},\
                 \"raw\":{{\"length\":{length}}},\"frames\":{frames}}}"
            ),
        );
    }

    /// Records a packet that was deemed lost (EVENTS section 7.5).
    pub fn lost(&mut self, at_ns: u64, number: u64, trigger: Trigger) {
        let trigger = match trigger {
            Trigger::ReorderingThreshold => "reordering_threshold",
            Trigger::TimeThreshold => "time_threshold",
            Trigger::PtoExpired => "pto_expired",
        };
        self.record(
            at_ns,
            "packet_lost",
            format_args!(
                "{{\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\
                 \"trigger\":\"{trigger}\"}}"
            ),
        );
    }

    /// Records the metrics that changed (EVENTS section 7.2).
    pub fn metrics(&mut self, at_ns: u64, metrics: &Metrics) {
        if *metrics != self.last {
            let changed = Changed { old: self.last, new: *metrics };
            if changed.any() {
                self.record(at_ns, "recovery_metrics_updated", format_args!("{changed}"));
            }
            self.last = *metrics;
        }
    }

    /// Records the controller's state if it changed (EVENTS section 7.3).
    pub fn congestion_state(&mut self, at_ns: u64, state: &str, trigger: Option<&str>) {
        if self.state == state || state.is_empty() {
            return;
        }
        let mut data = json!({ "new": state });
        if !self.state.is_empty() {
            data["old"] = Value::from(self.state.as_str());
        }
        if let Some(trigger) = trigger {
            data["trigger"] = Value::from(trigger);
        }
        self.event(at_ns, "congestion_state_updated", &data);
        state.clone_into(&mut self.state);
    }

    /// Bytes written but not taken yet.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether all bytes have been taken.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Passes the bytes written so far to `sink` and discards them.
    pub fn take<T>(&mut self, sink: impl FnOnce(&[u8]) -> T) -> T {
        let done = sink(self.out.as_bytes());
        self.out.clear();
        done
    }

    fn record(&mut self, at_ns: u64, name: &str, data: fmt::Arguments<'_>) {
        let time = Ms(at_ns);
        self.write(format_args!(
            "{RS}{{\"time\":{time},\"name\":\"quic:{name}\",\"data\":{data}}}\n"
        ));
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("a string takes whatever is written");
    }
}

/// The field of a packet's number, behind another one.
struct Number(Option<u64>);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |number| write!(f, ",\"packet_number\":{number}"))
    }
}

/// Milliseconds, to the nanosecond (MAIN section 7.1).
struct Ms(u64);

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if rest == 0 { write!(f, "{whole}") } else { write!(f, "{whole}.{rest:06}") }
    }
}

impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frame::Stream(Stream { id, offset, length }) => write!(
                f,
                "{{\"frame_type\":\"stream\",\"stream_id\":{id},\"offset\":{offset},\
                 \"raw\":{{\"payload_length\":{length}}}}}"
            ),
            Frame::Ack(ack) => {
                let delay = Ms(ack.delay_ns);
                write!(f, "{{\"frame_type\":\"ack\",\"ack_delay\":{delay},\"acked_ranges\":[")?;
                for (place, (first, last)) in ack.ranges.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    match first == last {
                        true => write!(f, "{comma}[{first}]")?,
                        false => write!(f, "{comma}[{first},{last}]")?,
                    }
                }
                f.write_str("]")?;
                if let Some([ect0, ect1, ce]) = ack.ecn {
                    write!(f, ",\"ect1\":{ect1},\"ect0\":{ect0},\"ce\":{ce}")?;
                }
                f.write_str("}")
            }
        }
    }
}

/// The metrics that changed.
struct Changed {
    old: Metrics,
    new: Metrics,
}

impl Changed {
    /// Names and values, with times as [`Figure::Time`]. qlog cannot express that a metric
    /// has lost its value, so these are omitted.
    fn fields(&self) -> impl Iterator<Item = (&'static str, Figure)> {
        let (old, new) = (&self.old, &self.new);
        let time = |value: Option<u64>| value.map(Figure::Time);
        let count = |value: Option<u64>| value.map(Figure::Count);
        [
            ("min_rtt", time(old.min_rtt_ns), time(new.min_rtt_ns)),
            ("smoothed_rtt", time(old.smoothed_rtt_ns), time(new.smoothed_rtt_ns)),
            ("latest_rtt", time(old.latest_rtt_ns), time(new.latest_rtt_ns)),
            ("rtt_variance", time(old.rtt_variance_ns), time(new.rtt_variance_ns)),
            ("pto_count", count(old.pto_count), count(new.pto_count)),
            ("congestion_window", count(old.congestion_window), count(new.congestion_window)),
            ("bytes_in_flight", count(old.bytes_in_flight), count(new.bytes_in_flight)),
            ("ssthresh", count(old.ssthresh), count(new.ssthresh)),
            ("pacing_rate", count(old.pacing_rate), count(new.pacing_rate)),
        ]
        .into_iter()
        .filter(|(_, old, new)| old != new)
        .filter_map(|(name, _, new)| Some((name, new?)))
    }

    fn any(&self) -> bool {
        self.fields().next().is_some()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Figure {
    Time(u64),
    Count(u64),
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sign = '{';
        for (name, value) in self.fields() {
            match value {
                Figure::Time(ns) => write!(f, "{sign}\"{name}\":{}", Ms(ns))?,
                Figure::Count(count) => write!(f, "{sign}\"{name}\":{count}")?,
            }
            sign = ',';
        }
        f.write_str("}")
    }
}
