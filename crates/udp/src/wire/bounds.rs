//! Least and greatest values of the numbers that a peer names.
//!
//! A datagram with a number that no honest peer sends is malformed, or its settings are refused. A time
//! that is only unwise becomes the nearest bound. The counts and numbers of an acknowledgement are
//! compared with the packets that were sent (`Client::on_ack`), and its delay is at most the receiver's
//! own `ack_delay` (`sojourn_transport::Sender`).

use std::ops::RangeInclusive;

use sojourn_units::Duration;

/// ACCEPT: segments of the window. A window of 2^31 would make lower halves of numbers ambiguous.
pub const WINDOW: RangeInclusive<u32> = 1..=1 << 30;
/// ACCEPT: time without a datagram after which the server removes the peer, in milliseconds. A client
/// pings three times in it, so that the floor allows 30 pings a second.
pub const IDLE_MS: RangeInclusive<u32> = 100..=3_600_000;
/// ACCEPT: packets of an answer.
pub const PARTS: RangeInclusive<u8> = 1..=32;
/// HELLO: payload of a full packet.
pub const MSS: RangeInclusive<u16> = 1..=u16::MAX;
/// HELLO: packets for each acknowledgement. A receiver acknowledges at most once for each packet, so
/// that the least is the greatest rate.
pub const ACK_EVERY: RangeInclusive<u64> = 1..=1 << 32;
/// HELLO: ranges of an acknowledgement, which the receiver keeps in memory.
pub const SACK_RANGES: RangeInclusive<u16> = 0..=256;
/// HELLO: time that an acknowledgement or a batch may wait. Its timer runs once for each packet.
pub const DELAY: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3_600);
