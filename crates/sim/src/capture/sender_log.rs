//! The events at the sending end of a connection of Sojourn's transport or of TCP, as qlog.
//!
//! Deviation (draft-ietf-quic-qlog-quic-events-12): qlog has no schema for TCP. A TCP connection
//! has the events of a QUIC one: its transmissions have numbers, as QUIC's packets do, and its
//! acknowledgements name them. `protocol_types` identifies it as TCP.

use std::net::SocketAddr;

use serde_json::json;
use sojourn_cc::EcnUse;
use sojourn_scenario::{Flow, Profile, Transport};
use sojourn_trace::export::qlog::{Ack, Frame, Header, Metrics, Qlog, Stream, Trigger, Vantage};
use sojourn_transport::{Ack as SegmentAck, Data, LossCause, Vitals, Why};
use sojourn_units::{Duration, Instant};

use super::named::NamedPackets;
use super::stream::Stream as Bytes;

/// Headers of IP and UDP, which qlog's lengths exclude; for TCP, only that of IP.
const BELOW_QUIC: u32 = 28;
const BELOW_TCP: u32 = 20;
/// An unlimited window counts as no value.
const NO_WINDOW: u64 = 1 << 60;

/// The names in the header of a connection's file.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The title of the run.
    pub title: &'a str,
    /// The source of the events.
    pub description: &'a str,
    /// The connection.
    pub connection: &'a str,
    /// An identifier that both ends of the connection share.
    pub group: &'a str,
}

impl Names<'_> {
    /// Starts a file. `epoch_ns`: its time 0, in nanoseconds since 1970.
    pub(super) fn begin(&self, vantage: Vantage, protocol: &str, epoch_ns: u64) -> Qlog {
        Qlog::new(&Header {
            title: self.title,
            description: self.description,
            vantage,
            name: self.connection,
            group: self.group,
            protocol,
            epoch_ns,
        })
    }
}

/// The file of the end that sends a connection's data.
pub struct SenderLog {
    pub(super) log: Qlog,
    stream_id: u64,
    below: u32,
    header: u32,
    ack_size: u32,
    uses_ecn: bool,
    is_capable: bool,
    stream: Bytes,
    named: NamedPackets,
}

impl SenderLog {
    /// A file for a connection of a flow, with the headers of its `transport`. `is_request`: it
    /// carries the requests of the flow.
    pub fn new(
        names: &Names<'_>,
        transport: &Transport,
        is_request: bool,
        ecn: EcnUse,
    ) -> SenderLog {
        let vantage = if is_request { Vantage::Client } else { Vantage::Server };
        SenderLog {
            log: names.begin(vantage, protocol(transport), sojourn_trace::export::EPOCH_NS),
            // RFC 9000 section 2.1: the first unidirectional stream of the server, or of the
            // client.
            stream_id: if is_request { 2 } else { 3 },
            below: match transport.profile {
                Profile::Tcp => BELOW_TCP,
                Profile::Quic => BELOW_QUIC,
            },
            header: transport.header.0 as u32,
            ack_size: transport.ack_size.0 as u32,
            uses_ecn: ecn != EcnUse::None,
            is_capable: false,
            stream: Bytes::default(),
            named: NamedPackets::default(),
        }
    }

    /// The connection begins between these addresses: the end's own, and the other's.
    pub fn started(&mut self, now: Instant, ends: [SocketAddr; 2]) {
        self.log.event(now.0, "connection_started", &started(ends));
    }

    /// The settings of the connection are known.
    pub fn parameters(&mut self, now: Instant, transport: &Transport) {
        self.log.event(now.0, "parameters_set", &parameters(transport));
        self.log.event(now.0, "recovery_parameters_set", &recovery_parameters(transport));
        if self.uses_ecn {
            self.log.event(now.0, "ecn_state_updated", &json!({ "new": "testing" }));
        }
    }

    /// A packet of data leaves.
    pub fn sent(&mut self, now: Instant, data: &Data) {
        self.stream.note(data.segment, data.len);
        let (frame, length) = self.packet(data);
        self.log.packet(now.0, true, Some(data.number), length, &frame);
    }

    /// The frame and the length of a packet that has left.
    pub(super) fn packet(&self, data: &Data) -> (Frame<'static>, u32) {
        let offset = self.stream.offset(data.segment);
        let stream = Stream { id: self.stream_id, offset, length: data.len };
        (Frame::Stream(stream), (data.len + self.header).saturating_sub(self.below))
    }

    /// Length of an acknowledgement.
    pub(super) fn ack_length(&self) -> u32 {
        self.ack_size.saturating_sub(self.below)
    }

    /// Whether acknowledgements have counts.
    pub(super) fn uses_ecn(&self) -> bool {
        self.uses_ecn
    }

    /// An acknowledgement arrives that names packets. `number`: its own, if it is known.
    pub(super) fn acked(&mut self, now: Instant, number: Option<u64>, ack: &Ack) {
        self.log.packet(now.0, false, number, self.ack_length(), &Frame::Ack(ack));
        self.validate_ecn(now, ack);
    }

    /// Notes a packet for [`SenderLog::heard`].
    pub fn note(&mut self, data: &Data) {
        self.named.sent(data.segment, data.number);
    }

    /// An acknowledgement arrives that names segments, of packets that were noted.
    pub fn heard(&mut self, now: Instant, ack: &SegmentAck) {
        self.named.acked(ack);
        let counts = ack.counts;
        let ack = Ack {
            delay_ns: ack.delay.0,
            ranges: self.named.ranges(),
            ecn: self.uses_ecn.then_some([counts.ect0, counts.ect1, counts.ce]),
        };
        self.acked(now, None, &ack);
    }

    /// A packet is deemed lost.
    pub fn lost(&mut self, now: Instant, number: u64, cause: LossCause) {
        let trigger = match cause {
            LossCause::Reordering => Trigger::ReorderingThreshold,
            LossCause::Time => Trigger::TimeThreshold,
            LossCause::Timeout => Trigger::PtoExpired,
        };
        self.log.lost(now.0, number, trigger);
    }

    /// The state of the sender.
    ///
    /// Deviation (draft-ietf-quic-qlog-quic-events-12 section 7.2): metrics are written after the
    /// sender has sent all that the window allows, not between an acknowledgement and the packets
    /// that it releases.
    pub fn vitals(&mut self, now: Instant, vitals: &Vitals) {
        self.log.metrics(now.0, &metrics(vitals));
        congestion_state(&mut self.log, now, vitals);
    }

    /// The file.
    pub fn log(&mut self) -> &mut Qlog {
        &mut self.log
    }

    /// RFC 9000 section 13.4.2.1: growing counts show that the path carries the field.
    fn validate_ecn(&mut self, now: Instant, ack: &Ack) {
        let counted = ack.ecn.is_some_and(|counts| counts.iter().any(|count| *count > 0));
        if counted && !self.is_capable {
            self.is_capable = true;
            let data = json!({ "old": "testing", "new": "capable" });
            self.log.event(now.0, "ecn_state_updated", &data);
        }
    }
}

/// Name of the file of one end of a connection: `PREFIX.CONNECTION.sender.sqlog` of the `host` that
/// sends the flow's data, or `receiver`. The end that opens a QUIC connection is its client, so that a
/// sender may be either. `place`: number of the connection, which keeps names apart that differ only in
/// characters of no file's name.
pub fn sqlog_name(prefix: &str, connection: &str, place: usize, host: &str) -> String {
    format!("{prefix}.{}.{host}.sqlog", file_name(connection, place))
}

/// Name of a flow's connection.
pub fn connection_name(flow: &Flow, is_request: bool) -> String {
    format!("{}{}", flow.name, if is_request { "-requests" } else { "" })
}

/// A name without characters that a file system rejects. If this changes the name, the connection's
/// number keeps it unique.
fn file_name(name: &str, connection: usize) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    if name.chars().all(is_plain) {
        return name.to_owned();
    }
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("{plain}-{connection}")
}

/// The protocol of a transport, as qlog names it.
pub(super) fn protocol(transport: &Transport) -> &'static str {
    match transport.profile {
        Profile::Tcp => "TCP",
        Profile::Quic => "QUIC",
    }
}

/// The addresses of an end and of the other.
pub(super) fn started([local, remote]: [SocketAddr; 2]) -> serde_json::Value {
    let of = |end: SocketAddr| match end.ip().to_canonical() {
        std::net::IpAddr::V4(ip) => json!({ "ip_v4": ip.to_string(), "port_v4": end.port() }),
        std::net::IpAddr::V6(ip) => json!({ "ip_v6": ip.to_string(), "port_v6": end.port() }),
    };
    json!({ "local": of(local), "remote": of(remote) })
}

fn ms(span: Duration) -> u64 {
    span.0.div_ceil(1_000_000)
}

/// The receiving end's transport parameters.
fn parameters(transport: &Transport) -> serde_json::Value {
    let mut data = json!({
        "initiator": "remote",
        "max_ack_delay": ms(transport.ack_delay),
        "unknown_parameters": [],
    });
    if let Some(window) = transport.initial_receive_window.or(transport.receive_window) {
        data["initial_max_data"] = window.0.into();
    }
    data
}

fn recovery_parameters(transport: &Transport) -> serde_json::Value {
    let mut data = json!({
        "timer_granularity": ms(transport.min_rto).min(u64::from(u16::MAX)),
        "max_datagram_size": transport.mss.0,
        "initial_congestion_window": transport.mss.0 * transport.initial_window,
    });
    if transport.profile == Profile::Quic {
        // RFC 9002 sections 6.1.1, 6.1.2, 6.2.2 and 7.6.1.
        data["reordering_threshold"] = 3.into();
        data["time_threshold"] = 1.125.into();
        data["initial_rtt"] = 333.into();
        data["persistent_congestion_threshold"] = 3.into();
    }
    data
}

pub(super) fn metrics(vitals: &Vitals) -> Metrics {
    let ns = |time: Option<Duration>| time.map(|time| time.0);
    let bytes = |bytes: u64| (bytes < NO_WINDOW).then_some(bytes);
    Metrics {
        min_rtt_ns: ns(vitals.min_rtt),
        smoothed_rtt_ns: ns(vitals.smoothed_rtt),
        latest_rtt_ns: ns(vitals.latest_rtt),
        rtt_variance_ns: ns(vitals.rtt_variation),
        pto_count: Some(u64::from(vitals.timeouts)),
        congestion_window: bytes(vitals.cwnd.0),
        bytes_in_flight: Some(vitals.in_flight.0),
        ssthresh: vitals.ssthresh.and_then(|threshold| bytes(threshold.0)),
        pacing_rate: vitals.pacing.map(|rate| rate.0),
    }
}

/// Records the controller's state if it changed.
pub(super) fn congestion_state(log: &mut Qlog, now: Instant, vitals: &Vitals) {
    match vitals.recovery {
        Why::Mark => log.congestion_state(now.0, "recovery", Some("ecn")),
        Why::Loss => log.congestion_state(now.0, "recovery", None),
        Why::Nothing | Why::Timeout => log.congestion_state(now.0, vitals.phase, None),
    }
}
