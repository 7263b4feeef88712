//! Hosts of QUIC.

use super::standards::NS_2;
use super::{Host, Value, is};
use crate::choices::Profile;
use crate::noise::Noise;

pub(super) const QUIC: Host = Host {
    name: "quic",
    title: "QUIC as the standards have it, with the pacing of deployed stacks",
    profile: Profile::Quic,
    differs: &[],
    noise: NS_2,
    parameters: &[],
};

pub(super) const UDP: Host = Host {
    name: "udp",
    title: "Sojourn's transport over UDP, which live runs and `sojourn send` have",
    profile: Profile::Quic,
    differs: &[],
    noise: (Noise::Process, "captures of live runs on an idle machine (studies/live)"),
    parameters: &[],
};

/// Packets of 1440 bytes, as the links of its tests count them.
const PACKETS: &[Value] = &[
    is("mss", "1413B", "Huitema 2022, A Low Latency Internet with L4S: stream data of a packet"),
    is("header", "27B", "the same: the rest of 1440 bytes"),
];

pub(super) const PICOQUIC: Host = Host {
    name: "picoquic",
    title: "picoquic on the links of its own tests",
    profile: Profile::Quic,
    differs: &[PACKETS],
    noise: NS_2,
    parameters: &[],
};

pub(super) const PICOQUIC_2022: Host = Host {
    name: "picoquic-2022",
    title: "the same until 31 August 2022: one overflow may reduce the window twice",
    profile: Profile::Quic,
    differs: &[
        PACKETS,
        &[is(
            "recovery_period",
            "picoquic-2022",
            "picoquic until its change of 31 August 2022, by which a period ends the reaction to \
             all losses of packets sent before it",
        )],
    ],
    noise: NS_2,
    parameters: &[],
};
