//! Captures: pcap and pcapng files, packet by packet, and the TCP headers in them.
//!
//! A [`Capture`] reads from anything that can be read, once, from its beginning
//! to its end, and holds one buffer however long the file is. What it cannot
//! read is told with its place: [`Malformed`] has the offset in bytes.
//!
//! Both formats are read by our own code, some 500 lines. What the libraries tell
//! of a malformed file is not enough to say what is wrong where: `pcap-parser` gives
//! its parser's kind of error, `pcap-file` the name of a field, neither the lengths
//! that contradict each other. `etherparse` would take over VLANs and IPv6 extension
//! headers, but wants the whole of a TCP header, whose options a snap length may have
//! cut off.

mod bytes;
mod fault;
mod internet;
mod link;
mod packet;
mod pcap;
mod pcapng;
mod resolution;
mod source;

use std::io::Read;

pub use fault::{Fault, Malformed, ReadError};
pub use packet::{Endpoint, Segment, Skip, Stamps, segment};

use bytes::Order;
use pcap::Pcap;
use pcapng::Pcapng;
use source::Source;

/// The longest packet that is believed, in bytes: libpcap's own limit is 262,144
/// (`MAXIMUM_SNAPLEN`), and Linux's segments under BIG TCP have up to 524,280.
pub const MAX_PACKET: usize = 1 << 20;

/// One packet as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When it was captured, in ns since 1970; None in a pcapng Simple Packet
    /// Block, which has no time.
    pub at_ns: Option<i64>,
    /// What its first header is: a LINKTYPE value of the tcpdump group's registry.
    pub link: u16,
    /// Its length on the link, in bytes; what was captured may be less.
    pub original_len: u32,
    /// What was captured of it.
    pub data: &'a [u8],
}

/// A packet within what the source holds.
struct Found {
    at_ns: Option<i64>,
    link: u16,
    original_len: u32,
    /// Where its data begins, after the source's place.
    data_at: usize,
    data_len: usize,
    /// Of the whole record or block.
    total_len: usize,
}

/// Which of the two formats a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The classic one: one link type, one resolution.
    Pcap,
    /// Its successor: sections of blocks, with any number of interfaces.
    Pcapng,
}

enum Reader {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A capture that is being read.
///
/// ```
/// use sojourn_trace::capture::{Capture, Fault};
///
/// let mut capture = Capture::new(&b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00"[..]);
/// let error = capture.next().unwrap_err();
/// assert_eq!(error.to_string(), "at byte 0: the file ends 8 bytes into the pcap header of 24");
/// ```
pub struct Capture<R> {
    source: Source<R>,
    reader: Option<Reader>,
    /// What the last packet took of the source.
    used: usize,
    /// What was wrong with the file; nothing after it can be read.
    fault: Option<Malformed>,
}

impl<R: Read> Capture<R> {
    /// Reads nothing yet.
    pub fn new(from: R) -> Capture<R> {
        Capture { source: Source::new(from), reader: None, used: 0, fault: None }
    }

    /// The next packet; None at the end of the file. After an error, the same
    /// error again.
    #[allow(clippy::should_implement_trait)] // the packet borrows the buffer
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone().into());
        }
        let found = match self.find() {
            Ok(found) => found,
            Err(ReadError::Malformed(fault)) => {
                self.fault = Some(fault.clone());
                return Err(fault.into());
            }
            Err(error) => return Err(error),
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

    /// The file's format; None before the first packet was asked for, and in a
    /// file that is no capture.
    pub fn format(&self) -> Option<Format> {
        self.reader.as_ref().map(|reader| match reader {
            Reader::Pcap(_) => Format::Pcap,
            Reader::Pcapng(_) => Format::Pcapng,
        })
    }

    /// Bytes of the file that have been read as packets or passed over.
    pub fn offset(&self) -> u64 {
        self.source.offset() + self.used as u64
    }
}

/// Tells the formats apart by their first four bytes.
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
