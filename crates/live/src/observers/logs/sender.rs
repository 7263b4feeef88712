//! The event file of the sender of one connection.

use std::net::SocketAddr;

use sojourn_sim::SenderLog;
use sojourn_transport::{Ack, Config, Data, LossCause, Vitals};
use sojourn_udp::io::Observer;
use sojourn_units::{Duration, Instant};

use super::disk::{Disk, Target};

/// The file, which is complete once this is dropped.
pub(crate) struct SenderFile {
    target: Target,
    log: SenderLog,
    disk: Disk,
}

impl SenderFile {
    pub(super) fn new(name: String, log: SenderLog, disk: &Disk) -> SenderFile {
        SenderFile { target: Target::shared(name), log, disk: disk.clone() }
    }

    /// The connection begins between these addresses: the sender's, and the receiver's.
    pub(crate) fn started(&mut self, now: Instant, ends: [SocketAddr; 2]) {
        self.log.started(now, ends);
    }

    /// The state of the sender.
    pub(crate) fn vitals(&mut self, now: Instant, vitals: &Vitals) {
        self.log.vitals(now, vitals);
        self.hand_on();
    }

    fn hand_on(&mut self) {
        self.disk.hand_on(&self.target, self.log.log());
    }
}

impl Drop for SenderFile {
    fn drop(&mut self) {
        self.disk.complete(&self.target, self.log.log());
    }
}

/// Writes the events of a sender of Sojourn's transport, if they are wanted.
pub(crate) struct Logger(Option<SenderFile>);

impl Logger {
    /// The events of a connection that opens between these addresses.
    pub(crate) fn new(
        mut file: Option<SenderFile>,
        opens: Instant,
        ends: [SocketAddr; 2],
        transport: &Config,
    ) -> Logger {
        if let Some(file) = &mut file {
            file.started(opens, ends);
            file.log.parameters(opens, transport);
        }
        Logger(file)
    }
}

impl Observer for Logger {
    fn follows_state(&self) -> bool {
        self.0.is_some()
    }

    fn sent(&mut self, at: Instant, data: &Data) {
        if let Some(file) = &mut self.0 {
            file.log.note(data);
            file.log.sent(at, data);
            file.hand_on();
        }
    }

    fn acked(&mut self, now: Instant, ack: &Ack, _: Option<Duration>) {
        if let Some(file) = &mut self.0 {
            file.log.heard(now, ack);
            file.hand_on();
        }
    }

    fn lost(&mut self, now: Instant, number: u64, cause: LossCause) {
        if let Some(file) = &mut self.0 {
            file.log.lost(now, number, cause);
        }
    }

    fn vitals(&mut self, now: Instant, vitals: &Vitals) {
        if let Some(file) = &mut self.0 {
            file.vitals(now, vitals);
        }
    }
}
