//! The events of real stacks as qlog, one file for each end. Each file begins with the first event of
//! its end.

use std::collections::BTreeMap;

use sojourn_scenario::Scenario;
use sojourn_trace::export::EPOCH_NS;
use sojourn_trace::export::qlog::Vantage;
use sojourn_transport::{Direction, StackEvent};
use sojourn_units::Instant;

use super::events::{flush, hand_on};
use super::place::{Host, Service, arbitrary, end};
use super::sender_log::{Names, sqlog_name};
use super::stack_log::StackLog;
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

struct File {
    name: String,
    log: StackLog,
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
        file.log.event(now, event);
        hand_on(file.log.log(), &file.name, PIECE, outlet);
    }

    pub(super) fn flush(&mut self, outlet: &mut Outlet) {
        self.files.values_mut().for_each(|file| flush(file.log.log(), &file.name, outlet));
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
    let group = format!("{:016x}", arbitrary(flow, 7));
    let names = Names {
        title,
        description: "a real stack in virtual time",
        connection: name,
        group: &group,
    };
    let host = match direction {
        Direction::Forward => Host::Sender,
        Direction::Backward => Host::Receiver,
    };
    let ends = [host, host.other()].map(|host| end(flow, host, Service::Data).into());
    let log = StackLog::new(&names, vantage, EPOCH_NS, now, ends);
    File { name: sqlog_name(prefix, name, flow, host.name()), log }
}
