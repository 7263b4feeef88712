//! The capture of a run. The bottleneck copies the beginning of each packet into a batch, and
//! another thread writes the batches as pcapng. The bottleneck never waits for that thread: without
//! a free batch, it counts the packet as missed.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use sojourn_quic::endpoint::KeyLogSink;
use sojourn_scenario::{Flow, Scenario};
use sojourn_trace::export::{Direction, Interface, PcapNg};
use sojourn_units::Instant;

use crate::error::Error;
use crate::machine::Side;

/// Bytes kept of a packet: the headers of IP and TCP, with timestamps and two SACK blocks in IPv6.
/// Packets of a QUIC stack are kept whole, since a part cannot be decrypted.
const SNAP: usize = 96;
/// Greatest packet.
const WHOLE: usize = 1 << 16;
/// Packets of a batch, if they are cut.
const PACKETS: usize = 2048;
/// Bytes of a batch.
const BYTES: usize = PACKETS * SNAP;
/// Batches of a run, 21 MB together: half a second of 1 Gbit/s in each direction if packets are cut,
/// a tenth if not.
const BATCHES: usize = 64;
/// Bytes collected before they are written.
const PIECE: usize = 1 << 18;

/// The packets of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Packets in the files. One that passes both of its hosts counts twice.
    pub packets: u64,
    /// Packets that the files lack, because the disk was too slow.
    pub missed: u64,
}

/// A packet at one of its hosts.
#[derive(Clone, Copy)]
struct Head {
    at: Instant,
    flow: u32,
    host: Side,
    direction: Direction,
    /// Size of the packet, and the bytes kept of it.
    size: u32,
    kept: usize,
}

/// Packets on their way to the writer.
struct Batch {
    heads: Vec<Head>,
    bytes: Vec<u8>,
}

/// The bottleneck's end of a capture.
pub(crate) struct Capture {
    batch: Option<Batch>,
    full: SyncSender<Batch>,
    free: Receiver<Batch>,
    /// Packets at the hosts of each side and flow: all, and those that were missed.
    counts: [Vec<[u64; 2]>; 2],
    /// Bytes kept of the packets of each flow.
    snaps: Vec<usize>,
    has_failed: bool,
}

/// The writer's end of a capture.
pub(crate) struct Writer {
    full: Receiver<Batch>,
    free: SyncSender<Batch>,
    files: [HostFile; 2],
    secrets: Secrets,
}

/// The TLS secrets of QUIC stacks, and the file that has them alone.
/// Others may read it: the connections of a run carry generated data.
struct Secrets {
    new: KeyLogSink,
    path: String,
    file: Option<File>,
}

/// The packets at the hosts of one side.
struct HostFile {
    name: String,
    file: File,
    out: PcapNg,
    /// Interfaces by flow.
    hosts: Vec<Interface>,
}

/// Opens the files of a capture: `PREFIX.sender.pcapng` and `PREFIX.receiver.pcapng`, as those of a
/// simulation.
pub(crate) fn open(scenario: &Scenario, prefix: &str) -> Result<(Capture, Writer), Error> {
    let files = [
        HostFile::create(scenario, prefix, Side::Senders)?,
        HostFile::create(scenario, prefix, Side::Receivers)?,
    ];
    let (full, filled) = sync_channel(BATCHES);
    let (emptied, free) = sync_channel(BATCHES);
    for _ in 0..BATCHES {
        hand_on(&emptied, Batch::new());
    }
    let counts = [(); 2].map(|()| vec![[0; 2]; scenario.flows.len()]);
    let snaps = scenario.flows.iter().map(snap).collect();
    let capture = Capture { batch: None, full, free, counts, snaps, has_failed: false };
    let path = format!("{prefix}.keys.log");
    let secrets = Secrets { new: KeyLogSink::default(), path, file: None };
    Ok((capture, Writer { full: filled, free: emptied, files, secrets }))
}

/// Bytes kept of the packets of a flow.
fn snap(flow: &Flow) -> usize {
    if flow.stack.is_some() { WHOLE } else { SNAP }
}

/// Sends a batch. A channel holds all batches, so that it is never full. Returns whether the other
/// end still exists.
fn hand_on(to: &SyncSender<Batch>, batch: Batch) -> bool {
    to.try_send(batch).is_ok()
}

impl Batch {
    fn new() -> Batch {
        Batch { heads: Vec::with_capacity(PACKETS), bytes: Vec::with_capacity(BYTES + WHOLE) }
    }
}

impl Capture {
    /// A packet passes its sender or its receiver, a host of this side.
    pub(crate) fn packet(
        &mut self,
        at: Instant,
        flow: usize,
        host: Side,
        direction: Direction,
        packet: &[u8],
    ) {
        if self.batch.is_none() {
            self.batch = self.free.try_recv().ok();
        }
        let [passed, missed] = &mut self.counts[host as usize][flow];
        *passed += 1;
        let Some(batch) = &mut self.batch else {
            *missed += 1;
            return;
        };
        let kept = packet.len().min(self.snaps[flow]);
        let (flow, size) = (flow as u32, packet.len() as u32);
        batch.heads.push(Head { at, flow, host, direction, size, kept });
        batch.bytes.extend_from_slice(&packet[..kept]);
        if batch.heads.len() == PACKETS || batch.bytes.len() >= BYTES {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        if let Some(batch) = self.batch.take() {
            self.has_failed |= !hand_on(&self.full, batch);
        }
    }

    /// Whether the writer has ended early.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Hands on the last packets, and returns the counts.
    pub(crate) fn finish(mut self) -> Counts {
        self.hand_on();
        Counts(self.counts)
    }
}

/// The counts of a finished capture, by side and flow.
pub(crate) struct Counts([Vec<[u64; 2]>; 2]);

impl Counts {
    fn total(&self) -> Captured {
        let [passed, missed] = self
            .0
            .iter()
            .flatten()
            .fold([0; 2], |[passed, missed], each| [passed + each[0], missed + each[1]]);
        Captured { packets: passed - missed, missed }
    }
}

impl Writer {
    /// Takes the secrets of the flows.
    pub(crate) fn secrets(&self) -> KeyLogSink {
        self.secrets.new.clone()
    }

    /// Starts the thread that writes.
    pub(crate) fn start<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<ScopedJoinHandle<'scope, Result<Writer, Error>>, Error> {
        let thread = thread::Builder::new().name("capture".to_owned());
        let started = thread.spawn_scoped(scope, || self.run());
        started.map_err(Error::start("start the capture's thread"))
    }

    /// Writes the batches until the bottleneck ends.
    fn run(mut self) -> Result<Writer, Error> {
        while let Ok(mut batch) = self.full.recv() {
            // An end has the secrets of a packet before it sends the packet.
            self.add_secrets()?;
            let mut from = 0;
            for head in &batch.heads {
                let bytes = &batch.bytes[from..from + head.kept];
                from += head.kept;
                self.files[head.host as usize].packet(head, bytes)?;
            }
            batch.heads.clear();
            batch.bytes.clear();
            // The bottleneck may have ended.
            hand_on(&self.free, batch);
        }
        Ok(self)
    }

    /// Writes new secrets, before the packets that they decrypt.
    fn add_secrets(&mut self) -> Result<(), Error> {
        let lines = self.secrets.new.take();
        if lines.is_empty() {
            return Ok(());
        }
        self.files.iter_mut().for_each(|file| file.out.tls_secrets(&lines));
        self.secrets
            .append(&lines)
            .map_err(|error| Error::Capture { file: name_of(&self.secrets.path), error })
    }

    /// Writes the counts, and completes the files.
    pub(crate) fn finish(mut self, end: Instant, counts: &Counts) -> Result<Captured, Error> {
        for (file, counts) in self.files.iter_mut().zip(&counts.0) {
            for (host, [passed, missed]) in file.hosts.iter().zip(counts) {
                file.out.statistics(*host, end.0, *passed, *missed);
            }
            file.flush()?;
        }
        Ok(counts.total())
    }
}

impl Secrets {
    fn append(&mut self, lines: &str) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(&self.path)?),
        };
        file.write_all(lines.as_bytes())
    }
}

/// The name of a file in its folder.
pub(crate) fn name_of(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

impl HostFile {
    fn create(scenario: &Scenario, prefix: &str, side: Side) -> Result<HostFile, Error> {
        let ending = if side == Side::Senders { "sender" } else { "receiver" };
        let path = format!("{prefix}.{ending}.pcapng");
        let name = name_of(&path);
        let file = match File::create(&path) {
            Ok(file) => file,
            Err(error) => return Err(Error::Capture { file: name, error }),
        };
        let mut out = PcapNg::new(
            concat!("Sojourn ", env!("CARGO_PKG_VERSION")),
            &format!("{}: live, captured by the bottleneck", scenario.title),
        );
        let interface = |flow: &Flow| {
            let host = format!("{} {ending}", flow.name);
            let about = format!("{ending} of the data of {}", flow.name);
            out.interface_cut_to(snap(flow), &host, &about)
        };
        let hosts = scenario.flows.iter().map(interface).collect();
        Ok(HostFile { name, file, out, hosts })
    }

    fn packet(&mut self, head: &Head, bytes: &[u8]) -> Result<(), Error> {
        let host = self.hosts[head.flow as usize];
        self.out.cut_packet(host, head.at.0, head.direction, bytes, head.size);
        if self.out.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let written: io::Result<()> = self.out.take(|bytes| self.file.write_all(bytes));
        written.map_err(|error| Error::Capture { file: self.name.clone(), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_scenario::Document;

    fn scenario() -> Scenario {
        let text = "duration = \"1s\"\n[link.way]\nrate = \"1Mbit\"\n[flow.one]\ncontrol = \"cubic\"\n\
            path = [\"way\"]\n";
        let document = Document::from_toml("it.toml", text).expect("it is TOML");
        document.resolve(&|_| Err(io::Error::other("no files"))).expect("it is sound")
    }

    /// A writer that does not write: the bottleneck goes on, and counts what is missed.
    #[test]
    fn packets_beyond_all_batches_are_missed_and_counted() {
        let folder = std::env::temp_dir().join(format!("sojourn-capture-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is a folder for temporary files");
        let prefix = folder.join("run-1");
        let (mut capture, writer) =
            open(&scenario(), prefix.to_str().expect("it is UTF-8")).expect("they can be written");
        let all = (PACKETS * BATCHES) as u64;
        for number in 0..all + 5 {
            let (host, direction) = (Side::Receivers, Direction::Inbound);
            capture.packet(Instant(number), 0, host, direction, &[0x45; 200]);
        }
        let counts = capture.finish();
        let writer = writer.run().expect("there is room");
        let found = writer.finish(Instant(all), &counts).expect("there is room");
        assert_eq!(found, Captured { packets: all, missed: 5 });
        let size = |end| std::fs::metadata(folder.join(format!("run-1.{end}.pcapng")));
        let size = |end| size(end).expect("it was written").len();
        assert!(size("receiver") > all * SNAP as u64 && size("sender") < 1000);
        std::fs::remove_dir_all(folder).expect("it was created here");
    }
}
