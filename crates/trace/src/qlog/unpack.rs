//! Files packed with gzip or zstd.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// First bytes of a file of gzip (RFC 1952 section 2.3.1) and of zstd (RFC 8878 section 3.1.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The content of a file, unpacked if its first bytes are those of gzip or zstd. The decoders hold
/// one window of the content: 32 KiB, or what zstd's frame declares, of up to 100 MiB.
pub(super) fn unpacked<'a>(from: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut from = BufReader::new(from);
    let mut begin = Vec::new();
    from.by_ref().take(ZSTD.len() as u64).read_to_end(&mut begin)?;
    let is_gzip = begin.starts_with(&GZIP);
    let is_zstd = begin == ZSTD;
    let whole = io::Cursor::new(begin).chain(from);
    if is_gzip {
        return Ok(buffered(MultiGzDecoder::new(whole)));
    }
    if is_zstd {
        return Ok(buffered(StreamingDecoder::new(whole).map_err(damaged)?));
    }
    Ok(Box::new(whole))
}

fn buffered<'a>(decoder: impl Read + 'a) -> Box<dyn BufRead + 'a> {
    Box::new(BufReader::new(Unpacking { decoder, fault: None }))
}

/// A decoder, whose errors are about the data unless the system has a number for them. It repeats
/// an error, because decoders differ in that.
struct Unpacking<D> {
    decoder: D,
    fault: Option<String>,
}

impl<D: Read> Read for Unpacking<D> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(fault) = &self.fault {
            return Err(damaged(fault));
        }
        let done = self.decoder.read(into);
        done.map_err(|error| match error.raw_os_error() {
            Some(_) => error,
            None => damaged(self.fault.insert(error.to_string())),
        })
    }
}

fn damaged(error: impl ToString) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error.to_string())
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
