//! Export to the formats of other tools, as bytes; callers write the files.
//!
//! - [`PcapNg`]: packets as a capture file, with headers from [`packet`].
//! - [`qlog`]: the events of a transport.

mod date;
pub mod packet;
mod pcapng;
pub mod qlog;

pub use pcapng::{Direction, Interface, PcapNg};

/// Start of captured runs in seconds since 1970, 2000-01-01T00:00:00Z. A run has no date,
/// and the same run must give the same bytes.
pub const EPOCH_S: u64 = 946_684_800;

/// The same in nanoseconds: the time 0 of files that name no other.
pub const EPOCH_NS: u64 = EPOCH_S * 1_000_000_000;
