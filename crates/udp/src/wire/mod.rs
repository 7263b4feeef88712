//! The wire format, version 1. All numbers are in network byte order.
//!
//! Every datagram begins with these 12 octets:
//!
//! | octets | field |
//! |---|---|
//! | 0 | version in the upper 4 bits, type in the lower 4 bits |
//! | 1 | flags of the type |
//! | 2-3 | a number of the type |
//! | 4-11 | connection ID: the server's for DATA, PING and CLOSE; the client's for all others |
//!
//! DATA of a client that has no answer yet (0-RTT) carries the client's connection ID.
//!
//! | type | from | fields after the connection ID (octets) |
//! |---|---|---|
//! | 1 HELLO | client | profile 1, ECN feedback 1, receive times 1, `ecn_acks` 1, `mss` 2, `ack_size` 2, `sack_ranges` 2, zero 2, `ack_every` 8, `quick_acks` 8, `ack_delay` 8, `gro` 8, cookie 12 |
//! | 2 ACCEPT | server | server's connection ID 8, window in segments 4, idle timeout in ms 4, part 1, parts 1 |
//! | 3 RETRY | server | cookie 12 |
//! | 4 REFUSE | server | reason 1 |
//! | 5 DATA | client | packet number 4, segment 4, send time 4 |
//! | 6 ACK | server | cumulative segment 4, newest packet number 4, delay 4, then by flags: ECT(0) 4, ECT(1) 4, CE 4; duplicate segment 4, count 4; ranges; receive times |
//! | 7 PING | client | an opaque number 4 |
//! | 8 PONG | server | the same number 4 |
//! | 9 CLOSE | client | packets sent 8 |
//! | 10 CLOSED | server | the [`Receipt`]: bytes 8, packets 8, ECT(0) 8, ECT(1) 8, CE 8, duplicates 8 |
//!
//! - Every message may end in padding, which is zero. Padding gives packets the sizes of the
//!   settings: the payload of DATA is the last octets of its datagram, and octets 2-3 are the length
//!   of the payload. Flag 1 of DATA is CWR (RFC 3168).
//! - Packet numbers, segments and ECN counts have their lower 32 bits on the wire. The receiver
//!   restores the value nearest to the one it expects (RFC 9000 appendix A.3). The send time is in
//!   microseconds of the sender's clock, modulo 2^32. The delay is in nanoseconds.
//! - Flags of ACK: 1 is ECE, 2 a duplicate arrived, 4 ECN counts are present, 8 the duplicate's
//!   segments are present. Without flag 4 the counts are zero. Octets 2 and 3 are the numbers of
//!   ranges and of receive times. A range has its distance from the cumulative segment 4 and its
//!   length 4, a receive time a packet number 4 and nanoseconds of the receiver's clock 8.
//! - HELLO and ACCEPT are padded. All ACCEPTs in answer to a HELLO have at most three times its size
//!   (RFC 9000 section 8.1), RETRY and REFUSE are smaller than HELLO, PONG and CLOSED are as large as
//!   the message that they answer at most.

mod ack;
pub mod bounds;
mod hello;
mod message;
mod numbers;

pub use ack::{AckPacket, Expected, MAX_RECEIVE_TIMES, encode_ack};
pub use hello::{Hello, Terms, TermsFault};
pub use message::{
    Accept, ClosePacket, Cookie, DataPacket, Message, Reason, Receipt, decode, encode,
    encode_data_header, looks_like_hello,
};
pub use numbers::whole;

/// The version of this format.
pub const VERSION: u8 = 1;
/// Octets before the payload of DATA, and of an ACK without optional fields.
pub const HEADER: usize = 24;
/// Smallest UDP payload of a HELLO and an ACCEPT: that of an Initial (RFC 9000 section 14.1) in the
/// profile QUIC, and in TCP the size of a HELLO.
pub const INITIAL: usize = 1200;
/// Longest datagram of either end, except DATA.
pub const MAX_CONTROL: usize = 1452;

/// A datagram that is not of this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It ends within a field.
    #[error("the datagram ends within a field")]
    Truncated,
    /// Another version.
    #[error("version {0} of the format; this end has version {VERSION}")]
    Version(u8),
    /// No such type.
    #[error("no message has type {0}")]
    Type(u8),
    /// A field has a value that it cannot have.
    #[error("a field has an impossible value")]
    Value,
}
