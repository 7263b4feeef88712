//! Files that a thread of their own writes, so that threads with deadlines never wait for the disk.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel as endless};

use sojourn_trace::export::PcapNg;
use sojourn_trace::export::qlog::Qlog;

use crate::error::Error;
use crate::observers::capture::name_of;

/// Bytes that a file collects before they are written.
const PIECE: usize = 1 << 15;
/// Bytes of all files together that may wait for the disk: a few seconds of the events of 1 Gbit/s.
const MOST_WAITING: usize = 1 << 26;

/// The path of a file, and its readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    path: Arc<str>,
    is_secret: bool,
}

impl Target {
    /// A file with the permissions of the process's umask.
    pub(super) fn shared(path: impl Into<Arc<str>>) -> Target {
        Target { path: path.into(), is_secret: false }
    }

    /// A file with TLS secrets, which its owner alone can read.
    pub(super) fn secret(path: impl Into<Arc<str>>) -> Target {
        Target { path: path.into(), is_secret: true }
    }

    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mode = if self.is_secret { 0o600 } else { 0o666 };
        let mut open = OpenOptions::new();
        open.create(true).append(true).mode(mode).open(&*self.path)?.write_all(bytes)
    }
}

/// A part of a file; `None` for the end.
type Piece = Option<(Target, Vec<u8>)>;

/// The giving end, for one thread. A clone gives to the same writer.
#[derive(Clone)]
pub(crate) struct Disk {
    pieces: Sender<Piece>,
    backlog: Arc<Backlog>,
}

/// The writing end.
pub(crate) struct DiskWriter {
    pieces: Receiver<Piece>,
    backlog: Arc<Backlog>,
}

/// The bytes on their way to the disk.
#[derive(Default)]
struct Backlog {
    waiting: AtomicUsize,
    /// More bytes had to wait than may.
    is_late: AtomicBool,
    /// A file could not be written.
    has_failed: AtomicBool,
    /// Bytes that were given up since the writer was late or had failed.
    dropped: AtomicU64,
}

/// Both ends.
pub(super) fn channel() -> (Disk, DiskWriter) {
    let (pieces, taken) = endless();
    let backlog = Arc::<Backlog>::default();
    (Disk { pieces, backlog: Arc::clone(&backlog) }, DiskWriter { pieces: taken, backlog })
}

/// A file in memory whose bytes are taken in pieces.
pub(super) trait Buffer {
    fn len(&self) -> usize;
    fn take_all(&mut self) -> Vec<u8>;
}

impl Buffer for Qlog {
    fn len(&self) -> usize {
        Qlog::len(self)
    }

    fn take_all(&mut self) -> Vec<u8> {
        self.take(<[u8]>::to_vec)
    }
}

impl Buffer for PcapNg {
    fn len(&self) -> usize {
        PcapNg::len(self)
    }

    fn take_all(&mut self) -> Vec<u8> {
        self.take(<[u8]>::to_vec)
    }
}

impl Disk {
    /// Appends the bytes of a file, if there are enough.
    pub(super) fn hand_on(&self, target: &Target, file: &mut impl Buffer) {
        if file.len() >= PIECE {
            self.flush(target, file);
        }
    }

    /// Whether so many bytes wait that a file should leave something out.
    pub(super) fn is_behind(&self) -> bool {
        self.backlog.has_ended() || self.backlog.waiting() > MOST_WAITING / 2
    }

    /// Appends the bytes of a file.
    pub(super) fn flush(&self, target: &Target, file: &mut impl Buffer) {
        if file.len() > 0 {
            self.append(target, file.take_all());
        }
    }

    /// Appends to a file. If more bytes wait than may, the writer fails, and all later bytes are
    /// dropped.
    pub(super) fn append(&self, target: &Target, bytes: Vec<u8>) {
        if self.backlog.waiting() + bytes.len() > MOST_WAITING {
            self.backlog.is_late.store(true, Ordering::Relaxed);
        }
        self.give(target, bytes);
    }

    /// Appends the last bytes of a file at the end of all files, when no more follow, so that any
    /// number of files is complete.
    pub(super) fn complete(&self, target: &Target, file: &mut impl Buffer) {
        if file.len() > 0 {
            self.give(target, file.take_all());
        }
    }

    fn give(&self, target: &Target, bytes: Vec<u8>) {
        if self.backlog.has_ended() {
            self.backlog.drop_bytes(&bytes);
            return;
        }
        self.backlog.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        // Without a writer the run has failed before it began.
        let _ = self.pieces.send(Some((target.clone(), bytes)));
    }

    /// Lets the writer end once it has written all pieces.
    pub(super) fn finish(&self) {
        let _ = self.pieces.send(None);
    }
}

impl DiskWriter {
    /// Writes until the end. A file is open only while it grows, since there may be more files than
    /// a process can hold open. After a fault it calls `stop`, and drops the rest.
    ///
    /// # Errors
    /// If a file cannot be written, or not as fast as it grows. The error counts the dropped bytes.
    pub(crate) fn run(self, stop: impl FnOnce()) -> Result<(), Error> {
        let Err((target, error)) = self.write_all() else { return Ok(()) };
        self.backlog.has_failed.store(true, Ordering::Relaxed);
        stop();
        while let Ok(Some((_, bytes))) = self.pieces.recv() {
            self.backlog.drop_bytes(&bytes);
        }
        Err(Error::Capture { file: name_of(&target.path), error: self.backlog.counted(error) })
    }

    fn write_all(&self) -> Result<(), (Target, io::Error)> {
        while let Ok(Some((target, bytes))) = self.pieces.recv() {
            let done = target.append(&bytes).and_then(|()| self.backlog.require_in_time());
            done.map_err(|error| (target, error))?;
            self.backlog.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Backlog {
    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether the files cannot become complete.
    fn has_ended(&self) -> bool {
        self.is_late.load(Ordering::Relaxed) || self.has_failed.load(Ordering::Relaxed)
    }

    fn require_in_time(&self) -> io::Result<()> {
        let late = || io::Error::other("the disk is slower than the events of the connections");
        if self.is_late.load(Ordering::Relaxed) { Err(late()) } else { Ok(()) }
    }

    fn drop_bytes(&self, bytes: &[u8]) {
        self.dropped.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }

    /// The error with the bytes that were dropped after it.
    fn counted(&self, error: io::Error) -> io::Error {
        match self.dropped.load(Ordering::Relaxed) {
            0 => error,
            dropped => {
                let words = format!("{error}; the files lack {dropped} bytes that followed");
                io::Error::new(error.kind(), words)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{metadata, remove_file};
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::mpsc::channel as signal;
    use std::thread;

    use super::*;

    /// A file of zeros.
    struct Zeros(usize);

    impl Buffer for Zeros {
        fn len(&self) -> usize {
            self.0
        }

        fn take_all(&mut self) -> Vec<u8> {
            vec![0; std::mem::take(&mut self.0)]
        }
    }

    fn place(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("sojourn-{name}-{}", std::process::id()))
    }

    fn text(place: &std::path::Path) -> &str {
        place.to_str().expect("it is UTF-8")
    }

    /// One limit for all files: the third file, whose bytes are few, is over it.
    #[test]
    fn a_disk_that_is_too_slow_ends_the_files_with_the_reason() {
        let (disk, writer) = channel();
        let name = place("late");
        let target = Target::shared(text(&name));
        disk.append(&target, vec![0]);
        assert!(!disk.is_behind());
        disk.append(&Target::shared("/dev/null/other"), vec![0; MOST_WAITING - 1]);
        assert!(disk.is_behind());
        let mut file = Zeros(PIECE - 1);
        disk.hand_on(&target, &mut file);
        assert_eq!(file.0, PIECE - 1, "the file collects its bytes");
        for _ in 0..2 {
            file.0 = PIECE;
            disk.hand_on(&target, &mut file);
            assert_eq!(file.0, 0, "the bytes are dropped");
        }
        assert_eq!(disk.backlog.waiting(), MOST_WAITING);
        disk.finish();
        let mut is_stopped = false;
        let error = writer.run(|| is_stopped = true).expect_err("too much waits").to_string();
        remove_file(name).expect("it was written");
        let lack = format!("lack {} bytes that followed", MOST_WAITING - 1 + 2 * PIECE);
        for words in ["slower than the events", &lack, "another disk"] {
            assert!(error.contains(words), "{error}");
        }
        assert!(is_stopped);
    }

    #[test]
    fn the_ends_of_any_number_of_files_are_complete() {
        let (disk, _writer) = channel();
        for _ in 0..3 {
            disk.complete(&Target::shared("it"), &mut Zeros(MOST_WAITING / 2));
        }
        assert!(!disk.backlog.has_ended());
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_and_the_bytes_after_it_are_dropped() {
        let (disk, writer) = channel();
        let (stopped, is_stopped) = signal();
        let thread =
            thread::spawn(move || writer.run(|| stopped.send(()).expect("the test waits")));
        let target = Target::shared("/dev/null/run.sqlog");
        disk.append(&target, vec![0]);
        is_stopped.recv().expect("the writer fails");
        let before = disk.backlog.waiting();
        disk.append(&target, vec![0; 10]);
        assert_eq!(disk.backlog.waiting(), before, "a failed writer takes no more");
        disk.finish();
        let error = thread.join().expect("no panic").expect_err("no folder").to_string();
        let begin = "cannot write the capture run.sqlog: Not a directory";
        assert!(error.starts_with(begin) && error.contains("lack 10 bytes"), "{error}");
    }

    #[test]
    fn secrets_are_for_their_owner() {
        let (disk, writer) = channel();
        let name = place("secret");
        disk.append(&Target::secret(text(&name)), vec![0]);
        disk.finish();
        writer.run(|| {}).expect("there is room");
        let mode = metadata(&name).expect("it was written").permissions().mode();
        remove_file(name).expect("it was written");
        assert_eq!(mode & 0o777, 0o600);
    }
}
