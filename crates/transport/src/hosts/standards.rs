//! Hosts as the standards and simulators have them.

use super::{Host, Value, is};
use crate::choices::Profile;
use crate::noise::Noise;

/// A short random delay, without which packets of several flows move in step.
pub(super) const NS_2: (Noise, &str) =
    (Noise::Ns2, "ns-2's `overhead_`, the same on the sending side");

pub(super) const RFC: Host = Host {
    name: "rfc",
    title: "TCP as the standards have it, with the timers of current hosts",
    profile: Profile::Tcp,
    differs: &[],
    noise: NS_2,
    parameters: &[],
};

const NS_3_ACKS: &[Value] = &[
    is("quick_acks", "1", "TcpSocketBase::ReceivedData: the first segment is acknowledged at once"),
    is("ack_delay", "200ms", "TcpSocket, attribute DelAckTimeout"),
];

const NS_3_NOISE: (Noise, &str) = (Noise::None, "ns-3: nodes process packets at once");

pub(super) const NS_3: Host = Host {
    name: "ns-3",
    title: "TCP of the simulator ns-3",
    profile: Profile::Tcp,
    differs: &[NS_3_ACKS],
    noise: NS_3_NOISE,
    parameters: &[],
};

pub(super) const NS_3_OVERFLOW: Host = Host {
    name: "ns-3-overflow",
    title: "the same with large windows, at which its PRR overflows 32 bits",
    profile: Profile::Tcp,
    differs: &[
        NS_3_ACKS,
        &[is("prr", "none", "TcpPrrRecovery::DoRecovery: products of two windows in 32 bits")],
    ],
    noise: NS_3_NOISE,
    parameters: &[],
};
