//! The settings of an endpoint.

use std::sync::Arc;

use noq_proto::{AckFrequencyConfig, IdleTimeout, TransportConfig, VarInt};
use sojourn_quic::noq::Kit;
use sojourn_units::{Bytes, Duration};

/// Settings of the connections of an endpoint.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The controller.
    pub kit: Kit,
    /// Size of a full packet, with headers of IP and UDP.
    pub mtu: u16,
    /// Data packets for each acknowledgement, which the sender requests; `None` for the stack's
    /// rule.
    pub ack_every: Option<u32>,
    /// A connection ends if the peer sends nothing for this long; `None` for never.
    pub idle: Option<Duration>,
    /// Data that may wait in the stack until their acknowledgement.
    pub send_window: Bytes,
    /// A packet that leaves late by up to this does not delay the next ones.
    pub catch_up: Duration,
    /// The thread spins for this long before a departure, since sleep ends late: for 10 ms at most,
    /// and for at most half of the time.
    pub spin: Duration,
    /// Whether the figures count retransmissions, which takes a look at each packet that leaves.
    pub counts_retransmissions: bool,
}

/// The credit of the peers (RFC 9000 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Data that the peer may send ahead of the application, on one stream and on all. Those behind a
    /// missing packet count for the window of all streams alone, since the stack has granted the
    /// stream credit for them again: one stream may then use the whole window.
    pub receive_windows: [Bytes; 2],
    /// Streams that the peer may open at a time, bidirectional and unidirectional.
    pub streams: [u32; 2],
}

impl Default for Credit {
    fn default() -> Credit {
        Credit { receive_windows: [Bytes(8 << 20), Bytes(16 << 20)], streams: [100, 100] }
    }
}

/// Limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time. More are refused. One address (of IPv6: a prefix of 56 bits) may hold as
    /// many as are free ([`sojourn_udp::server::Shares`]): alone, it gets half of them.
    pub connections: usize,
    /// Connections at a time whose peers have not proved their address. Further ones are asked to
    /// prove it first (Retry, RFC 9000 section 8.1.2).
    pub unproved: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 1_000, unproved: 100 }
    }
}

/// Headers of IPv6 and UDP, the larger ones.
const HEADERS: u16 = 48;

impl Settings {
    /// The defaults, with this controller.
    pub fn new(kit: Kit) -> Settings {
        Settings {
            kit,
            // RFC 9000 section 14: every path carries 1200 bytes.
            mtu: 1_200 + HEADERS,
            ack_every: None,
            idle: Some(Duration::from_secs(30)),
            send_window: Bytes(16 << 20),
            catch_up: sojourn_cc::CATCH_UP,
            spin: Duration::from_micros(50),
            counts_retransmissions: false,
        }
    }

    /// Payload of UDP in a full packet; `headers`: those of IP and UDP.
    pub(crate) fn payload(&self, is_ipv6: bool) -> u16 {
        self.mtu.saturating_sub(if is_ipv6 { HEADERS } else { HEADERS - 20 }).max(1_200)
    }

    /// The stack's configuration of one connection with this kit.
    pub(crate) fn transport(
        &self,
        kit: &Kit,
        credit: &Credit,
        is_ipv6: bool,
    ) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        kit.apply_to(&mut config);
        let acks = self.ack_every.map(|every| {
            let mut acks = AckFrequencyConfig::default();
            acks.ack_eliciting_threshold(VarInt::from_u32(every.saturating_sub(1)));
            acks
        });
        let idle = self.idle.map(|idle| {
            let milliseconds = u32::try_from(idle.0 / 1_000_000).unwrap_or(u32::MAX).max(1);
            IdleTimeout::from(VarInt::from_u32(milliseconds))
        });
        config
            .initial_mtu(self.payload(is_ipv6))
            .ack_frequency_config(acks)
            .enable_segmentation_offload(false)
            .max_idle_timeout(idle)
            .max_concurrent_bidi_streams(credit.streams[0].into())
            .max_concurrent_uni_streams(credit.streams[1].into())
            .datagram_receive_buffer_size(None)
            .send_window(self.send_window.0)
            .stream_receive_window(window(credit.receive_windows[0]))
            .receive_window(window(credit.receive_windows[1]));
        Arc::new(config)
    }
}

fn window(bytes: Bytes) -> VarInt {
    VarInt::from_u64(bytes.0).unwrap_or(VarInt::MAX)
}
