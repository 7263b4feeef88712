//! Errors in a capture, and their positions.

use std::io;

use super::MAX_PACKET;

/// An error in the file, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {fault}")]
pub struct Malformed {
    /// Offset of the invalid record or block, in bytes from the start of the file, or of a
    /// compressed file's content. All data before it has been read.
    pub offset: u64,
    /// The error.
    pub fault: Fault,
}

/// An error in a capture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file is shorter than the header of any format.
    #[error("the file is too short for a capture")]
    Short,
    /// The file has another format.
    #[error("the file is no pcap or pcapng capture: it begins with {}{}", hex(bytes), hint(bytes))]
    Magic {
        /// Its first bytes.
        bytes: [u8; 4],
    },
    /// The compressed data are damaged, or of a kind that is not unpacked.
    #[error("the {compression} data of the file cannot be unpacked any further: {reason}")]
    Compressed {
        /// The program that compressed the file.
        compression: &'static str,
        /// The decoder's error, or a remedy.
        reason: String,
    },
    /// The file ends within a header, record or block.
    #[error("the file ends {there} bytes into {what} of {needed}")]
    Truncated {
        /// The truncated part.
        what: &'static str,
        /// Its length in bytes.
        needed: u64,
        /// The bytes present.
        there: u64,
    },
    /// The version is unknown.
    #[error("{what} has version {major}.{minor}; only {known} is known")]
    Version {
        /// The format.
        what: &'static str,
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
        /// The known versions.
        known: &'static str,
    },
    /// The length of a packet is implausible.
    #[error("a packet has {len} captured bytes; more than {MAX_PACKET} are not believed")]
    PacketLength {
        /// Its length.
        len: u32,
    },
    /// A packet is longer than the block that holds it.
    #[error("a packet has {len} captured bytes in a block with room for {room}")]
    PacketInBlock {
        /// The packet's length.
        len: u32,
        /// Bytes in the block for the packet.
        room: usize,
    },
    /// A block is too short for its type, or its length is not a multiple of four.
    #[error("block type {kind:#x} has length {len}; it must be a multiple of 4, {least} or more")]
    BlockLength {
        /// The block's type.
        kind: u32,
        /// Its length.
        len: u32,
        /// Minimum length of the type.
        least: u32,
    },
    /// A block is longer than the buffer limit.
    #[error("block type {kind:#x} has length {len}; more than {most} are not believed")]
    BlockTooLong {
        /// The block's type.
        kind: u32,
        /// Its length.
        len: u32,
        /// The limit.
        most: usize,
    },
    /// The two lengths of a block differ.
    #[error("block type {kind:#x} begins with length {first} and ends with {last}")]
    BlockEnd {
        /// The block's type.
        kind: u32,
        /// Length at its beginning.
        first: u32,
        /// Length at its end.
        last: u32,
    },
    /// A section has no valid byte-order magic.
    #[error("a section header has {magic:#010x} for its byte-order magic")]
    ByteOrder {
        /// The value read, as big endian.
        magic: u32,
    },
    /// A packet belongs to an interface without a description block.
    #[error("a packet is of interface {id}, but the section describes {described}")]
    Interface {
        /// Number of interfaces described so far.
        id: u32,
        /// Number of interfaces described so far in the section.
        described: usize,
    },
    /// A section describes too many interfaces.
    #[error("a section describes more than {most} interfaces")]
    Interfaces {
        /// The limit.
        most: usize,
    },
    /// A time does not fit 64 bits of nanoseconds since 1970.
    #[error("a packet's time is before the year 1678 or after 2262")]
    Time,
}

/// Reasons why a packet could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file is malformed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Advice on files of formats related to captures.
fn hint(bytes: &[u8; 4]) -> &'static str {
    match bytes {
        [0x1f, 0x8b, ..] => " (gzip, in a file of gzip or zstd: unpack it twice)",
        [0x28, 0xb5, 0x2f, 0xfd] => " (zstd: unpack it first)",
        [0xfd, 0x37, 0x7a, 0x58] => " (xz: unpack it first)",
        [0x42, 0x5a, 0x68, _] => " (bzip2: unpack it first)",
        [0x04, 0x22, 0x4d, 0x18] => " (lz4: unpack it first)",
        [0x50, 0x4b, 0x03, 0x04] => " (zip: unpack it first)",
        [0xa1, 0xb2, 0xcd, 0x34] | [0x34, 0xcd, 0xb2, 0xa1] => {
            " (Kuznetzov's variant of pcap: convert it with editcap)"
        }
        _ => "",
    }
}
