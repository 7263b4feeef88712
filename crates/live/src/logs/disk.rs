//! Files that a thread of their own writes, so that threads with deadlines never wait for the disk.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use sojourn_trace::export::PcapNg;
use sojourn_trace::export::qlog::Qlog;

use crate::Error;
use crate::capture::name_of;

/// Bytes that a file collects before they are written.
const PIECE: usize = 1 << 15;
/// Pieces that wait for the disk at most: 16 MB.
const PIECES: usize = 512;

/// A part of a file; `None` for the end.
type Piece = Option<(Arc<str>, Vec<u8>)>;

/// The giving end, for one thread. A clone gives to the same writer.
#[derive(Clone)]
pub(crate) struct Disk {
    pieces: SyncSender<Piece>,
    is_late: Arc<AtomicBool>,
}

/// The writing end.
pub(crate) struct DiskWriter {
    pieces: Receiver<Piece>,
    /// A piece had no room.
    is_late: Arc<AtomicBool>,
}

/// Both ends.
pub(super) fn channel() -> (Disk, DiskWriter) {
    let (pieces, taken) = sync_channel(PIECES);
    let is_late = Arc::new(AtomicBool::new(false));
    (Disk { pieces, is_late: Arc::clone(&is_late) }, DiskWriter { pieces: taken, is_late })
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
    pub(super) fn hand_on(&self, name: &Arc<str>, file: &mut impl Buffer) {
        if file.len() >= PIECE {
            self.flush(name, file);
        }
    }

    /// Appends the bytes of a file.
    pub(super) fn flush(&self, name: &Arc<str>, file: &mut impl Buffer) {
        if file.len() > 0 {
            self.append(name, file.take_all());
        }
    }

    /// Appends to the file of this name. A writer that has failed takes no more.
    pub(super) fn append(&self, name: &Arc<str>, bytes: Vec<u8>) {
        if let Err(TrySendError::Full(_)) = self.pieces.try_send(Some((Arc::clone(name), bytes))) {
            self.is_late.store(true, Ordering::Relaxed);
        }
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
            let late = || io::Error::other("the disk is slower than the events of the connections");
            let done = append(&path, &bytes);
            let done =
                if self.is_late.load(Ordering::Relaxed) { done.and(Err(late())) } else { done };
            done.map_err(|error| Error::Capture { file: name_of(&path), error })?;
        }
        Ok(())
    }
}

fn append(path: &str, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_too_slow_ends_the_files_with_the_reason() {
        let (disk, writer) = channel();
        let name = std::env::temp_dir().join(format!("sojourn-late-{}", std::process::id()));
        let file: Arc<str> = name.to_str().expect("it is UTF-8").into();
        (0..=PIECES).for_each(|_| disk.append(&file, vec![0]));
        let error = writer.run().expect_err("a piece is missing").to_string();
        std::fs::remove_file(name).expect("it was written");
        assert!(
            error.contains("slower than the events") && error.contains("another disk"),
            "{error}"
        );
        disk.append(&file, vec![0]);
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
