//! Files packed with gzip or zstd.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use crate::capture::Unpacked;

/// The content of a file, unpacked if it is compressed.
pub(super) fn unpacked<'a>(from: impl Read + 'a) -> Box<dyn BufRead + 'a> {
    Box::new(BufReader::new(Unpacking { file: Unpacked::new(from), fault: None }))
}

/// A file whose damage is repeated as an error about the data, because decoders differ in that.
struct Unpacking<R: Read> {
    file: Unpacked<R>,
    fault: Option<String>,
}

impl<R: Read> Read for Unpacking<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(fault) = &self.fault {
            return Err(damaged(fault));
        }
        let done = self.file.read(into);
        done.map_err(|error| match self.file.damage() {
            Some(damage) => damaged(self.fault.insert(damage.to_string())),
            None => error,
        })
    }
}

fn damaged(fault: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, fault.to_owned())
}

/// The name of a trace from that of its file: without `.sqlog`, `.qlog.gz` and the like.
pub fn trace_name(file: &str) -> &str {
    let packed = [".gz", ".zst"].iter().find_map(|end| file.strip_suffix(end));
    let name = packed.unwrap_or(file);
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}
