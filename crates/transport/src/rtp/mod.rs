//! Media over RTP: a sender whose controller sets the rate of an encoder, a receiver that reports
//! arrivals, and the playout of frames. State machines without clock or sockets, as [`crate::Sender`].
//!
//! Packets are numbered from 0 and never repeated: the number stands for RTP's sequence number (RFC
//! 3550) and for the transport-wide one. A lost packet is not retransmitted.

mod flight;
mod playout;
mod receiver;
mod report;
mod sender;

pub use playout::{Late, Played, Playout, Repair};
pub use receiver::{FeedbackRule, RtpReceiver};
pub use report::{Arrival, Format, Report};
pub use sender::{RtpSender, RtpSetup, RtpStats};

use sojourn_units::{Bytes, Ecn, Instant};

/// A frame of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaFrame {
    /// Its number, from 0.
    pub number: u32,
    /// Its size without the headers of packets.
    pub bytes: Bytes,
    /// Whether it can be decoded without an earlier frame.
    pub is_key: bool,
    /// Time of its capture.
    pub captured_at: Instant,
}

/// A packet of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpPacket {
    /// Its number.
    pub number: u64,
    /// Size of the RTP packet, its header included.
    pub bytes: Bytes,
    /// The codepoint that it leaves with.
    pub ecn: Ecn,
    /// The frame of which it is a part.
    pub frame: MediaFrame,
    /// Number of packets of the frame.
    pub parts: u32,
    /// Whether it is the last packet of its frame (RTP's marker bit).
    pub is_last: bool,
}
