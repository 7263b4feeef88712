//! Inputs and reports of a server.

use std::net::SocketAddr;

use sojourn_units::{Duration, Ecn, Instant};

use crate::wire::Receipt;

/// Arrival of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The sender's address.
    pub from: SocketAddr,
    /// Time of arrival.
    pub at: Instant,
    /// ECN field.
    pub ecn: Ecn,
}

/// Sends the server's datagrams.
pub trait Outbox {
    /// Sends `datagram` to `to`, Not-ECT.
    fn send(&mut self, to: SocketAddr, datagram: &[u8]);
}

impl<F: FnMut(SocketAddr, &[u8])> Outbox for F {
    fn send(&mut self, to: SocketAddr, datagram: &[u8]) {
        self(to, datagram);
    }
}

/// The end of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client closed the connection.
    Closed,
    /// No datagram arrived for the idle timeout.
    Vanished,
    /// The peer has not ended yet.
    Open,
}

/// Everything that is known of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerReport {
    /// Its address.
    pub address: SocketAddr,
    /// When its first HELLO arrived.
    pub opened_at: Instant,
    /// From then until its last data packet.
    pub span: Duration,
    /// Counts of the data that arrived from it.
    pub receipt: Receipt,
    /// Data packets that the client says it sent; `None` if it did not close the connection.
    pub sent: Option<u64>,
    /// Data packets dropped because they exceeded its window.
    pub beyond_window: u64,
    /// Whether and how it ended.
    pub ending: Ending,
}

impl PeerReport {
    /// Data packets that did not arrive; `None` if their number is unknown.
    pub fn lost(&self) -> Option<u64> {
        let arrived = self.receipt.packets.saturating_sub(self.receipt.duplicates);
        self.sent.map(|sent| sent.saturating_sub(arrived))
    }

    /// Payload over the time of the connection, in bit/s; `None` without a span.
    pub fn goodput_bps(&self) -> Option<f64> {
        let seconds = self.span.as_secs_f64();
        (seconds > 0.0).then(|| self.receipt.bytes as f64 * 8.0 / seconds)
    }
}

/// Counts of datagrams that belong to no peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// Datagrams that are not of the format.
    pub malformed: u64,
    /// Datagrams of unknown connections.
    pub unknown: u64,
    /// RETRYs sent.
    pub retries: u64,
    /// Connections refused.
    pub refused: u64,
}
