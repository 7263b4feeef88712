//! Every packet at both hosts of its flow, as pcapng: one file of all senders, one of all
//! receivers. In a single file, Wireshark would take each packet for a duplicate of itself.

use sojourn_scenario::source::Carrier;
use sojourn_scenario::{Flow, Profile, Scenario};
use sojourn_trace::export::packet::{Captured, Ip, echo, udp, udp_with};
use sojourn_trace::export::{Direction, Interface, PcapNg};
use sojourn_transport::Data;
use sojourn_units::Instant;

use super::place::{Host, MOST_FLOWS, Service, end};
use super::quic::QuicWire;
use super::tcp::{TcpWire, window_scale};
use super::{Outlet, PIECE};
use crate::tap::{Carried, Datagram, OutsidePacket, Passage, Wiring};

/// Headers of IPv4 and UDP.
const UDP_HEADERS: u32 = 28;
/// Greatest IPv4 packet: those of real stacks are kept whole.
const GREATEST_IP: usize = 65_535;

/// The packet files of a run, during writing.
pub(super) struct Packets {
    senders: File,
    receivers: File,
    /// Name of the file of TLS secrets.
    key_log: String,
    connections: Vec<Connection>,
    /// Carrier of each flow's data.
    carriers: Vec<Carrier>,
    /// Acknowledgements in flight, by slot.
    acks: Vec<Option<UnderWay>>,
}

/// A capture file of one host of each flow.
struct File {
    name: String,
    out: PcapNg,
    /// Interfaces by flow.
    hosts: Vec<Interface>,
}

/// A connection: its flow, whether the flow's sender sends its data, and its headers.
struct Connection {
    flow: usize,
    is_request: bool,
    wire: Wire,
}

enum Wire {
    Tcp(Box<TcpWire>),
    Quic(QuicWire),
}

/// An acknowledgement, and its `TSval` in TCP.
#[derive(Clone, Copy)]
struct UnderWay {
    packet: Captured,
    clock: u32,
}

impl File {
    fn new(name: String) -> File {
        File { name, out: PcapNg::default(), hosts: Vec::new() }
    }

    fn begin(&mut self, scenario: &Scenario, host: Host) {
        let application = concat!("Sojourn ", env!("CARGO_PKG_VERSION"));
        self.out = PcapNg::new(application, &comment(scenario));
        for flow in &scenario.flows {
            let (name, does) = (host_name(flow, host), description(flow, host));
            let interface = match flow.stack {
                Some(_) => self.out.interface_cut_to(GREATEST_IP, &name, &does),
                None => self.out.interface(&name, &does),
            };
            self.hosts.push(interface);
        }
    }

    fn flush(&mut self, outlet: &mut Outlet) {
        let name = &self.name;
        self.out.take(|bytes| outlet.append(name, bytes));
    }
}

impl Packets {
    pub(super) fn new(prefix: &str) -> Packets {
        Packets {
            senders: File::new(format!("{prefix}.sender.pcapng")),
            receivers: File::new(format!("{prefix}.receiver.pcapng")),
            key_log: format!("{prefix}.keys.log"),
            connections: Vec::new(),
            carriers: Vec::new(),
            acks: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, scenario: &Scenario, connections: &[Wiring]) {
        assert!(scenario.flows.len() <= MOST_FLOWS, "more flows than addresses");
        self.senders.begin(scenario, Host::Sender);
        self.receivers.begin(scenario, Host::Receiver);
        self.carriers = scenario.flows.iter().map(|flow| flow.source.carrier()).collect();
        let connect = |(place, wiring): (usize, &Wiring)| {
            connection(&scenario.flows[wiring.flow], place, wiring)
        };
        self.connections = connections.iter().enumerate().map(connect).collect();
    }

    pub(super) fn data(&mut self, now: Instant, id: usize, passage: Passage, data: &Data) {
        let connection = &mut self.connections[id];
        let packet = match (&mut connection.wire, passage) {
            (Wire::Tcp(tcp), Passage::Sent) => Some(tcp.send(now, data)),
            (Wire::Tcp(tcp), Passage::Received) => tcp.receive(data),
            (Wire::Quic(quic), Passage::Sent) => Some(quic.send(data)),
            (Wire::Quic(quic), Passage::Received) => quic.receive(data),
            (Wire::Tcp(tcp), Passage::Gone) => return tcp.lose(data),
            (Wire::Quic(quic), Passage::Gone) => return quic.lose(data),
            (Wire::Tcp(tcp), Passage::Copied) => return tcp.copy(data),
            (Wire::Quic(quic), Passage::Copied) => return quic.copy(data),
        };
        let (flow, from) = (connection.flow, connection.source());
        if let Some(packet) = packet {
            self.write(now, flow, from, passage, &packet);
        }
    }

    pub(super) fn ack(&mut self, now: Instant, id: usize, passage: Passage, carried: &Carried<'_>) {
        if self.acks.len() <= carried.place {
            self.acks.resize(carried.place + 1, None);
        }
        let connection = &mut self.connections[id];
        let under_way = &mut self.acks[carried.place];
        match (&mut connection.wire, passage) {
            (Wire::Tcp(tcp), Passage::Sent) => {
                let (packet, clock) = tcp.acknowledge(now, carried.ack, carried.held);
                *under_way = Some(UnderWay { packet, clock });
            }
            (Wire::Quic(quic), Passage::Sent) => {
                *under_way = Some(UnderWay { packet: quic.acknowledge(), clock: 0 });
            }
            (Wire::Tcp(tcp), Passage::Received) => {
                under_way.iter().for_each(|ack| tcp.receive_timestamp(ack.clock));
            }
            (Wire::Quic(_), Passage::Received) | (_, Passage::Gone | Passage::Copied) => {}
        }
        let (flow, from) = (connection.flow, connection.source().other());
        let packet = under_way.map(|ack| ack.packet);
        if let Some(packet) = packet.filter(|_| passage.is_at_host()) {
            self.write(now, flow, from, passage, &packet);
        }
    }

    pub(super) fn datagram(
        &mut self,
        now: Instant,
        flow: usize,
        passage: Passage,
        datagram: &Datagram,
    ) {
        if !passage.is_at_host() {
            return;
        }
        let from = if datagram.is_reply { Host::Receiver } else { Host::Sender };
        let ip = Ip {
            source: end(flow, from, Service::Data),
            destination: end(flow, from.other(), Service::Data),
            ecn: datagram.ecn as u8,
            id: datagram.number as u16,
            size: datagram.size,
        };
        let packet = match self.carriers[flow] {
            // ping(8) puts its process into the identifier; the simulator puts the flow.
            Carrier::Echo => echo(&ip, datagram.is_reply, flow as u16),
            _ => udp(&ip, datagram.size.saturating_sub(UDP_HEADERS)),
        };
        self.write(now, flow, from, passage, &packet);
    }

    /// A datagram of a real stack passes.
    pub(super) fn stack(
        &mut self,
        now: Instant,
        passage: Passage,
        packet: &OutsidePacket,
        payload: &[u8],
    ) {
        let from = if packet.is_reply { Host::Receiver } else { Host::Sender };
        let ip = Ip {
            source: end(packet.flow, from, Service::Data),
            destination: end(packet.flow, from.other(), Service::Data),
            ecn: packet.ecn as u8,
            id: packet.handle as u16,
            size: packet.size,
        };
        let bytes = udp_with(&ip, payload);
        let (file, direction) = self.place(from, passage);
        let (host, size) = (file.hosts[packet.flow], bytes.len() as u32);
        file.out.cut_packet(host, now.0, direction, &bytes, size);
    }

    /// Secrets of the packets that follow.
    pub(super) fn secrets(&mut self, lines: &str, outlet: &mut Outlet) {
        self.senders.out.tls_secrets(lines);
        self.receivers.out.tls_secrets(lines);
        outlet.append(&self.key_log, lines.as_bytes());
    }

    /// The file and the direction of a packet at a host. `from`: the host that sends the packet.
    fn place(&mut self, from: Host, passage: Passage) -> (&mut File, Direction) {
        let (host, direction) = match passage {
            Passage::Sent => (from, Direction::Outbound),
            Passage::Received | Passage::Gone | Passage::Copied => {
                (from.other(), Direction::Inbound)
            }
        };
        match host {
            Host::Sender => (&mut self.senders, direction),
            Host::Receiver => (&mut self.receivers, direction),
        }
    }

    /// `from`: the host that sends the packet.
    fn write(
        &mut self,
        now: Instant,
        flow: usize,
        from: Host,
        passage: Passage,
        packet: &Captured,
    ) {
        let (file, direction) = self.place(from, passage);
        file.out.packet(file.hosts[flow], now.0, direction, packet);
    }

    /// Writes the buffered bytes, if there are enough.
    pub(super) fn hand_on(&mut self, outlet: &mut Outlet) {
        for file in [&mut self.senders, &mut self.receivers] {
            if file.out.len() >= PIECE {
                file.flush(outlet);
            }
        }
    }

    pub(super) fn flush(&mut self, outlet: &mut Outlet) {
        self.senders.flush(outlet);
        self.receivers.flush(outlet);
    }
}

impl Connection {
    /// The host that sends its data.
    fn source(&self) -> Host {
        if self.is_request { Host::Receiver } else { Host::Sender }
    }
}

fn connection(flow: &Flow, place: usize, wiring: &Wiring) -> Connection {
    let service = if wiring.is_request { Service::Requests } else { Service::Data };
    let mut ends = [Host::Sender, Host::Receiver].map(|host| end(wiring.flow, host, service));
    if wiring.is_request {
        ends.reverse();
    }
    let transport = &flow.transport;
    let wire = match transport.profile {
        Profile::Tcp => Wire::Tcp(Box::new(TcpWire::new(place, ends, transport, wiring.ecn))),
        Profile::Quic => Wire::Quic(QuicWire::new(place, ends, transport)),
    };
    Connection { flow: wiring.flow, is_request: wiring.is_request, wire }
}

fn host_name(flow: &Flow, host: Host) -> String {
    format!("{} {}", flow.name, host.name())
}

fn comment(scenario: &Scenario) -> String {
    let stacks = match scenario.flows.iter().any(|flow| flow.stack.is_some()) {
        true => " Flows of a real stack have its own packets, with its secrets.",
        false => "",
    };
    format!(
        "{}: simulated. Headers are synthetic and payloads are zeros, which were not kept; \
         handshakes are not written.{stacks}",
        scenario.title
    )
}

fn description(flow: &Flow, host: Host) -> String {
    let does = match host {
        Host::Sender => "sends",
        Host::Receiver => "receives",
    };
    let scale = match flow.transport.profile {
        Profile::Tcp if host == Host::Receiver => {
            format!("; window scale {}", window_scale(&flow.transport))
        }
        _ => String::new(),
    };
    format!("{does} the data of flow {}{scale}", flow.name)
}
