//! Files that a thread of their own writes, so that threads with deadlines never wait for the disk.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel as endless};

use sojourn_trace::export::PcapNg;
use sojourn_trace::export::qlog::Qlog;

use crate::Error;
use crate::capture::name_of;

/// Bytes that a file collects before they are written.
const PIECE: usize = 1 << 15;
/// Bytes that may wait for the disk.
const MOST_WAITING: usize = 1 << 24;
/// Bytes that a file keeps while those before them wait.
const MOST_KEPT: usize = 1 << 22;

/// A part of a file; `None` for the end.
type Piece = Option<(Arc<str>, Vec<u8>)>;

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
    /// A file has kept more than it may.
    is_late: AtomicBool,
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
    /// Appends the bytes of a file, if there are enough. While the disk is slow, the file keeps them;
    /// the writer fails if it has to keep too many.
    pub(super) fn hand_on(&self, name: &Arc<str>, file: &mut impl Buffer) {
        if file.len() < PIECE {
            return;
        }
        if self.backlog.waiting.load(Ordering::Relaxed) < MOST_WAITING {
            self.flush(name, file);
        } else if file.len() > MOST_KEPT {
            self.backlog.is_late.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a file keeps so many bytes that it should leave something out.
    pub(super) fn is_behind(&self, file: &impl Buffer) -> bool {
        file.len() > MOST_KEPT / 2
    }

    /// Appends the bytes of a file.
    pub(super) fn flush(&self, name: &Arc<str>, file: &mut impl Buffer) {
        if file.len() > 0 {
            self.append(name, file.take_all());
        }
    }

    /// Appends to the file of this name. A writer that has failed takes no more.
    pub(super) fn append(&self, name: &Arc<str>, bytes: Vec<u8>) {
        self.backlog.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        let _ = self.pieces.send(Some((Arc::clone(name), bytes)));
    }

    /// Lets the writer end once it has written all pieces.
    pub(super) fn finish(&self) {
        // It may have failed.
        let _ = self.pieces.send(None);
    }
}

impl DiskWriter {
    /// Writes until the end. A file is open only while it grows, since there may be more files than
    /// a process can hold open.
    ///
    /// # Errors
    /// If a file cannot be written, or not as fast as it grows.
    pub(crate) fn run(self) -> Result<(), Error> {
        while let Ok(Some((path, bytes))) = self.pieces.recv() {
            let done = append(&path, &bytes).and_then(|()| self.backlog.require_in_time());
            done.map_err(|error| Error::Capture { file: name_of(&path), error })?;
            self.backlog.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Backlog {
    fn require_in_time(&self) -> io::Result<()> {
        let late = || io::Error::other("the disk is slower than the events of the connections");
        if self.is_late.load(Ordering::Relaxed) { Err(late()) } else { Ok(()) }
    }
}

fn append(path: &str, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_disk_that_is_too_slow_ends_the_files_with_the_reason() {
        let (disk, writer) = channel();
        let name = std::env::temp_dir().join(format!("sojourn-late-{}", std::process::id()));
        let path: Arc<str> = name.to_str().expect("it is UTF-8").into();
        let mut file = Zeros(MOST_WAITING);
        disk.hand_on(&path, &mut file);
        assert_eq!(file.0, 0);
        file.0 = MOST_KEPT;
        disk.hand_on(&path, &mut file);
        assert_eq!((file.0, disk.is_behind(&file)), (MOST_KEPT, true), "the file keeps its bytes");
        file.0 += 1;
        disk.hand_on(&path, &mut file);
        let error = writer.run().expect_err("a file has kept too much").to_string();
        std::fs::remove_file(name).expect("it was written");
        assert!(
            error.contains("slower than the events") && error.contains("another disk"),
            "{error}"
        );
        disk.flush(&path, &mut file);
        disk.finish();
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let (disk, writer) = channel();
        disk.append(&"/dev/null/run.sqlog".into(), vec![0]);
        disk.finish();
        let error = writer.run().expect_err("no folder").to_string();
        assert!(
            error.starts_with("cannot write the capture run.sqlog: Not a directory"),
            "{error}"
        );
    }
}
