//! States and events of a client.

use sojourn_transport::Ack;
use sojourn_units::{Duration, Ecn, Instant};

use crate::wire::{Reason, Receipt};

/// Times after which a client gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the answer to the opening.
    pub opening: Duration,
    /// For any datagram of the server, once it has answered.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { opening: Duration::from_secs(10), silence: Duration::from_secs(10) }
    }
}

/// The client's next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send the datagram now, with this ECN field. `len`: payload of a data packet, which follows the
    /// datagram's octets.
    Datagram {
        /// ECN field.
        ecn: Ecn,
        /// Bytes of payload to append.
        payload: u16,
    },
    /// Wait until the pacer allows the next packet, at this time.
    Wait(Instant),
    /// Wait for a datagram, a timer or the application.
    Blocked,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The server has not answered.
    Opening,
    /// Data may leave.
    Open,
    /// The client has asked the server to end the connection.
    Closing,
    /// The connection has ended; with the server's receipt, if it arrived.
    Done(Option<Receipt>),
    /// The connection has failed.
    Failed(Fault),
}

/// The fault of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server did not answer the opening for this long.
    NoAnswer(Duration),
    /// The server sent no datagram for this long.
    Vanished(Duration),
    /// The server refused the connection.
    Refused(Reason),
    /// The server removes peers after this time of silence, which is too short for pings.
    IdleTimeout(Duration),
}

/// An event on arrival of a datagram.
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// The server accepted the connection.
    Opened,
    /// An acknowledgement, with its sample of the round-trip time.
    Acked(&'a Ack, Option<Duration>),
    /// Anything else.
    Other,
}
