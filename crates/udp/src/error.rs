//! Faults of connections and sockets, each in one line with its place and a remedy.

use std::io;
use std::net::SocketAddr;

use sojourn_units::{Bytes, Duration};

use crate::client::{Fault, Refusal};
use crate::wire::bounds::LEAST_IDLE;
use crate::wire::{Reason, VERSION};

/// Why a transfer or a server could not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The socket could not be opened.
    #[error("cannot open UDP {address}: {source}; {}", bind_remedy(.source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The network or the peer's machine rejects the datagrams.
    #[error("{address} is not reachable: {source}; {}", reach_remedy(.source))]
    NotReachable {
        /// The server's address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The server did not answer.
    #[error(
        "{address} did not answer within {after}; check that `sojourn serve` runs there, and that \
         no firewall drops UDP"
    )]
    NoAnswer {
        /// The server's address.
        address: SocketAddr,
        /// The time.
        after: Duration,
    },
    /// The server stopped to answer.
    #[error(
        "{address} sent nothing for {after}, after {} had arrived; check the server and the path, \
         and start again", bytes_text(*.delivered)
    )]
    Vanished {
        /// The server's address.
        address: SocketAddr,
        /// The time.
        after: Duration,
        /// Payload that it had acknowledged.
        delivered: Bytes,
    },
    /// The server refused the connection.
    #[error("{address} refused the connection: {}", reason_text(.reason))]
    Refused {
        /// The server's address.
        address: SocketAddr,
        /// Its reason.
        reason: Reason,
    },
    /// The server removes peers too soon.
    #[error(
        "{address} removes peers that are silent for {idle}, and a client's pings need at least \
         {LEAST_IDLE}; raise the server's idle timeout"
    )]
    IdleTimeout {
        /// The server's address.
        address: SocketAddr,
        /// Its idle timeout.
        idle: Duration,
    },
    /// A server would remove peers too soon.
    #[error(
        "a server cannot have the idle timeout {idle}, since clients' pings need at least \
         {LEAST_IDLE}; raise it"
    )]
    ShortIdle {
        /// The idle timeout.
        idle: Duration,
    },
    /// The name of the controller is unknown.
    #[error("no controller is named `{name}`; there are: {known}")]
    UnknownController {
        /// The name.
        name: String,
        /// The names of all controllers.
        known: String,
    },
    /// The connection lacks an input of the controller.
    #[error(transparent)]
    Controller(#[from] Refusal),
    /// A source that needs a connection in the other direction.
    #[error(
        "a source with requests needs data from the server, which it does not send; use `bulk`, `file`, `files` or `on-off`"
    )]
    Requests,
    /// The settings make packets that the path cannot carry.
    #[error(
        "a packet of {size} bytes exceeds the path to {address}; set host.mss to at most {most}B"
    )]
    TooLarge {
        /// The server's address.
        address: SocketAddr,
        /// Its size with IP header.
        size: u64,
        /// The greatest payload that fits.
        most: u64,
    },
    /// The kernel does not hold packets until their departure times.
    #[error("the kernel cannot pace: {0}; or let Sojourn pace (--departures timer)")]
    Departures(String),
    /// A socket's operation failed.
    #[error(
        "cannot {action} on the UDP socket: {source}; check the limits and the privileges of this process"
    )]
    Socket {
        /// What was tried.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// The error of a failed connection.
    pub(crate) fn of(fault: Fault, address: SocketAddr, delivered: Bytes) -> Error {
        match fault {
            Fault::NoAnswer(after) => Error::NoAnswer { address, after },
            Fault::Vanished(after) => Error::Vanished { address, after, delivered },
            Fault::Refused(reason) => Error::Refused { address, reason },
            Fault::IdleTimeout(idle) => Error::IdleTimeout { address, idle },
        }
    }

    pub(crate) fn socket(action: &'static str, source: impl Into<io::Error>) -> Error {
        Error::Socket { action, source: source.into() }
    }
}

/// Any number of bytes in a readable unit.
fn bytes_text(bytes: Bytes) -> String {
    match bytes.as_f64() {
        some if some >= 1e6 => format!("{:.1} MB", some / 1e6),
        some if some >= 1e3 => format!("{:.1} kB", some / 1e3),
        some => format!("{some} bytes"),
    }
}

fn bind_remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            "choose another port, or end the program that uses it (ss -ulpn)"
        }
        io::ErrorKind::AddrNotAvailable => {
            "use an address of this machine (ip address), or 0.0.0.0 for all"
        }
        io::ErrorKind::PermissionDenied => "choose a port above 1023, or run it as root",
        _ => "check the address and the network (ip address, ip route)",
    }
}

fn reach_remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::ConnectionRefused => "start `sojourn serve` there, or check the port number",
        io::ErrorKind::PermissionDenied => "a firewall of this machine forbids it",
        _ => "check the address and the route (ip route get ADDRESS)",
    }
}

fn reason_text(reason: &Reason) -> String {
    match reason {
        Reason::Full => "it has as many peers as it accepts; try again later, or raise its limit \
                         of peers"
            .to_owned(),
        Reason::Terms => "the settings need more memory than it gives to a peer; use a larger \
                          host.mss, or raise its limit of memory"
            .to_owned(),
        Reason::Version(version) => {
            format!("it has version {version} of the format, not {VERSION}; use the same release")
        }
    }
}
