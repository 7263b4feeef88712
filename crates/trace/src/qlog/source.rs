//! The bytes of a file as JSON texts and values, with their positions.

use std::io::{BufRead, ErrorKind};

use serde_json::Value;

use super::fault::{Fault, Stop};
use super::json;

/// A position in the file.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) at: u64,
    line: u64,
}

/// A file that is read once, one text or value at a time.
pub(super) struct Source<R> {
    from: R,
    here: Mark,
    /// Maximum length of a text or value, in bytes.
    limit: usize,
    text: Vec<u8>,
}

impl<R: BufRead> Source<R> {
    pub(super) fn new(from: R, limit: usize) -> Source<R> {
        Source { from, here: Mark { at: 0, line: 1 }, limit, text: Vec::new() }
    }

    pub(super) fn here(&self) -> Mark {
        self.here
    }

    /// The next text of a sequence, up to the separator, and its position; `None` at the end.
    pub(super) fn text(&mut self, separator: u8) -> Result<Option<(Mark, Value)>, Stop> {
        loop {
            let begin = self.here;
            if buffer(&mut self.from, begin)?.is_empty() {
                return Ok(None);
            }
            self.take(|byte| byte != separator)?;
            let value = match self.text.trim_ascii().is_empty() {
                true => None,
                false => Some((begin, self.parse(begin)?)),
            };
            if buffer(&mut self.from, self.here)?.first() == Some(&separator) {
                self.advance(1, u64::from(separator == b'\n'));
            }
            if value.is_some() {
                return Ok(value);
            }
        }
    }

    /// The next value of a list or an object.
    pub(super) fn value(&mut self) -> Result<Value, Stop> {
        self.peek()?;
        let (begin, mut scan) = (self.here, Scan::default());
        self.take(|byte| scan.continues(byte))?;
        self.parse(begin)
    }

    /// The next byte that is not white space; `None` at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, Stop> {
        self.take(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))?;
        Ok(buffer(&mut self.from, self.here)?.first().copied())
    }

    /// Passes the next byte, which must be `expected`.
    pub(super) fn expect(&mut self, expected: u8) -> Result<(), Stop> {
        let found = self.peek()?;
        if found != Some(expected) {
            let (expected, found) = (expected.into(), found.map(char::from));
            return Err(fault(self.here, Fault::Character { expected, found }));
        }
        self.advance(1, 0);
        Ok(())
    }

    fn advance(&mut self, len: usize, lines: u64) {
        self.from.consume(len);
        self.here = Mark { at: self.here.at + len as u64, line: self.here.line + lines };
    }

    /// Replaces the text by the bytes for which `continues` holds.
    fn take(&mut self, mut continues: impl FnMut(u8) -> bool) -> Result<(), Stop> {
        let begin = self.here;
        self.text.clear();
        loop {
            let buffer = buffer(&mut self.from, self.here)?;
            let found = buffer.iter().position(|byte| !continues(*byte));
            let len = found.unwrap_or(buffer.len());
            let is_over = found.is_some() || len == 0;
            self.text.extend_from_slice(&buffer[..len]);
            let lines = lines(&buffer[..len]);
            self.advance(len, lines);
            if self.text.len() > self.limit {
                return Err(fault(begin, Fault::TooLong { limit: self.limit }));
            }
            if is_over {
                return Ok(());
            }
        }
    }

    fn parse(&self, begin: Mark) -> Result<Value, Stop> {
        json::parse(&self.text).map_err(|(offset, what)| {
            let line = begin.line + lines(&self.text[..offset.min(self.text.len())]);
            fault(Mark { at: begin.at + offset as u64, line }, what)
        })
    }
}

/// The bytes read but not consumed; empty at the end only.
fn buffer<R: BufRead>(from: &mut R, here: Mark) -> Result<&[u8], Stop> {
    while let Err(error) = from.fill_buf() {
        match error.kind() {
            ErrorKind::Interrupted => {}
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                return Err(fault(here, Fault::Packed(error.to_string())));
            }
            _ => return Err(Stop::Io(error)),
        }
    }
    from.fill_buf().map_err(Stop::Io)
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// An error at a position.
pub(super) fn fault(at: Mark, fault: Fault) -> Stop {
    Stop::Damage { at_byte: at.at, line: at.line, fault }
}

/// The items of a list, or the fields of an object, one by one.
pub(super) struct Each {
    closing: u8,
    is_first: bool,
}

impl Each {
    pub(super) fn item<R: BufRead>(source: &mut Source<R>) -> Result<Each, Stop> {
        source.expect(b'[')?;
        Ok(Each { closing: b']', is_first: true })
    }

    pub(super) fn field<R: BufRead>(source: &mut Source<R>) -> Result<Each, Stop> {
        source.expect(b'{')?;
        Ok(Each { closing: b'}', is_first: true })
    }

    /// Stops before the next item; false after the last.
    pub(super) fn next<R: BufRead>(&mut self, source: &mut Source<R>) -> Result<bool, Stop> {
        if source.peek()? == Some(self.closing) {
            source.advance(1, 0);
            return Ok(false);
        }
        if !self.is_first {
            source.expect(b',')?;
        }
        self.is_first = false;
        Ok(true)
    }

    /// Stops before the value of the next field, whose name it returns.
    pub(super) fn name<R: BufRead>(
        &mut self,
        source: &mut Source<R>,
    ) -> Result<Option<String>, Stop> {
        if !self.next(source)? {
            return Ok(None);
        }
        source.peek()?;
        let begin = source.here();
        let Value::String(name) = source.value()? else { return Err(fault(begin, Fault::Name)) };
        source.expect(b':')?;
        Ok(Some(name))
    }
}

/// Finds the end of a value without parsing it, in constant memory at any depth.
#[derive(Default)]
struct Scan {
    depth: usize,
    is_text: bool,
    is_escaped: bool,
    is_over: bool,
}

impl Scan {
    fn continues(&mut self, byte: u8) -> bool {
        if self.is_over {
            return false;
        }
        if self.is_text {
            self.of_text(byte);
            return true;
        }
        match byte {
            b'"' => self.is_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' | b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => {
                return false;
            }
            b'}' | b']' => {
                self.depth -= 1;
                self.is_over = self.depth == 0;
            }
            _ => {}
        }
        true
    }

    fn of_text(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => {
                self.is_text = false;
                self.is_over = self.depth == 0;
            }
            _ => {}
        }
    }
}
