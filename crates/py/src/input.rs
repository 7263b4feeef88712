//! Reads regular files as a whole, up to a size limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a trace in bytes: ten hours of 100 Mbit/s. `inputs.TRACE_LIMIT` in Python.
const LIMIT: u64 = 128 << 20;

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("a folder, not a file")]
    Folder,
    #[error("a pipe or a device, not a file; save it to a file")]
    Device,
    #[error("longer than the {} MiB that a trace may have", LIMIT >> 20)]
    TooLong,
    #[error("not UTF-8 text (byte {0})")]
    NotText(usize),
}

/// The text of a file. Reads regular files only: a pipe without a writer would block for ever, and
/// /dev/zero has no end.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let found = path.metadata()?;
    if found.is_dir() {
        return Err(io::Error::other(Unusable::Folder));
    }
    if !found.is_file() {
        return Err(io::Error::other(Unusable::Device));
    }
    if found.len() > LIMIT {
        return Err(io::Error::other(Unusable::TooLong));
    }
    // No byte beyond its size: files of /proc, such as kmsg, have none, and reading them may wait.
    let mut bytes = Vec::new();
    File::open(path)?.take(found.len()).read_to_end(&mut bytes)?;
    String::from_utf8(bytes)
        .map_err(|error| io::Error::other(Unusable::NotText(error.utf8_error().valid_up_to())))
}
