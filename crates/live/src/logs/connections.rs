//! The event files of the connections of a QUIC endpoint: one for each, of the endpoint's end.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use sojourn_quic_udp::Observer;
use sojourn_sim::{Names, StackLog, sqlog_name};
use sojourn_trace::export::qlog::Vantage;
use sojourn_transport::StackEvent;
use sojourn_units::Instant;

use super::Disk;

/// The files of an endpoint, or of several in succession.
pub(super) struct ConnectionLogs {
    disk: Disk,
    prefix: String,
    title: String,
    flow: String,
    vantage: Vantage,
    /// Whether the endpoint sends the data, as the names of files say it.
    host: &'static str,
    /// Place of the flow among others.
    place: usize,
    /// Whether the first connection has the name of the flow.
    is_named_after_flow: bool,
    /// Time 0 of the files if it is not that of the endpoints.
    fixed_epoch_ns: Option<u64>,
    epoch_ns: u64,
    /// Connections so far, of all endpoints.
    count: usize,
    files: BTreeMap<u64, File>,
}

struct File {
    name: Arc<str>,
    log: StackLog,
}

impl ConnectionLogs {
    /// Connections called `FLOW-1`, `FLOW-2` and so on.
    pub(super) fn new(
        disk: &Disk,
        prefix: String,
        title: String,
        flow: &str,
        (vantage, host): (Vantage, &'static str),
    ) -> ConnectionLogs {
        ConnectionLogs {
            disk: disk.clone(),
            prefix,
            title,
            flow: flow.to_owned(),
            vantage,
            host,
            place: 0,
            is_named_after_flow: false,
            fixed_epoch_ns: None,
            epoch_ns: 0,
            count: 0,
            files: BTreeMap::new(),
        }
    }

    /// Gives the first connection the name of the flow.
    pub(super) fn named_after_flow(mut self) -> ConnectionLogs {
        self.is_named_after_flow = true;
        self
    }

    /// The one connection of the flow at this place. Its times count from `epoch_ns`, in nanoseconds
    /// since 1970.
    pub(super) fn of_flow(mut self, place: usize, epoch_ns: u64) -> ConnectionLogs {
        (self.place, self.fixed_epoch_ns) = (place, Some(epoch_ns));
        self.named_after_flow()
    }

    /// Completes the files of connections that are still open.
    pub(super) fn finish(&mut self) {
        while let Some((number, _)) = self.files.first_key_value() {
            self.ended(*number);
        }
    }
}

impl Observer for ConnectionLogs {
    fn begun(&mut self, epoch_ns: u64) {
        self.finish();
        self.epoch_ns = self.fixed_epoch_ns.unwrap_or(epoch_ns);
    }

    fn follows_connections(&self) -> bool {
        true
    }

    fn opened(&mut self, now: Instant, connection: u64, ends: [SocketAddr; 2]) {
        self.count += 1;
        let called = match (self.is_named_after_flow, self.count) {
            (true, 1) => self.flow.clone(),
            (_, count) => format!("{}-{count}", self.flow),
        };
        let names = Names {
            title: &self.title,
            description: "the QUIC stack noq over UDP",
            connection: &called,
            group: &called,
        };
        let name = sqlog_name(&self.prefix, &called, self.place, self.host).into();
        let log = StackLog::new(&names, self.vantage, self.epoch_ns, now, ends);
        self.files.insert(connection, File { name, log });
    }

    fn event(&mut self, now: Instant, connection: u64, event: &StackEvent) {
        if let Some(file) = self.files.get_mut(&connection) {
            file.log.event(now, event);
            self.disk.hand_on(&file.name, file.log.log());
        }
    }

    fn ended(&mut self, connection: u64) {
        if let Some(mut file) = self.files.remove(&connection) {
            self.disk.flush(&file.name, file.log.log());
        }
    }
}

impl Drop for ConnectionLogs {
    fn drop(&mut self) {
        self.finish();
    }
}
