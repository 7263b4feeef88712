//! qlog files of any program: the figures and series of the connections in them.
//!
//! [`read`] passes over a file one event at a time, in memory that does not grow with the events'
//! texts. It reads all drafts from draft-00 to draft-ietf-quic-qlog-main-schema-13, as one JSON
//! object with `traces`, as a JSON text sequence (RFC 7464), or with one text on each line; plain,
//! or packed with gzip or zstd. A damaged file gives the events before the damage.
//!
//! [`Figures`] has a flow for each trace: counts of packets, RTTs, goodput, and samples over time.
//! A connection with the multipath extension has a flow for each of its paths.

mod course;
mod fault;
mod figures;
mod file;
mod frames;
mod json;
mod listener;
mod ranges;
mod samples;
mod source;
mod trace;
mod unpack;

use std::io::{self, Read};

pub use fault::{Damage, Fault};
pub use figures::{Figures, Flow};
pub use listener::{Event, Listener};
pub use trace::Trace;
pub use unpack::trace_name;

/// Limits on what a file can make the reader do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length of one JSON text or value, in bytes: an event has some hundred.
    pub text: usize,
    /// Maximum memory of the events' figures, in bytes.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { text: 16 << 20, memory: 1 << 30 }
    }
}

/// The traces of a file that have events.
#[derive(Debug)]
pub struct Log<L = ()> {
    /// One for each endpoint of a connection.
    pub traces: Vec<Trace<L>>,
    /// The error at which reading stopped, if any.
    pub damage: Option<Damage>,
}

/// Reads a file from what `open` returns. Reads it once more if a trace names the form of its
/// times only after its events.
///
/// `name` is the name of the trace if the file has none. The result has everything before an
/// error in the file.
///
/// # Errors
/// If the file cannot be opened or read.
///
/// ```
/// use sojourn_trace::qlog::{Figures, Limits, read};
///
/// let file = b"{\"trace\": {}}
/// {\"time\": 0, \"name\": \"quic:packet_sent\", \"data\": {\"header\": {\"packet_number\": 0}}}
/// {\"time\": 20, \"name\": \"quic:packet_received\", \"data\": {\"frames\":
/// ";
/// let log = read("it", || Ok(&file[..]), &Limits::default())?;
/// let damage = log.damage.as_ref().expect("the file is cut");
/// assert_eq!(damage.to_string(), "byte 159 (line 3): not JSON: the text ends within a value");
/// assert_eq!(Figures::new(&[log], None).flows[0].sent_packets, 1);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read<R: Read>(
    name: &str,
    open: impl FnMut() -> io::Result<R>,
    limits: &Limits,
) -> io::Result<Log> {
    listen(name, open, limits)
}

/// Reads a file as [`read()`] does, with a listener for each trace.
///
/// # Errors
/// Those of [`read()`].
pub fn listen<L: Listener, R: Read>(
    name: &str,
    mut open: impl FnMut() -> io::Result<R>,
    limits: &Limits,
) -> io::Result<Log<L>> {
    let known = match file::read(unpack::unpacked(open()?), name, limits, &[])? {
        Ok(log) => return Ok(log),
        Err(setups) => setups,
    };
    let again = file::read(unpack::unpacked(open()?), name, limits, &known)?;
    again.map_err(|_| io::Error::other("the file changes while it is read"))
}
