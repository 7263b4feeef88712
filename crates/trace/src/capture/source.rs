//! A source, unpacked, with one buffer and the position in bytes.

use std::io::{self, Read};

use super::fault::{Fault, Malformed, ReadError};
use super::unpack::{Compression, Unpacked};

/// Bytes read at a time. A size above the level-2 cache gives no speedup.
const CHUNK: usize = 1 << 18;

/// A reader that inspects bytes before it consumes them.
///
/// The buffer grows to the length passed to [`Source::peek`]. Callers must limit that
/// length to a plausible one, and never take it from the file alone.
pub(super) struct Source<R: Read> {
    from: Unpacked<R>,
    buffer: Vec<u8>,
    /// The buffered bytes are `buffer[begin..end]`.
    begin: usize,
    end: usize,
    /// Bytes consumed.
    offset: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(from: R) -> Source<R> {
        let from = Unpacked::new(from);
        Source { from, buffer: Vec::new(), begin: 0, end: 0, offset: 0 }
    }

    /// Position of the first buffered byte in the unpacked file.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The file's compression, once it has been read.
    pub(super) fn compression(&self) -> Option<Compression> {
        self.from.compression()
    }

    /// An error of the compressed data, if that is the reason why reading failed.
    #[cold]
    pub(super) fn damaged(&mut self, error: io::Error) -> ReadError {
        match self.from.damage() {
            Some(fault) => self.fault(fault),
            None => error.into(),
        }
    }

    /// All bytes read but not consumed.
    pub(super) fn held(&self) -> &[u8] {
        &self.buffer[self.begin..self.end]
    }

    /// At least the next `len` bytes; fewer only at the end of the file.
    #[inline]
    pub(super) fn peek(&mut self, len: usize) -> io::Result<&[u8]> {
        if self.end - self.begin < len {
            self.fill(len)?;
        }
        Ok(self.held())
    }

    /// Returns at least the next `len` bytes, or an error that `what` is truncated.
    #[inline]
    pub(super) fn need(&mut self, len: usize, what: &'static str) -> Result<&[u8], ReadError> {
        if self.peek(len)?.len() < len {
            let there = self.held().len() as u64;
            return Err(self.fault(Fault::Truncated { what, needed: len as u64, there }));
        }
        Ok(self.held())
    }

    #[cold]
    fn fill(&mut self, len: usize) -> io::Result<()> {
        self.buffer.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        self.buffer.resize(len.max(CHUNK).max(self.buffer.len()), 0);
        while self.end < len {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Consumes `len` buffered bytes.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        debug_assert!(len <= self.end - self.begin);
        self.begin += len;
        self.offset += len as u64;
    }

    /// Skips `len` bytes, buffered or not. Returns the number present.
    pub(super) fn skip(&mut self, len: u64) -> io::Result<u64> {
        let mut left = len;
        while left > 0 {
            let held = self.peek(1)?.len() as u64;
            if held == 0 {
                break;
            }
            let now = held.min(left);
            self.consume(now as usize);
            left -= now;
        }
        Ok(len - left)
    }

    /// An error at the current position.
    pub(super) fn fault(&self, fault: Fault) -> ReadError {
        Malformed { offset: self.offset, fault }.into()
    }
}
