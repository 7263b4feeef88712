//! The events of real stacks as qlog, one file for each end. Each file begins with the first event of
//! its end.

use std::collections::BTreeMap;

use serde_json::json;
use sojourn_scenario::Scenario;
use sojourn_trace::export::qlog::{Header, Metrics, Qlog, Vantage};
use sojourn_transport::{Direction, StackEvent, Why};
use sojourn_units::Instant;

use super::events::{File, file_name, metrics, qlog_name, started};
use super::place::{Host, Service, arbitrary, end};
use super::{Outlet, PIECE};

/// The files, by flow and direction of the data of their ends.
#[derive(Default)]
pub(super) struct StackEvents {
    prefix: String,
    title: String,
    /// The names of all flows.
    flows: Vec<String>,
    files: BTreeMap<(usize, usize), File>,
}

impl StackEvents {
    pub(super) fn begin(&mut self, prefix: &str, scenario: &Scenario) {
        (self.prefix, self.title) = (prefix.to_owned(), scenario.title.clone());
        self.flows = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
    }

    /// An event of a flow at the end that sends in the first direction. The end that sends in the
    /// second one opens the connection: it is the client (RFC 9000 section 1.2).
    pub(super) fn event(
        &mut self,
        now: Instant,
        flow: usize,
        (direction, opens): (Direction, Direction),
        event: &StackEvent,
        outlet: &mut Outlet,
    ) {
        let StackEvents { prefix, title, flows, files } = self;
        let file = files.entry((flow, direction.index())).or_insert_with(|| {
            new_file(now, prefix, title, (flow, &flows[flow]), direction, opens)
        });
        write(&mut file.log, now, event);
        file.hand_on(PIECE, outlet);
    }

    pub(super) fn flush(&mut self, outlet: &mut Outlet) {
        self.files.values_mut().for_each(|file| file.flush(outlet));
    }
}

fn new_file(
    now: Instant,
    prefix: &str,
    title: &str,
    (flow, name): (usize, &str),
    direction: Direction,
    opens: Direction,
) -> File {
    let vantage = if direction == opens { Vantage::Client } else { Vantage::Server };
    let mut log = Qlog::new(&Header {
        title,
        description: "a real stack in virtual time",
        vantage,
        name,
        group: &format!("{:016x}", arbitrary(flow, 7)),
        protocol: "QUIC",
    });
    let host = match direction {
        Direction::Forward => Host::Sender,
        Direction::Backward => Host::Receiver,
    };
    let [local, remote] = [host, host.other()].map(|host| end(flow, host, Service::Data));
    log.event(now.0, "connection_started", &started(local, remote));
    File { name: qlog_name(prefix, &file_name(name, flow), host), log }
}

fn write(log: &mut Qlog, now: Instant, event: &StackEvent) {
    match event {
        StackEvent::Packet { is_sent, kind, number, length, frames } => {
            log.framed_packet(now.0, *is_sent, kind, *number, *length, frames);
        }
        StackEvent::Lost(kind, number) => {
            let header = json!({ "packet_type": kind, "packet_number": number });
            log.event(now.0, "packet_lost", &json!({ "header": header }));
        }
        // The header is optional (draft-ietf-quic-qlog-quic-events, PacketLost), and the stack
        // reports no part of it.
        StackEvent::LostBytes(bytes) => {
            log.event(now.0, "packet_lost", &json!({ "lost_bytes": bytes }));
        }
        StackEvent::State(vitals) => {
            log.metrics(now.0, &Metrics { pto_count: None, ..metrics(vitals) });
            match vitals.recovery {
                Why::Mark => log.congestion_state(now.0, "recovery", Some("ecn")),
                Why::Loss => log.congestion_state(now.0, "recovery", None),
                Why::Nothing | Why::Timeout => log.congestion_state(now.0, vitals.phase, None),
            }
        }
    }
}
