//! The applications of an endpoint's connections.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use noq_proto::{Connection, Event};
use sojourn_quic::Held;
use sojourn_units::{Duration, Instant};

use super::run::COLLECT;
use crate::figures::Figures;

/// The reason for which an application closes its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closing {
    /// The application's error code (RFC 9000 section 20.2).
    pub code: u32,
    /// The reason in words, for the peer.
    pub reason: &'static str,
}

/// The application of a connection.
pub trait Application {
    /// An event of the connection.
    fn on_event(&mut self, now: Instant, event: Event, connection: &mut Connection);

    /// Reads and writes streams. Called after events, datagrams and timers, as long as the
    /// connection is open. Returns the reason to close it, if there is one.
    fn run(&mut self, now: Instant, connection: &mut Connection) -> Option<Closing>;

    /// Whether it has no data to write.
    fn is_app_limited(&self) -> bool;

    /// The data that it has read ahead of missing ones, for which the peer gets no credit yet. If they
    /// have too many pieces, the connection ends.
    fn held(&self) -> Held {
        Held::default()
    }

    /// The time of its next action.
    fn next_at(&self) -> Instant {
        Instant::MAX
    }
}

/// The applications of an endpoint's connections.
pub trait Service {
    /// The application of one connection.
    type App: Application;

    /// A client opens a connection.
    fn accept(&mut self, remote: SocketAddr) -> Self::App;

    /// A connection has ended.
    fn ended(&mut self, app: &mut Self::App, figures: &Figures) {
        let _ = (app, figures);
    }

    /// An open connection, once in each [`Service::look_every`].
    fn look(&mut self, app: &mut Self::App, figures: &Figures) {
        let _ = (app, figures);
    }

    /// A round-trip time was measured.
    fn on_rtt(&mut self, rtt: Duration) {
        let _ = rtt;
    }

    /// The reason for which the endpoint closes its connections at the end.
    fn closing(&self) -> Closing {
        Closing { code: 0, reason: "" }
    }

    /// A descriptor that is readable once an application has something to do.
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Time between calls of [`Service::look`]; `None` for no calls.
    fn look_every(&self) -> Option<Duration> {
        Some(COLLECT)
    }
}

/// Counts of datagrams and attempts that belong to no connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// Datagrams of no connection, without an answer.
    pub ignored: u64,
    /// Datagrams answered without a connection: version negotiation, resets.
    pub answered: u64,
    /// Attempts that were asked to prove their address.
    pub retries: u64,
    /// Attempts that were refused.
    pub refused: u64,
    /// Datagrams that the socket did not take, or that an ICMP error followed.
    pub unsent: u64,
    /// Panics of the stack and of applications, each of which ended the connection that it concerned.
    pub faults: u64,
}
