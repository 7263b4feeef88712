//! The opening of a connection, with the settings that the receiver needs.

use bytes::{Buf, BufMut};
use sojourn_transport::{Config, EcnAcks, EcnFeedback, Profile};
use sojourn_units::{Bytes, Duration};

use super::message::Cookie;
use super::{INITIAL, Malformed, bounds};

/// The settings of a connection that its receiver applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The protocol whose rules the connection follows.
    pub profile: Profile,
    /// See [`Config::ecn_feedback`].
    pub ecn_feedback: EcnFeedback,
    /// See [`Config::ecn_acks`].
    pub ecn_acks: EcnAcks,
    /// Whether acknowledgements give the receive time of each packet.
    pub receive_times: bool,
    /// Payload of a full packet.
    pub mss: u16,
    /// Size of an acknowledgement with IPv4 header.
    pub ack_size: u16,
    /// See [`Config::sack_ranges`].
    pub sack_ranges: u16,
    /// See [`Config::ack_every`].
    pub ack_every: u64,
    /// See [`Config::quick_acks`].
    pub quick_acks: u64,
    /// See [`Config::ack_delay`].
    pub ack_delay: Duration,
    /// See [`Config::gro`].
    pub gro: Duration,
}

/// Settings that a receiver refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermsFault {
    /// A full packet has no payload.
    #[error("`mss` is zero")]
    Mss,
    /// No packet is ever acknowledged.
    #[error("`ack_every` is {0}; it is from 1 to 2^32")]
    AckEvery(u64),
    /// More ranges than a receiver keeps.
    #[error("`sack_ranges` is {0}; it is at most 256")]
    SackRanges(u16),
    /// Acknowledgements or batches that wait for longer than any scenario allows.
    #[error("`ack_delay` or `gro` is over an hour")]
    Delay,
}

impl Terms {
    /// The settings of `config` for its receiver.
    pub fn of(config: &Config, receive_times: bool) -> Terms {
        let short = |bytes: Bytes| u16::try_from(bytes.0).unwrap_or(u16::MAX);
        Terms {
            profile: config.profile,
            ecn_feedback: config.ecn_feedback,
            ecn_acks: config.ecn_acks,
            receive_times,
            mss: short(config.mss),
            ack_size: short(config.ack_size),
            sack_ranges: config.sack_ranges.min(u64::from(*bounds::SACK_RANGES.end())) as u16,
            ack_every: config.ack_every.min(*bounds::ACK_EVERY.end()),
            quick_acks: config.quick_acks,
            ack_delay: config.ack_delay,
            gro: config.gro,
        }
    }

    /// The settings of the receiver.
    pub fn config(&self) -> Config {
        Config {
            ecn_feedback: self.ecn_feedback,
            ecn_acks: self.ecn_acks,
            mss: Bytes(u64::from(self.mss)),
            ack_size: Bytes(u64::from(self.ack_size)),
            sack_ranges: u64::from(self.sack_ranges),
            ack_every: self.ack_every,
            quick_acks: self.quick_acks,
            ack_delay: self.ack_delay,
            gro: self.gro,
            receive_times: self.receive_times,
            ..Config::new(self.profile)
        }
    }

    /// Whether a receiver can apply them.
    ///
    /// # Errors
    /// The first setting that is out of range.
    pub fn check(&self) -> Result<(), TermsFault> {
        if !bounds::MSS.contains(&self.mss) {
            return Err(TermsFault::Mss);
        }
        if !bounds::ACK_EVERY.contains(&self.ack_every) {
            return Err(TermsFault::AckEvery(self.ack_every));
        }
        if !bounds::SACK_RANGES.contains(&self.sack_ranges) {
            return Err(TermsFault::SackRanges(self.sack_ranges));
        }
        if !bounds::DELAY.contains(&self.ack_delay) || !bounds::DELAY.contains(&self.gro) {
            return Err(TermsFault::Delay);
        }
        Ok(())
    }

    /// Size of the datagrams of a handshake.
    pub fn handshake_size(&self) -> usize {
        match self.profile {
            Profile::Tcp => HELLO,
            Profile::Quic => INITIAL,
        }
    }

    /// Datagrams of the server's answer: SYN-ACK, or as many as the server may send to an address
    /// that is not validated (RFC 9000 section 8.1).
    pub fn answer_packets(&self) -> u8 {
        match self.profile {
            Profile::Tcp => 1,
            Profile::Quic => 3,
        }
    }
}

/// Octets of a HELLO.
pub(super) const HELLO: usize = 68;

/// The opening of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The client's connection ID.
    pub id: u64,
    /// The settings for the receiver.
    pub terms: Terms,
    /// The cookie of a RETRY; zero without one.
    pub cookie: Cookie,
}

impl Hello {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let terms = &self.terms;
        out.put_u8(u8::from(terms.profile == Profile::Quic));
        out.put_u8(u8::from(terms.ecn_feedback == EcnFeedback::Classic));
        out.put_u8(u8::from(terms.receive_times));
        out.put_u8(u8::from(terms.ecn_acks == EcnAcks::Linux));
        out.put_u16(terms.mss);
        out.put_u16(terms.ack_size);
        out.put_u16(terms.sack_ranges);
        out.put_u16(0);
        out.put_u64(terms.ack_every);
        out.put_u64(terms.quick_acks);
        out.put_u64(terms.ack_delay.0);
        out.put_u64(terms.gro.0);
        self.cookie.put(out);
    }

    pub(super) fn take(id: u64, from: &mut &[u8]) -> Result<Hello, Malformed> {
        let profile = if flag(from)? { Profile::Quic } else { Profile::Tcp };
        let feedback = if flag(from)? { EcnFeedback::Classic } else { EcnFeedback::Accurate };
        let receive_times = flag(from)?;
        let ecn_acks = if flag(from)? { EcnAcks::Linux } else { EcnAcks::Rfc9768 };
        let (mss, ack_size) = (from.try_get_u16()?, from.try_get_u16()?);
        let sack_ranges = from.try_get_u16()?;
        from.try_get_u16()?;
        let terms = Terms {
            profile,
            ecn_feedback: feedback,
            ecn_acks,
            receive_times,
            mss,
            ack_size,
            sack_ranges,
            ack_every: from.try_get_u64()?,
            quick_acks: from.try_get_u64()?,
            ack_delay: Duration(from.try_get_u64()?),
            gro: Duration(from.try_get_u64()?),
        };
        Ok(Hello { id, terms, cookie: Cookie::take(from)? })
    }
}

/// An octet that is 0 or 1.
fn flag(from: &mut &[u8]) -> Result<bool, Malformed> {
    match from.try_get_u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed::Value),
    }
}
