//! The transport events of each connection as qlog, one file for each end.

use std::collections::VecDeque;

use sojourn_scenario::{Flow, Scenario};
use sojourn_trace::export::EPOCH_NS;
use sojourn_trace::export::qlog::{Ack, Frame, Qlog, Vantage};
use sojourn_transport::{Data, LossCause, RangeSet, Vitals};
use sojourn_units::Instant;

use super::named::highest;
use super::place::{Host, Service, arbitrary, end};
use super::sender_log::{Names, SenderLog, connection_name, protocol, sqlog_name, started};
use super::stack_events::StackEvents;
use super::{Outlet, PIECE};
use crate::tap::{Carried, Passage, Wiring};

/// Bytes buffered in all files together, unless the pieces would become too small.
const MOST_WAITING: usize = 1 << 26;
const LEAST_PIECE: usize = 1 << 10;

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
    sender: SenderLog,
    receiver: Qlog,
    names: [String; 2],
    /// Packets that have arrived and are still held back, and packets that the host has handed up.
    arrived: VecDeque<u64>,
    received: RangeSet,
    acks: u64,
}

/// Writes the buffered bytes of a file.
pub(super) fn flush(log: &mut Qlog, name: &str, outlet: &mut Outlet) {
    log.take(|bytes| outlet.append(name, bytes));
}

/// Writes the buffered bytes of a file, if there are enough.
pub(super) fn hand_on(log: &mut Qlog, name: &str, piece: usize, outlet: &mut Outlet) {
    if log.len() >= piece {
        flush(log, name, outlet);
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
        match passage {
            Passage::Sent => connection.sender.sent(now, data),
            Passage::Received => {
                let (frame, length) = connection.sender.packet(data);
                connection.arrived.push_back(data.number);
                connection.receiver.packet(now.0, false, Some(data.number), length, &frame);
            }
            Passage::Gone | Passage::Copied => {}
        }
    }

    pub(super) fn ack(&mut self, now: Instant, id: usize, passage: Passage, carried: &Carried<'_>) {
        if self.acks.len() <= carried.place {
            self.acks.resize(carried.place + 1, None);
        }
        let (under_way, connection) = (&mut self.acks[carried.place], &mut self.connections[id]);
        match passage {
            Passage::Sent => {
                let (number, ack) = connection.acknowledge(carried);
                let (frame, length) = (Frame::Ack(&ack), connection.sender.ack_length());
                connection.receiver.packet(now.0, true, Some(number), length, &frame);
                *under_way = Some((number, ack));
            }
            Passage::Received => {
                // The entry remains, since a copy may follow.
                let Some((number, ack)) = under_way else { return };
                connection.sender.acked(now, Some(*number), ack);
            }
            Passage::Gone | Passage::Copied => {}
        }
    }

    pub(super) fn lost(&mut self, now: Instant, id: usize, number: u64, cause: LossCause) {
        self.connections[id].sender.lost(now, number, cause);
    }

    pub(super) fn vitals(&mut self, now: Instant, id: usize, vitals: &Vitals) {
        self.connections[id].sender.vitals(now, vitals);
    }

    /// Writes a connection's buffered bytes, if there are enough.
    pub(super) fn hand_on(&mut self, id: usize, outlet: &mut Outlet) {
        let (piece, connection) = (self.piece, &mut self.connections[id]);
        connection.files().into_iter().for_each(|(log, name)| hand_on(log, name, piece, outlet));
    }

    pub(super) fn flush(&mut self, outlet: &mut Outlet) {
        for connection in &mut self.connections {
            connection.files().into_iter().for_each(|(log, name)| flush(log, name, outlet));
        }
        self.stack.flush(outlet);
    }
}

impl Connection {
    fn new(prefix: &str, scenario: &Scenario, place: usize, wiring: &Wiring) -> Connection {
        let flow = &scenario.flows[wiring.flow];
        let transport = &flow.transport;
        let (connection, group) =
            (connection_name(flow, wiring.is_request), format!("{:016x}", arbitrary(place, 0)));
        let names = Names {
            title: &scenario.title,
            description: "simulated; without the handshake, and one stream",
            connection: &connection,
            group: &group,
        };
        let (receiving, hosts) = match wiring.is_request {
            false => (Vantage::Client, [Host::Sender, Host::Receiver]),
            true => (Vantage::Server, [Host::Receiver, Host::Sender]),
        };
        let mut made = Connection {
            sender: SenderLog::new(&names, transport, wiring.is_request, wiring.ecn),
            receiver: names.begin(receiving, protocol(transport), EPOCH_NS),
            names: hosts.map(|host| sqlog_name(prefix, &connection, place, host.name())),
            arrived: VecDeque::new(),
            received: RangeSet::default(),
            acks: 0,
        };
        made.introduce(flow, wiring);
        made
    }

    /// Writes the facts known before the first packet.
    fn introduce(&mut self, flow: &Flow, wiring: &Wiring) {
        let service = if wiring.is_request { Service::Requests } else { Service::Data };
        let ends =
            [Host::Sender, Host::Receiver].map(|host| end(wiring.flow, host, service).into());
        let [sender, receiver] = if wiring.is_request { [ends[1], ends[0]] } else { ends };
        self.sender.started(flow.start, [sender, receiver]);
        let of_receiver = started([receiver, sender]);
        self.receiver.event(flow.start.0, "connection_started", &of_receiver);
        self.sender.parameters(flow.start, &flow.transport);
    }

    /// Its files with their names.
    fn files(&mut self) -> [(&mut Qlog, &str); 2] {
        let [sender, receiver] = &self.names;
        [(self.sender.log(), sender), (&mut self.receiver, receiver)]
    }

    /// The receiving end's next acknowledgement, with its packet number.
    fn acknowledge(&mut self, carried: &Carried<'_>) -> (u64, Ack) {
        while self.arrived.len() > carried.held {
            let Some(number) = self.arrived.pop_front() else { break };
            self.received.insert(number, number + 1, |_, _| {});
        }
        let counts = carried.ack.counts;
        self.acks += 1;
        let ack = Ack {
            delay_ns: carried.ack.delay.0,
            ranges: highest(&mut self.received),
            ecn: self.sender.uses_ecn().then_some([counts.ect0, counts.ect1, counts.ce]),
        };
        (self.acks - 1, ack)
    }
}
