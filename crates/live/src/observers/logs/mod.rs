//! The files of events and packets of connections, while they are being written.

mod connections;
mod disk;
mod packets;
mod recording;
mod sender;

use std::sync::{Arc, Mutex};

use sojourn_cc::EcnUse;
use sojourn_quic_udp::SharedObserver;
use sojourn_scenario::Flow;
use sojourn_sim::{Names, SenderLog, connection_name, sqlog_name};
use sojourn_trace::export::EPOCH_NS;
use sojourn_trace::export::qlog::Vantage;
use sojourn_transport::Config;

use connections::ConnectionLogs;
pub(crate) use disk::{Disk, DiskWriter};
pub use recording::{Recorded, Recorder, Recording};
pub(crate) use sender::{Logger, SenderFile};

/// The event files of a live run. Their time 0 is that of a simulation's.
pub(crate) struct RunLogs {
    disk: Disk,
    prefix: String,
    title: String,
}

/// A sender, for its file.
pub(crate) struct About<'a> {
    pub(crate) ecn: EcnUse,
    /// The transport, and what it does not show.
    pub(crate) description: &'a str,
}

impl RunLogs {
    /// The files with this prefix, and the writer of their pieces.
    pub(crate) fn new(prefix: &str, title: &str) -> (RunLogs, DiskWriter) {
        let (disk, writer) = disk::channel();
        (RunLogs { disk, prefix: prefix.to_owned(), title: title.to_owned() }, writer)
    }

    /// The file of the sender of a connection. `is_request`: it carries the requests of the flow.
    pub(crate) fn sender(
        &self,
        index: usize,
        flow: &Flow,
        transport: &Config,
        is_request: bool,
        about: About<'_>,
    ) -> SenderFile {
        let About { ecn, description } = about;
        let connection = connection_name(flow, is_request);
        let names =
            Names { title: &self.title, description, connection: &connection, group: &connection };
        let log = SenderLog::new(&names, transport, is_request, ecn);
        let host = if is_request { "receiver" } else { "sender" };
        SenderFile::new(sqlog_name(&self.prefix, &connection, index, host), log, &self.disk)
    }

    /// The file of one end of a flow that a QUIC stack carries.
    pub(crate) fn stack(
        &self,
        index: usize,
        flow: &Flow,
        vantage: Vantage,
        host: &'static str,
    ) -> SharedObserver {
        let (prefix, title) = (self.prefix.clone(), self.title.clone());
        let logs = ConnectionLogs::new(&self.disk, prefix, title, &flow.name, vantage, host);
        Arc::new(Mutex::new(logs.of_flow(index, EPOCH_NS)))
    }

    /// Lets the writer end once it has written all pieces.
    pub(crate) fn finish(&self) {
        self.disk.finish();
    }
}
