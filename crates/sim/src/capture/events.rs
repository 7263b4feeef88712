//! The transport events of each connection as qlog, one file for each end.
//!
//! Deviation (draft-ietf-quic-qlog-quic-events-12): qlog has no schema for TCP. A TCP connection
//! has the events of a QUIC one: its transmissions have numbers, as QUIC's packets do, and its
//! acknowledgements name them. `protocol_types` identifies it as TCP.

use std::collections::VecDeque;

use serde_json::json;
use sojourn_cc::EcnUse;
use sojourn_scenario::{Flow, Profile, Scenario, Transport};
use sojourn_trace::export::packet::End;
use sojourn_trace::export::qlog::{Ack, Frame, Header, Metrics, Qlog, Stream, Trigger, Vantage};
use sojourn_transport::{Data, LossCause, RangeSet, Vitals, Why};
use sojourn_units::{Duration, Instant};

use super::place::{Host, Service, arbitrary, end};
use super::stack_events::StackEvents;
use super::stream::Stream as Bytes;
use super::{Outlet, PIECE};
use crate::tap::{Carried, Passage, Wiring};

/// Headers of IP and UDP, which qlog's lengths exclude; for TCP, only that of IP.
const BELOW_QUIC: u32 = 28;
const BELOW_TCP: u32 = 20;
/// Greatest number of ranges in an acknowledgement, as in the QUIC profile.
///
/// Deviation (RFC 2018 section 3): TCP's acknowledgement in qlog names packet numbers in up to 32
/// ranges; the simulated one names segments, in up to `sack_ranges`.
const MOST_RANGES: usize = 32;
/// Bytes buffered in all files together, unless the pieces would become too small.
const MOST_WAITING: usize = 1 << 26;
const LEAST_PIECE: usize = 1 << 10;
/// An unlimited window counts as no value.
const NO_WINDOW: u64 = 1 << 60;

/// The event files of a run, during writing.
pub(super) struct Events {
    prefix: String,
    connections: Vec<Connection>,
    /// Acknowledgements in flight, by slot: packet number and content.
    acks: Vec<Option<(u64, Ack)>>,
    /// Bytes that each file buffers before it writes them.
    piece: usize,
    /// The files of real stacks.
    pub(super) stack: StackEvents,
}

struct Connection {
    /// The end that sends data, and the end that receives them.
    sender: File,
    receiver: File,
    stream_id: u64,
    below: u32,
    header: u32,
    ack_size: u32,
    uses_ecn: bool,
    is_capable: bool,
    stream: Bytes,
    /// Packets that have arrived and are still held back, and packets that the host has handed up.
    arrived: VecDeque<u64>,
    received: RangeSet,
    acks: u64,
}

pub(super) struct File {
    pub(super) name: String,
    pub(super) log: Qlog,
}

impl File {
    pub(super) fn flush(&mut self, outlet: &mut Outlet) {
        let name = &self.name;
        self.log.take(|bytes| outlet.append(name, bytes));
    }

    pub(super) fn hand_on(&mut self, piece: usize, outlet: &mut Outlet) {
        if self.log.len() >= piece {
            self.flush(outlet);
        }
    }
}

impl Events {
    pub(super) fn new(prefix: &str) -> Events {
        Events {
            prefix: prefix.to_owned(),
            connections: Vec::new(),
            acks: Vec::new(),
            piece: 0,
            stack: StackEvents::default(),
        }
    }

    pub(super) fn begin(&mut self, scenario: &Scenario, connections: &[Wiring]) {
        self.stack.begin(&self.prefix, scenario);
        self.piece = (MOST_WAITING / (2 * connections.len().max(1))).clamp(LEAST_PIECE, PIECE);
        for (place, wiring) in connections.iter().enumerate() {
            let connection = Connection::new(&self.prefix, scenario, place, wiring);
            self.connections.push(connection);
        }
    }

    pub(super) fn data(&mut self, now: Instant, id: usize, passage: Passage, data: &Data) {
        let connection = &mut self.connections[id];
        if passage == Passage::Sent {
            connection.stream.note(data.segment, data.len);
        }
        let offset = connection.stream.offset(data.segment);
        let stream = Stream { id: connection.stream_id, offset, length: data.len };
        let length = (data.len + connection.header).saturating_sub(connection.below);
        let frame = Frame::Stream(stream);
        match passage {
            Passage::Sent => connection.sender.log.packet(now.0, true, data.number, length, &frame),
            Passage::Received => {
                connection.arrived.push_back(data.number);
                connection.receiver.log.packet(now.0, false, data.number, length, &frame);
            }
            Passage::Gone | Passage::Copied => {}
        }
    }

    pub(super) fn ack(&mut self, now: Instant, id: usize, passage: Passage, carried: &Carried<'_>) {
        if self.acks.len() <= carried.place {
            self.acks.resize(carried.place + 1, None);
        }
        let (under_way, connection) = (&mut self.acks[carried.place], &mut self.connections[id]);
        let length = connection.ack_size.saturating_sub(connection.below);
        match passage {
            Passage::Sent => {
                let (number, ack) = connection.acknowledge(carried);
                let frame = Frame::Ack(&ack);
                connection.receiver.log.packet(now.0, true, number, length, &frame);
                *under_way = Some((number, ack));
            }
            Passage::Received => {
                // The entry remains, since a copy may follow.
                let Some((number, ack)) = under_way else { return };
                let frame = Frame::Ack(ack);
                connection.sender.log.packet(now.0, false, *number, length, &frame);
                connection.validate_ecn(now, ack);
            }
            Passage::Gone | Passage::Copied => {}
        }
    }

    pub(super) fn lost(&mut self, now: Instant, id: usize, number: u64, cause: LossCause) {
        let trigger = match cause {
            LossCause::Reordering => Trigger::ReorderingThreshold,
            LossCause::Time => Trigger::TimeThreshold,
            LossCause::Timeout => Trigger::PtoExpired,
        };
        self.connections[id].sender.log.lost(now.0, number, trigger);
    }

    /// Deviation (draft-ietf-quic-qlog-quic-events-12 section 7.2): metrics are written after the
    /// sender has sent all that the window allows, not between an acknowledgement and the packets
    /// that it releases.
    pub(super) fn vitals(&mut self, now: Instant, id: usize, vitals: &Vitals) {
        let log = &mut self.connections[id].sender.log;
        log.metrics(now.0, &metrics(vitals));
        match vitals.recovery {
            Why::Mark => log.congestion_state(now.0, "recovery", Some("ecn")),
            Why::Loss => log.congestion_state(now.0, "recovery", None),
            Why::Nothing | Why::Timeout => log.congestion_state(now.0, vitals.phase, None),
        }
    }

    /// Writes a connection's buffered bytes, if there are enough.
    pub(super) fn hand_on(&mut self, id: usize, outlet: &mut Outlet) {
        self.connections[id].sender.hand_on(self.piece, outlet);
        self.connections[id].receiver.hand_on(self.piece, outlet);
    }

    pub(super) fn flush(&mut self, outlet: &mut Outlet) {
        for connection in &mut self.connections {
            connection.sender.flush(outlet);
            connection.receiver.flush(outlet);
        }
        self.stack.flush(outlet);
    }
}

impl Connection {
    fn new(prefix: &str, scenario: &Scenario, place: usize, wiring: &Wiring) -> Connection {
        let flow = &scenario.flows[wiring.flow];
        let transport = &flow.transport;
        let file = |host| file(prefix, scenario, place, wiring, host);
        let (sends, receives) = if wiring.is_request {
            (Host::Receiver, Host::Sender)
        } else {
            (Host::Sender, Host::Receiver)
        };
        let mut connection = Connection {
            sender: file(sends),
            receiver: file(receives),
            // RFC 9000 section 2.1: the first unidirectional stream of the server, or of the
            // client.
            stream_id: if wiring.is_request { 2 } else { 3 },
            below: match transport.profile {
                Profile::Tcp => BELOW_TCP,
                Profile::Quic => BELOW_QUIC,
            },
            header: transport.header.0 as u32,
            ack_size: transport.ack_size.0 as u32,
            uses_ecn: wiring.ecn != EcnUse::None,
            is_capable: false,
            stream: Bytes::default(),
            arrived: VecDeque::new(),
            received: RangeSet::default(),
            acks: 0,
        };
        connection.introduce(flow, wiring);
        connection
    }

    /// Writes the facts known before the first packet.
    fn introduce(&mut self, flow: &Flow, wiring: &Wiring) {
        let (at, transport) = (flow.start.0, &flow.transport);
        let service = if wiring.is_request { Service::Requests } else { Service::Data };
        let ends = [Host::Sender, Host::Receiver].map(|host| end(wiring.flow, host, service));
        let [sender, receiver] = if wiring.is_request { [ends[1], ends[0]] } else { ends };
        self.sender.log.event(at, "connection_started", &started(sender, receiver));
        self.receiver.log.event(at, "connection_started", &started(receiver, sender));
        self.sender.log.event(at, "parameters_set", &parameters(transport));
        self.sender.log.event(at, "recovery_parameters_set", &recovery_parameters(transport));
        if self.uses_ecn {
            self.sender.log.event(at, "ecn_state_updated", &json!({ "new": "testing" }));
        }
    }

    /// The receiving end's next acknowledgement, with its packet number.
    fn acknowledge(&mut self, carried: &Carried<'_>) -> (u64, Ack) {
        while self.arrived.len() > carried.held {
            let Some(number) = self.arrived.pop_front() else { break };
            self.received.insert(number, number + 1, |_, _| {});
        }
        let highest = self.received.highest_first().take(MOST_RANGES);
        let ranges: Vec<_> = highest.map(|(start, end)| (start, end - 1)).collect();
        // Ranges beyond the greatest number are never named again.
        if let Some((first, _)) = ranges.get(MOST_RANGES - 1) {
            self.received.trim_below(*first);
        }
        let counts = carried.ack.counts;
        self.acks += 1;
        let ack = Ack {
            delay_ns: carried.ack.delay.0,
            ranges,
            ecn: self.uses_ecn.then_some([counts.ect0, counts.ect1, counts.ce]),
        };
        (self.acks - 1, ack)
    }

    /// RFC 9000 section 13.4.2.1: growing counts show that the path carries the field.
    fn validate_ecn(&mut self, now: Instant, ack: &Ack) {
        let counted = ack.ecn.is_some_and(|counts| counts.iter().any(|count| *count > 0));
        if counted && !self.is_capable {
            self.is_capable = true;
            let data = json!({ "old": "testing", "new": "capable" });
            self.sender.log.event(now.0, "ecn_state_updated", &data);
        }
    }
}

fn file(prefix: &str, scenario: &Scenario, place: usize, wiring: &Wiring, host: Host) -> File {
    let flow = &scenario.flows[wiring.flow];
    let vantage = match host {
        Host::Sender => Vantage::Server,
        Host::Receiver => Vantage::Client,
    };
    let requests = if wiring.is_request { "-requests" } else { "" };
    let name = format!("{}{requests}", flow.name);
    let protocol = match flow.transport.profile {
        Profile::Tcp => "TCP",
        Profile::Quic => "QUIC",
    };
    let log = Qlog::new(&Header {
        title: &scenario.title,
        description: "simulated; without the handshake, and one stream",
        vantage,
        name: &name,
        group: &format!("{:016x}", arbitrary(place, 0)),
        protocol,
    });
    File { name: qlog_name(prefix, &file_name(&name, place), host), log }
}

/// The name of the file of a host. The end that opens a QUIC connection is its client, so that a sender
/// may be either: the file is named after its host.
pub(super) fn qlog_name(prefix: &str, connection: &str, host: Host) -> String {
    format!("{prefix}.{connection}.{}.sqlog", host.name())
}

/// A name without characters that a file system rejects. If this changes the name, the connection's
/// number keeps it unique.
pub(super) fn file_name(name: &str, connection: usize) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    if name.chars().all(is_plain) {
        return name.to_owned();
    }
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("{plain}-{connection}")
}

pub(super) fn started(local: End, remote: End) -> serde_json::Value {
    let of = |end: End| {
        let address = end.address.map(|part| part.to_string()).join(".");
        json!({ "ip_v4": address, "port_v4": end.port })
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
