//! Shared helpers of the transport's tests.

pub(crate) mod desk;
pub(crate) mod network;

use sojourn_transport::{Config, EcnFeedback, Profile, PrrRule, RecoveryPeriod};
use sojourn_units::{Bytes, Duration, Instant};

/// Payload of a full packet.
pub(crate) const MSS: u64 = 1000;

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// This many milliseconds after the start.
pub(crate) fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// Linux's values for TCP, and those of RFC 9000 and RFC 9002 for QUIC.
pub(crate) fn config(profile: Profile) -> Config {
    let (ack_delay, min_rto, sack_ranges) = match profile {
        Profile::Tcp => (ms(40), ms(200), 3),
        Profile::Quic => (ms(25), ms(1), 32),
    };
    Config {
        profile,
        mss: Bytes(MSS),
        receive_window: Bytes::MAX,
        ack_every: 2,
        ack_delay,
        sack_ranges,
        ecn: true,
        ecn_feedback: EcnFeedback::Accurate,
        pacing: false,
        initial_burst: None,
        tso: Bytes::ZERO,
        gro: Duration::ZERO,
        prr: Some(PrrRule::Rfc9937),
        quick_acks: 0,
        timestamps: true,
        recovery_period: RecoveryPeriod::Rfc9002,
        min_rto,
    }
}
