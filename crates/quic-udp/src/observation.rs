//! The observation of an endpoint: its datagrams, the events of its connections, and their secrets.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use sojourn_quic::endpoint::KeyLogSink;
use sojourn_transport::StackEvent;
use sojourn_units::{Ecn, Instant};

/// A datagram at the socket of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'a> {
    /// The time just before the call that sends it, or the kernel's receive time.
    pub at: Instant,
    /// Whether the endpoint sent it.
    pub is_sent: bool,
    /// The endpoint's address; unspecified if the system did not tell it.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
    /// The ECN field.
    pub ecn: Ecn,
    /// Its payload.
    pub payload: &'a [u8],
}

/// Follows an endpoint, in its thread: each call delays the next packet. Connections have numbers
/// from 1 on, in the order of their begin.
pub trait Observer: Send {
    /// An endpoint begins, whose times count from `epoch_ns`, in nanoseconds since 1970.
    fn begun(&mut self, epoch_ns: u64) {
        let _ = epoch_ns;
    }

    /// Whether [`Observer::opened`], [`Observer::event`] and [`Observer::ended`] are to be called.
    fn follows_connections(&self) -> bool {
        false
    }

    /// A connection begins between these addresses: the endpoint's own, and the peer's.
    fn opened(&mut self, now: Instant, connection: u64, ends: [SocketAddr; 2]) {
        let _ = (now, connection, ends);
    }

    /// An event at the endpoint's end of a connection.
    fn event(&mut self, now: Instant, connection: u64, event: &StackEvent) {
        let _ = (now, connection, event);
    }

    /// A connection is over; no events follow.
    fn ended(&mut self, connection: u64) {
        let _ = connection;
    }

    /// A datagram passes the socket.
    fn datagram(&mut self, passing: &Passing<'_>) {
        let _ = passing;
    }
}

/// An observer of one endpoint, or of several in succession.
pub type SharedObserver = Arc<Mutex<dyn Observer>>;

/// The observer of an endpoint, and the taker of the TLS secrets of its connections.
#[derive(Clone, Default)]
pub struct Observation {
    /// The observer, if there is one.
    pub observer: Option<SharedObserver>,
    /// The taker of secrets, if they are wanted.
    pub secrets: Option<KeyLogSink>,
}

impl std::fmt::Debug for Observation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (observer, secrets) = (self.observer.is_some(), self.secrets.is_some());
        f.debug_struct("Observation")
            .field("observer", &observer)
            .field("secrets", &secrets)
            .finish()
    }
}

/// Calls the observer, if there is one.
pub(crate) fn inform(observer: Option<&SharedObserver>, call: impl FnOnce(&mut dyn Observer)) {
    if let Some(observer) = observer {
        call(&mut *observer.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
