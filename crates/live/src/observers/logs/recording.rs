//! The files of a QUIC server or client: its packets and its events.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use sojourn_quic::endpoint::KeyLogSink;
use sojourn_quic_udp::{Observation, Observer, Passing};
use sojourn_trace::export::qlog::Vantage;
use sojourn_transport::StackEvent;
use sojourn_udp::io::StopHandle;
use sojourn_units::Instant;

use super::connections::ConnectionLogs;
use super::disk::{self, Disk, DiskWriter};
use super::packets::DatagramFile;
use crate::error::Error;
use crate::observers::capture::Captured;

/// The files to be written of an endpoint.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Prefix of the files of packets, if they are wanted: `PREFIX.sender.pcapng` of a server,
    /// `PREFIX.receiver.pcapng` of a client, and `PREFIX.keys.log` with the TLS secrets.
    pub pcapng: Option<String>,
    /// Prefix of the files of events, if they are wanted: `PREFIX.FLOW-1.sender.sqlog`,
    /// `PREFIX.FLOW-2.sender.sqlog` and so on of the connections of a server, and
    /// `PREFIX.FLOW.receiver.sqlog` of the connection of a client. Attempts of a client before that
    /// connection have numbers too, as `PREFIX.FLOW-1.receiver.sqlog`.
    pub qlog: Option<String>,
    /// The title of the files.
    pub title: String,
    /// The name of the flow.
    pub flow: String,
    /// Whether the endpoint is a server.
    pub is_server: bool,
}

/// The files of an endpoint, before it runs.
pub struct Recording {
    files: Arc<Mutex<Files>>,
    secrets: Option<KeyLogSink>,
    writer: DiskWriter,
}

/// The files of an endpoint, while a thread writes them.
pub struct Recorder {
    files: Arc<Mutex<Files>>,
    thread: JoinHandle<Result<(), Error>>,
}

struct Files {
    disk: Disk,
    packets: Option<DatagramFile>,
    events: Option<ConnectionLogs>,
}

impl Recording {
    /// The files, of which none exists before the endpoint runs.
    pub fn new(of: &Recorded) -> Recording {
        let (disk, writer) = disk::channel();
        let secrets = of.pcapng.as_ref().map(|_| KeyLogSink::default());
        let files = Arc::new(Mutex::new(Files::new(of, disk, secrets.clone())));
        Recording { files, secrets, writer }
    }

    /// What the endpoint has to show.
    pub fn observation(&self) -> Observation {
        let observer = Arc::clone(&self.files);
        Observation { observer: Some(observer), secrets: self.secrets.clone() }
    }

    /// Begins to write. `stop` ends the endpoint if its files cannot be written.
    ///
    /// # Errors
    /// If the system has no room for a thread.
    pub fn start(self, stop: StopHandle) -> Result<Recorder, Error> {
        let Recording { files, writer, .. } = self;
        let run = move || writer.run(move || stop.stop());
        let thread = thread::Builder::new().name("recording".to_owned()).spawn(run);
        let thread = thread.map_err(Error::start("start a thread"))?;
        Ok(Recorder { files, thread })
    }
}

impl Recorder {
    /// Completes the files, after the end of the endpoint. Returns the packets of the capture, if
    /// there is one.
    ///
    /// # Errors
    /// If a file could not be written.
    pub fn finish(self) -> Result<Option<Captured>, Error> {
        let captured = self.files.lock().unwrap_or_else(PoisonError::into_inner).finish();
        self.thread.join().map_err(|_| Error::Thread("recording"))??;
        Ok(captured)
    }
}

impl Files {
    fn new(of: &Recorded, disk: Disk, secrets: Option<KeyLogSink>) -> Files {
        let Recorded { title, flow, .. } = of;
        let (host, vantage) = match of.is_server {
            true => ("sender", Vantage::Server),
            false => ("receiver", Vantage::Client),
        };
        let packets = of.pcapng.as_ref().zip(secrets);
        let packets = packets
            .map(|(prefix, secrets)| DatagramFile::new(&disk, prefix, title, flow, host, secrets));
        let events = of.qlog.clone().map(|prefix| {
            let logs = ConnectionLogs::new(&disk, prefix, title.clone(), flow, vantage, host);
            if of.is_server { logs } else { logs.named_after_flow() }
        });
        Files { disk, packets, events }
    }

    fn finish(&mut self) -> Option<Captured> {
        let captured = self.packets.as_mut().map(DatagramFile::finish);
        self.events.iter_mut().for_each(ConnectionLogs::finish);
        self.disk.finish();
        captured
    }
}

impl Observer for Files {
    fn begun(&mut self, epoch_ns: u64) {
        self.packets.iter_mut().for_each(|file| file.begun(epoch_ns));
        self.events.iter_mut().for_each(|logs| logs.begun(epoch_ns));
    }

    fn follows_connections(&self) -> bool {
        self.events.is_some()
    }

    fn opened(&mut self, now: Instant, connection: u64, ends: [SocketAddr; 2]) {
        self.events.iter_mut().for_each(|logs| logs.opened(now, connection, ends));
    }

    fn event(&mut self, now: Instant, connection: u64, event: &StackEvent) {
        self.events.iter_mut().for_each(|logs| logs.event(now, connection, event));
    }

    fn ended(&mut self, connection: u64) {
        self.events.iter_mut().for_each(|logs| logs.ended(connection));
    }

    fn datagram(&mut self, passing: &Passing<'_>) {
        self.packets.iter_mut().for_each(|file| file.datagram(passing));
    }
}
