//! What can be wrong with a capture, and where.

use std::io;

use super::MAX_PACKET;

/// A file that cannot be read on, with the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {fault}")]
pub struct Malformed {
    /// Where the record or block begins that is wrong, in bytes from the file's
    /// beginning. All before it has been read.
    pub offset: u64,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a capture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// Fewer bytes than any format begins with.
    #[error("the file is too short for a capture")]
    Short,
    /// Another kind of file.
    #[error("the file is no pcap or pcapng capture: it begins with {}{}", hex(bytes), hint(bytes))]
    Magic {
        /// Its first bytes.
        bytes: [u8; 4],
    },
    /// The end of the file lies within something.
    #[error("the file ends {there} bytes into {what} of {needed}")]
    Truncated {
        /// Within what.
        what: &'static str,
        /// The bytes that it needs.
        needed: u64,
        /// The bytes that are left.
        there: u64,
    },
    /// A version that is not known.
    #[error("{what} has version {major}.{minor}; only {known} is known")]
    Version {
        /// The format.
        what: &'static str,
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
        /// What is known.
        known: &'static str,
    },
    /// A packet of a length that no packet has.
    #[error("a packet has {len} captured bytes; more than {MAX_PACKET} are not believed")]
    PacketLength {
        /// Its length.
        len: u32,
    },
    /// A packet that is longer than the block that holds it.
    #[error("a packet has {len} captured bytes in a block with room for {room}")]
    PacketInBlock {
        /// The packet's length.
        len: u32,
        /// Bytes of the block for it.
        room: usize,
    },
    /// A block that is too short for its kind, or not a multiple of four.
    #[error("block type {kind:#x} has length {len}; it must be a multiple of 4, {least} or more")]
    BlockLength {
        /// The block's type.
        kind: u32,
        /// Its length.
        len: u32,
        /// The least that the type has.
        least: u32,
    },
    /// A block that is longer than is held at a time.
    #[error("block type {kind:#x} has length {len}; more than {most} are not believed")]
    BlockTooLong {
        /// The block's type.
        kind: u32,
        /// Its length.
        len: u32,
        /// The most that is.
        most: usize,
    },
    /// A block that ends with another length than it begins with.
    #[error("block type {kind:#x} begins with length {first} and ends with {last}")]
    BlockEnd {
        /// The block's type.
        kind: u32,
        /// At its beginning.
        first: u32,
        /// At its end.
        last: u32,
    },
    /// A section without the number that tells its byte order.
    #[error("a section header has {magic:#010x} for its byte-order magic")]
    ByteOrder {
        /// What stands there, read as big endian.
        magic: u32,
    },
    /// A packet of an interface that no block has described.
    #[error("a packet is of interface {id}, but the section describes {described}")]
    Interface {
        /// The packet's interface.
        id: u32,
        /// How many the section has described so far.
        described: usize,
    },
    /// More interfaces than a section may describe.
    #[error("a section describes more than {most} interfaces")]
    Interfaces {
        /// How many it may.
        most: usize,
    },
    /// A time that 64 bits of nanoseconds since 1970 cannot hold.
    #[error("a packet's time is before the year 1678 or after 2262")]
    Time,
}

/// Why no further packet could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file is wrong.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What to do about files that hold a capture, but are none.
fn hint(bytes: &[u8; 4]) -> &'static str {
    match bytes {
        [0x1f, 0x8b, ..] => " (gzip: unpack it first)",
        [0x28, 0xb5, 0x2f, 0xfd] => " (zstd: unpack it first)",
        [0xa1, 0xb2, 0xcd, 0x34] | [0x34, 0xcd, 0xb2, 0xa1] => {
            " (Kuznetzov's variant of pcap: convert it with editcap)"
        }
        _ => "",
    }
}
