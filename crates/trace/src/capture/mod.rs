//! Captures: pcap and pcapng files, packet by packet, and the TCP and UDP headers in them.
//!
//! A [`Capture`] reads any source once, from beginning to end, with one buffer for files of any
//! length, and unpacks gzip and zstd meanwhile. Errors carry their position: [`Malformed`] has
//! the offset in bytes.
//!
//! This crate parses both formats itself, in some 500 lines, because the errors of
//! libraries are not precise enough. `pcap-parser` reports its parser's kind of error,
//! `pcap-file` the name of a field, and neither reports the lengths that contradict each
//! other. `etherparse` would handle VLANs and IPv6 extension headers, but it requires a
//! whole TCP header, and a snap length may have cut off its options.

mod bytes;
mod fault;
mod internet;
mod link;
mod options;
mod packet;
mod pcap;
mod pcapng;
mod resolution;
mod source;
mod unpack;
mod zstd;

use std::io::Read;

pub use fault::{Fault, Malformed, ReadError};
pub use options::{Sack, Stamps};
pub use packet::{Datagram, Endpoint, Segment, Skip, Transported, segment, transported};
pub use unpack::{Compression, Unpacked};

use bytes::Order;
use pcap::Pcap;
use pcapng::Pcapng;
use source::Source;

/// Maximum plausible length of a packet, in bytes: libpcap's own limit is 262,144
/// (`MAXIMUM_SNAPLEN`), and Linux's segments under BIG TCP have up to 524,280.
pub const MAX_PACKET: usize = 1 << 20;

/// A captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Capture time, in ns since 1970; `None` in a pcapng Simple Packet Block, which has no
    /// time.
    pub at_ns: Option<i64>,
    /// Type of its first header: a LINKTYPE value of the tcpdump group's registry.
    pub link: u16,
    /// Its length on the link, in bytes; the captured part may be shorter.
    pub original_len: u32,
    /// The captured part.
    pub data: &'a [u8],
}

/// A packet within the source's buffer.
struct Found {
    at_ns: Option<i64>,
    link: u16,
    original_len: u32,
    /// Position of its data, relative to the source's position.
    data_at: usize,
    data_len: usize,
    /// Length of the whole record or block.
    total_len: usize,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The classic format: one link type, one resolution.
    Pcap,
    /// The successor: sections of blocks, with any number of interfaces.
    Pcapng,
}

enum Reader {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A capture being read.
///
/// ```
/// use sojourn_trace::capture::{Capture, Fault};
///
/// let mut capture = Capture::new(&b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00"[..]);
/// let error = capture.next().unwrap_err();
/// assert_eq!(error.to_string(), "at byte 0: the file ends 8 bytes into the pcap header of 24");
/// ```
pub struct Capture<R: Read> {
    source: Source<R>,
    reader: Option<Reader>,
    /// Bytes of the source that the last packet used.
    used: usize,
    /// The error in the file, after which reading stops.
    fault: Option<Malformed>,
}

impl<R: Read> Capture<R> {
    /// Creates a reader, without reading yet.
    pub fn new(from: R) -> Capture<R> {
        Capture { source: Source::new(from), reader: None, used: 0, fault: None }
    }

    /// Passes up to `most` packets to `take`. Returns their number, which is below `most` only at the
    /// end of the file.
    ///
    /// # Errors
    /// Those of [`Capture::next`], after all packets before the error.
    pub fn each(&mut self, most: u64, mut take: impl FnMut(&Packet<'_>)) -> Result<u64, ReadError> {
        for taken in 0..most {
            match self.next()? {
                Some(packet) => take(&packet),
                None => return Ok(taken),
            }
        }
        Ok(most)
    }

    /// The next packet, or `None` at the end of the file. After an error, returns the same
    /// error again.
    #[allow(clippy::should_implement_trait)] // the packet borrows the buffer
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone().into());
        }
        let found = self.find().map_err(|error| match error {
            ReadError::Io(error) => self.source.damaged(error),
            malformed => malformed,
        });
        let found = match found {
            Ok(found) => found,
            Err(ReadError::Malformed(fault)) => {
                self.fault = Some(fault.clone());
                return Err(fault.into());
            }
            Err(ReadError::Io(error)) => return Err(error.into()),
        };
        Ok(found.map(|found| self.packet(&found)))
    }

    fn find(&mut self) -> Result<Option<Found>, ReadError> {
        self.source.consume(self.used);
        self.used = 0;
        if self.reader.is_none() {
            self.reader = Some(open(&mut self.source)?);
        }
        match &mut self.reader {
            Some(Reader::Pcap(pcap)) => pcap.next(&mut self.source),
            Some(Reader::Pcapng(pcapng)) => pcapng.next(&mut self.source),
            None => Ok(None),
        }
    }

    fn packet(&mut self, found: &Found) -> Packet<'_> {
        self.used = found.total_len;
        let data = &self.source.held()[found.data_at..][..found.data_len];
        Packet { at_ns: found.at_ns, link: found.link, original_len: found.original_len, data }
    }

    /// The file's format; `None` before the first call of [`Capture::next`], and for a file
    /// of another format.
    pub fn format(&self) -> Option<Format> {
        self.reader.as_ref().map(|reader| match reader {
            Reader::Pcap(_) => Format::Pcap,
            Reader::Pcapng(_) => Format::Pcapng,
        })
    }

    /// The file's compression; `None` without one, and before the first call of
    /// [`Capture::next`].
    pub fn compression(&self) -> Option<Compression> {
        self.source.compression()
    }

    /// Bytes of the file, or of a compressed file's content, read or skipped so far.
    pub fn offset(&self) -> u64 {
        self.source.offset() + self.used as u64
    }
}

/// Detects the format from the first four bytes.
fn open<R: Read>(source: &mut Source<R>) -> Result<Reader, ReadError> {
    let magic = match *source.peek(4)? {
        [] => return Err(source.fault(Fault::Empty)),
        [a, b, c, d, ..] => [a, b, c, d],
        _ => return Err(source.fault(Fault::Short)),
    };
    if magic == pcapng::SECTION_HEADER.to_be_bytes() {
        return Ok(Reader::Pcapng(Pcapng::new()));
    }
    let orders = [Order::Big, Order::Little];
    match orders.into_iter().find_map(|order| pcap::resolution(order.u32(&magic, 0), order)) {
        Some((order, resolution)) => Ok(Reader::Pcap(Pcap::open(source, order, resolution)?)),
        None => Err(source.fault(Fault::Magic { bytes: magic })),
    }
}
