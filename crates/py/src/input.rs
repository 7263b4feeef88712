//! Reads regular files as a whole, up to a size limit.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Maximum size of a trace in bytes: ten hours of 100 Mbit/s. `inputs.TRACE_LIMIT` in Python.
const LIMIT: u64 = 128 << 20;

/// The text of a file, or the reason for the failure. Reads regular files only: a pipe without a
/// writer would block for ever, and /dev/zero has no end.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let found = path.metadata().map_err(|error| error.to_string())?;
    if found.is_dir() {
        return Err("a folder, not a file".to_owned());
    }
    if !found.is_file() {
        return Err("a pipe or a device, not a file; save it to a file".to_owned());
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LIMIT {
        return Err(format!("longer than the {} MiB that a trace may have", LIMIT >> 20));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("not UTF-8 text (byte {})", error.utf8_error().valid_up_to()))
}
