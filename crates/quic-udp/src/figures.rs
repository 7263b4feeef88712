//! The figures of a connection.

use std::net::SocketAddr;

use sojourn_trace::Histogram;
use sojourn_transport::StackState;
use sojourn_units::{Duration, Ecn, Instant};

/// Datagrams by ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagrams {
    /// Without ECN.
    pub not_ect: u64,
    /// With ECT(0).
    pub ect0: u64,
    /// With ECT(1).
    pub ect1: u64,
    /// With CE.
    pub ce: u64,
    /// Their payload of UDP in bytes.
    pub bytes: u64,
}

impl Datagrams {
    /// Their number.
    pub fn total(&self) -> u64 {
        self.not_ect + self.ect0 + self.ect1 + self.ce
    }

    pub(crate) fn count(&mut self, ecn: Ecn, bytes: usize) {
        *match ecn {
            Ecn::NotEct => &mut self.not_ect,
            Ecn::Ect0 => &mut self.ect0,
            Ecn::Ect1 => &mut self.ect1,
            Ecn::Ce => &mut self.ce,
        } += 1;
        self.bytes += bytes as u64;
    }
}

/// The end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The connection is open.
    Open,
    /// One of the two applications has closed it.
    Closed,
    /// The peer sent nothing until the idle timeout.
    Vanished,
    /// A fault of the protocol or the peer, in its words.
    Failed(String),
    /// A panic of the stack or the application, in its words, with its place. The connection ends
    /// without a word to the peer.
    Fault(String),
}

/// The figures of a connection.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The peer's address.
    pub remote: SocketAddr,
    /// The first datagram, and the end.
    pub opened_at: Instant,
    /// The end; the latest time while it is open.
    pub ended_at: Instant,
    /// Datagrams sent.
    pub sent: Datagrams,
    /// Datagrams received, with the field that they arrived with.
    pub received: Datagrams,
    /// Departures after their time, in ns.
    pub lateness: Histogram,
    /// Round-trip times in ns.
    pub rtts: Histogram,
    /// State of the sender; `marked` counts the packets that the peer reported with CE.
    pub state: StackState,
    /// The end.
    pub ending: Ending,
}

impl Figures {
    pub(crate) fn new(remote: SocketAddr, now: Instant) -> Figures {
        Figures {
            remote,
            opened_at: now,
            ended_at: now,
            sent: Datagrams::default(),
            received: Datagrams::default(),
            lateness: Histogram::new(),
            rtts: Histogram::new(),
            state: StackState::default(),
            ending: Ending::Open,
        }
    }

    /// Time from its begin to its end.
    pub fn span(&self) -> Duration {
        self.ended_at.since(self.opened_at)
    }
}
