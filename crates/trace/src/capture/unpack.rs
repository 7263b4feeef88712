//! Compressed captures: gzip (RFC 1952) and zstd (RFC 8878), unpacked while they are read.
//!
//! Memory is bounded by the window of the format: 32 KiB of gzip, and up to
//! 128 MiB of zstd. A file that grows a thousandfold therefore takes time, which a
//! user can interrupt, and no memory.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use super::fault::Fault;
use super::zstd::{Frames, WindowTooLarge};

/// Bytes to unpack at a time. A decoder that meets damage drops those that it has just unpacked.
const CHUNK: usize = 1 << 12;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip, with any number of members.
    Gzip,
    /// zstd, with any number of frames.
    Zstd,
}

impl Compression {
    /// The name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }

    /// Detects the compression from the first four bytes.
    fn of(magic: &[u8]) -> Option<Compression> {
        match magic {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            // A frame of zstd, or one to skip (RFC 8878 sections 3.1.1 and 3.1.2).
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Compression::Zstd),
            _ => None,
        }
    }
}

/// A file from its first byte on, of which the first four may have been read already.
struct Whole<R> {
    from: R,
    magic: [u8; 4],
    /// Bytes of `magic` read from the file, and those of them read from here.
    read: usize,
    given: usize,
    /// Whether the file could not be read.
    failed: bool,
}

impl<R: Read> Whole<R> {
    /// Reads the first four bytes, or those of a shorter file.
    fn magic(&mut self) -> io::Result<&[u8]> {
        while self.read < self.magic.len() {
            match self.from.read(&mut self.magic[self.read..]) {
                Ok(0) => break,
                Ok(read) => self.read += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.magic[..self.read])
    }
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut magic = &self.magic[self.given..self.read];
        if magic.is_empty() {
            let read = self.from.read(into);
            let failed = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
            self.failed = read.as_ref().is_err_and(failed);
            return read;
        }
        let read = magic.read(into)?;
        self.given += read;
        Ok(read)
    }
}

enum Input<R: Read> {
    /// Not read yet, or without compression.
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
    Zstd(Box<Frames<Whole<R>>>),
}

/// A file as it was before its compression.
pub struct Unpacked<R: Read> {
    /// `None` after a failure to start.
    input: Option<Input<R>>,
    started: bool,
    compression: Option<Compression>,
    damage: Option<Fault>,
}

impl<R: Read> Unpacked<R> {
    /// The content of a file.
    pub fn new(from: R) -> Unpacked<R> {
        let whole = Whole { from, magic: [0; 4], read: 0, given: 0, failed: false };
        let input = Some(Input::Plain(whole));
        Unpacked { input, started: false, compression: None, damage: None }
    }

    /// The file's compression, once it has been read.
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// The reason why reading failed, if the compressed data are damaged.
    pub(crate) fn damage(&mut self) -> Option<Fault> {
        self.damage.take()
    }

    /// Reads the first bytes and chooses the decoder.
    #[cold]
    fn start(&mut self) -> io::Result<()> {
        if let Some(Input::Plain(whole)) = &mut self.input {
            self.compression = Compression::of(whole.magic()?);
        }
        self.started = true;
        self.input = match (self.compression, self.input.take()) {
            (Some(compression), Some(Input::Plain(whole))) => Some(decoder(compression, whole)),
            (_, input) => input,
        };
        Ok(())
    }
}

fn decoder<R: Read>(compression: Compression, whole: Whole<R>) -> Input<R> {
    match compression {
        Compression::Gzip => Input::Gzip(Box::new(MultiGzDecoder::new(whole))),
        Compression::Zstd => Input::Zstd(Box::new(Frames::new(whole))),
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.started {
            self.start()?;
        }
        let len = into.len().min(CHUNK);
        let (read, failed) = match &mut self.input {
            None => return Ok(0),
            Some(Input::Plain(whole)) => return whole.read(into),
            Some(Input::Gzip(decoder)) => {
                (decoder.read(&mut into[..len]), decoder.get_ref().failed)
            }
            Some(Input::Zstd(frames)) => (frames.read(&mut into[..len]), frames.get_ref().failed),
        };
        let damaged = |error: &io::Error| !failed && error.kind() != io::ErrorKind::Interrupted;
        if let (Err(error), Some(compression)) = (&read, self.compression)
            && damaged(error)
        {
            self.damage = Some(damage(compression, error));
        }
        read
    }
}

fn damage(compression: Compression, error: &io::Error) -> Fault {
    let text = error.to_string();
    let reason = match error.kind() {
        io::ErrorKind::UnexpectedEof => "they end early".to_owned(),
        _ if error.get_ref().is_some_and(|inner| inner.is::<WindowTooLarge>()) => {
            "their window is above 128 MiB; unpack the file with `zstd -d --long=31`".to_owned()
        }
        _ => text,
    };
    Fault::Compressed { compression: compression.name(), reason }
}
