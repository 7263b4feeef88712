//! Addresses, ports and initial numbers of the hosts of a flow.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;
use sojourn_trace::export::packet::End;

/// Greatest number of flows whose hosts have an address.
pub(super) const MOST_FLOWS: usize = 1 << 16;

/// One of a flow's two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// The host that sends the flow's data.
    Sender,
    /// The host that receives the flow's data.
    Receiver,
}

impl Host {
    /// Its name in those of files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Host::Sender => "sender",
            Host::Receiver => "receiver",
        }
    }

    pub(super) fn other(self) -> Host {
        match self {
            Host::Sender => Host::Receiver,
            Host::Receiver => Host::Sender,
        }
    }
}

/// The protocol between the hosts, by ports without another registered use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    Data,
    Requests,
}

/// The sender of flow 0 is 10.0.0.1 and its receiver 10.0.0.2; those of flow 300 are
/// 10.1.44.1 and 10.1.44.2.
pub(super) fn end(flow: usize, host: Host, service: Service) -> End {
    let last = match host {
        Host::Sender => 1,
        Host::Receiver => 2,
    };
    let port = match (host, service) {
        (Host::Sender, Service::Data) => 50_001,
        (Host::Sender, Service::Requests) => 50_002,
        (Host::Receiver, Service::Data) => 60_001,
        (Host::Receiver, Service::Requests) => 60_002,
    };
    End { address: [10, (flow >> 8) as u8, flow as u8, last], port }
}

/// A number for each connection and each of its hosts that looks random and is the same in every
/// run: an initial sequence number (RFC 9293 section 3.4.1), the start of a timestamp clock (RFC
/// 7323 section 7.1), a connection ID.
pub(super) fn arbitrary(connection: usize, what: u64) -> u64 {
    // The draw with this number of the generator with seed 0, which steps by the constant.
    let seed = (connection as u64 * 8 + what).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    SplitMix64::seed_from_u64(seed).next_u64()
}
