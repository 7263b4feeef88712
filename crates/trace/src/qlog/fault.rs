//! Errors in a qlog file, and their positions.

use std::io;

/// An error in the file. All events before it have been read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at_byte} (line {line}): {fault}")]
pub struct Damage {
    /// Offset of the error in bytes, from the start of the file, or of its unpacked content.
    pub at_byte: u64,
    /// Its line, from 1.
    pub line: u64,
    /// The error.
    pub fault: Fault,
    /// Events read before it.
    pub events: u64,
}

/// An error in a qlog file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A text is no JSON (RFC 8259).
    #[error("not JSON: {0}")]
    Json(String),
    /// A text has more levels than the parser's stack.
    #[error("nested too deeply")]
    Deep,
    /// Another character belongs here.
    #[error("{} where '{expected}' belongs", named(found))]
    Character {
        /// The expected character.
        expected: char,
        /// The character found; `None` at the end of the file.
        found: Option<char>,
    },
    /// The name of a field is not text.
    #[error("a name is not text")]
    Name,
    /// A text is longer than the limit.
    #[error("one text is longer than {} MiB", limit >> 20)]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The events need too much memory.
    #[error("the events up to here need {} MiB of memory; give a part of the file", limit >> 20)]
    Memory {
        /// The limit in bytes.
        limit: usize,
    },
    /// The file is one JSON text, but not a qlog file.
    #[error("not qlog: it has no `traces`")]
    NoTraces,
    /// The first text of a sequence is not its header.
    #[error("the first text is not a qlog header: it has no `trace`")]
    NoHeader,
    /// A sequence whose texts have several lines, so that nothing separates them.
    #[error(
        "a JSON sequence whose texts have several lines and no record separators (RFC 7464); \
         write each text on one line: jq -c . FILE"
    )]
    Pretty,
    /// An item of `traces` is not an object.
    #[error("a trace is not an object")]
    NotTrace,
    /// Other data follow a complete text.
    #[error("there are data after a JSON text")]
    After,
    /// The file cannot be unpacked.
    #[error("the packed data are damaged: {0}")]
    Packed(String),
}

fn named(found: &Option<char>) -> String {
    found.map_or_else(|| "the file ends".to_owned(), |letter| format!("{letter:?}"))
}

/// The reason why reading stops.
pub(super) enum Stop {
    Damage { at_byte: u64, line: u64, fault: Fault },
    Io(io::Error),
}
