//! The event files of the connections of a QUIC endpoint: one for each, of the endpoint's end.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use sojourn_quic_udp::Observer;
use sojourn_sim::{Names, StackLog, sqlog_name};
use sojourn_trace::export::qlog::Vantage;
use sojourn_transport::StackEvent;
use sojourn_units::Instant;

use super::disk::{Disk, Target};

/// Events of an attempt that wait for its name. A handshake has a few dozen.
const MOST_EVENTS: usize = 1000;

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
    /// Whether no connection has the name of the flow yet, and one shall have it.
    is_name_free: bool,
    /// Time 0 of the files if it is not that of the endpoints.
    fixed_epoch_ns: Option<u64>,
    epoch_ns: u64,
    /// Connections so far, of all endpoints.
    count: usize,
    /// Open connections that have their names, and those that have none yet.
    files: BTreeMap<u64, File>,
    attempts: BTreeMap<u64, Attempt>,
    /// The last connection that ended before it had a name.
    failed: Option<Attempt>,
}

struct File {
    target: Target,
    log: StackLog,
}

/// The begin of a connection, before its file has a name.
struct Attempt {
    /// Its place among all connections, from 1 on.
    number: usize,
    epoch_ns: u64,
    opened: Instant,
    ends: [SocketAddr; 2],
    events: Vec<(Instant, StackEvent)>,
}

impl Attempt {
    /// Notes an event. Returns whether the handshake is complete, which a 1-RTT packet shows, or the
    /// attempt has as many events as it may.
    fn note(&mut self, now: Instant, event: &StackEvent) -> bool {
        self.events.push((now, event.clone()));
        matches!(event, StackEvent::Packet { kind: "1RTT", .. }) || self.events.len() == MOST_EVENTS
    }
}

impl ConnectionLogs {
    /// Connections called `FLOW-1`, `FLOW-2` and so on.
    pub(super) fn new(
        disk: &Disk,
        prefix: String,
        title: String,
        flow: &str,
        vantage: Vantage,
        host: &'static str,
    ) -> ConnectionLogs {
        ConnectionLogs {
            disk: disk.clone(),
            prefix,
            title,
            flow: flow.to_owned(),
            vantage,
            host,
            place: 0,
            is_name_free: false,
            fixed_epoch_ns: None,
            epoch_ns: 0,
            count: 0,
            files: BTreeMap::new(),
            attempts: BTreeMap::new(),
            failed: None,
        }
    }

    /// Gives the name of the flow to the first connection that completes its handshake, or else to
    /// the last one.
    pub(super) fn named_after_flow(mut self) -> ConnectionLogs {
        self.is_name_free = true;
        self
    }

    /// The one connection of the flow at this place. Its times count from `epoch_ns`, in nanoseconds
    /// since 1970.
    pub(super) fn of_flow(mut self, place: usize, epoch_ns: u64) -> ConnectionLogs {
        (self.place, self.fixed_epoch_ns) = (place, Some(epoch_ns));
        self.named_after_flow()
    }

    /// Completes all files.
    pub(super) fn finish(&mut self) {
        self.end_all();
        if let Some(attempt) = self.failed.take() {
            self.complete(attempt);
        }
    }

    /// Ends the connections that are still open.
    fn end_all(&mut self) {
        for mut file in std::mem::take(&mut self.files).into_values() {
            self.disk.complete(&file.target, file.log.log());
        }
        for attempt in std::mem::take(&mut self.attempts).into_values() {
            self.give_up(attempt);
        }
    }

    /// An attempt has failed. The one before keeps its number.
    fn give_up(&mut self, attempt: Attempt) {
        if let Some(earlier) = self.failed.replace(attempt) {
            self.number(earlier);
        }
    }

    /// Writes the file of an attempt, with the name of the flow if that is free.
    fn complete(&mut self, attempt: Attempt) {
        let mut file = self.named(attempt);
        self.disk.complete(&file.target, file.log.log());
    }

    /// Writes the file of an attempt, with its number.
    fn number(&self, attempt: Attempt) {
        let mut file = self.file(&format!("{}-{}", self.flow, attempt.number), attempt);
        self.disk.flush(&file.target, file.log.log());
    }

    /// The file of a connection, with the name of the flow if that is free.
    fn named(&mut self, attempt: Attempt) -> File {
        match std::mem::take(&mut self.is_name_free) {
            true => self.file(&self.flow, attempt),
            false => self.file(&format!("{}-{}", self.flow, attempt.number), attempt),
        }
    }

    fn file(&self, called: &str, attempt: Attempt) -> File {
        let names = Names {
            title: &self.title,
            description: "the QUIC stack noq over UDP",
            connection: called,
            group: called,
        };
        let Attempt { epoch_ns, opened, ends, events, .. } = attempt;
        let mut log = StackLog::new(&names, self.vantage, epoch_ns, opened, ends);
        events.iter().for_each(|(now, event)| log.event(*now, event));
        let name = sqlog_name(&self.prefix, called, self.place, self.host);
        File { target: Target::shared(name), log }
    }
}

impl Observer for ConnectionLogs {
    fn begun(&mut self, epoch_ns: u64) {
        self.end_all();
        self.epoch_ns = self.fixed_epoch_ns.unwrap_or(epoch_ns);
    }

    fn follows_connections(&self) -> bool {
        true
    }

    fn opened(&mut self, now: Instant, connection: u64, ends: [SocketAddr; 2]) {
        self.count += 1;
        let (number, epoch_ns) = (self.count, self.epoch_ns);
        let attempt = Attempt { number, epoch_ns, opened: now, ends, events: Vec::new() };
        if self.is_name_free {
            self.attempts.insert(connection, attempt);
        } else {
            let file = self.named(attempt);
            self.files.insert(connection, file);
        }
    }

    fn event(&mut self, now: Instant, connection: u64, event: &StackEvent) {
        if let Some(file) = self.files.get_mut(&connection) {
            file.log.event(now, event);
            self.disk.hand_on(&file.target, file.log.log());
        } else if let Some(attempt) = self.attempts.get_mut(&connection)
            && attempt.note(now, event)
            && let Some(attempt) = self.attempts.remove(&connection)
        {
            let file = self.named(attempt);
            self.files.insert(connection, file);
        }
    }

    fn ended(&mut self, connection: u64) {
        if let Some(mut file) = self.files.remove(&connection) {
            self.disk.flush(&file.target, file.log.log());
        } else if let Some(attempt) = self.attempts.remove(&connection) {
            self.give_up(attempt);
        }
    }
}

impl Drop for ConnectionLogs {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::observers::logs::disk;

    const ENDS: [SocketAddr; 2] =
        [SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1); 2];

    fn packet(kind: &'static str) -> StackEvent {
        let frames = "[]".to_owned();
        StackEvent::Packet { is_sent: true, kind, number: 0, length: 1200, frames }
    }

    /// The names of the files of a client with one endpoint for each address: each sends a packet of
    /// every kind that is named.
    fn names(test: &str, endpoints: &[&[&'static str]]) -> Vec<String> {
        let folder = std::env::temp_dir().join(format!("sojourn-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is a folder for temporary files");
        let prefix = folder.join("run").to_str().expect("it is UTF-8").to_owned();
        let (disk, writer) = disk::channel();
        let title = "it".to_owned();
        let logs = ConnectionLogs::new(&disk, prefix, title, "file", Vantage::Client, "receiver");
        let mut logs = logs.named_after_flow();
        for kinds in endpoints {
            logs.begun(0);
            logs.opened(Instant(0), 1, ENDS);
            kinds.iter().for_each(|kind| logs.event(Instant(1), 1, &packet(kind)));
            logs.ended(1);
        }
        logs.finish();
        disk.finish();
        writer.run(|| {}).expect("there is room");
        let entries = std::fs::read_dir(&folder).expect("it was created here");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("it is read").file_name().into_string().expect("it is UTF-8")
        };
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        std::fs::remove_dir_all(folder).expect("it was created here");
        names
    }

    #[test]
    fn the_download_has_the_name_of_the_flow_and_attempts_have_numbers() {
        let found = names("attempts", &[&["initial"], &["initial", "1RTT"]]);
        assert_eq!(found, ["run.file-1.receiver.sqlog", "run.file.receiver.sqlog"]);
        let found = names("failed", &[&["initial"], &["initial"]]);
        assert_eq!(found, ["run.file-1.receiver.sqlog", "run.file.receiver.sqlog"]);
        assert_eq!(names("first", &[&["initial", "1RTT"]]), ["run.file.receiver.sqlog"]);
    }
}
