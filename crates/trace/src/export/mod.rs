//! Captures that other tools read: bytes out, nothing of files.
//!
//! - [`PcapNg`]: packets as a capture file, with the headers that [`packet`] makes.
//! - [`qlog`]: what a transport does, event by event.

pub mod packet;
mod pcapng;
pub mod qlog;

pub use pcapng::{Direction, Interface, PcapNg};

/// Seconds from 1970 to where captured runs begin, 2000-01-01T00:00:00Z: a run has no
/// date of its own, and the same run must give the same bytes.
pub const EPOCH_S: u64 = 946_684_800;
