//! Faults of endpoints, each in one line with its place and a remedy.

use std::io;
use std::net::SocketAddr;

use sojourn_units::Duration;

/// Why an endpoint could not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The socket could not be opened, or failed.
    #[error(transparent)]
    Socket(#[from] sojourn_udp::Error),
    /// The network or the peer's machine rejects the datagrams.
    #[error("{address} is not reachable: {source}; {}", reach_remedy(.source))]
    NotReachable {
        /// The server's address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A datagram exceeds the MTU of the interface.
    #[error("a packet of {size} bytes exceeds the MTU of the path to {address}; lower `mtu`")]
    TooLarge {
        /// The peer's address.
        address: SocketAddr,
        /// Its payload of UDP in bytes.
        size: usize,
    },
    /// The server did not answer.
    #[error(
        "{address} did not answer within {after}; check that a QUIC server runs there, and that no \
         firewall drops UDP"
    )]
    NoAnswer {
        /// The server's address.
        address: SocketAddr,
        /// The time.
        after: Duration,
    },
    /// The server closed the connection before the handshake had ended.
    #[error(
        "{address} refused the connection; it has as many as it accepts, or is no server of HTTP/3"
    )]
    Refused {
        /// The server's address.
        address: SocketAddr,
    },
    /// The server stopped to answer.
    #[error("{address} stopped to answer; check the server and the path, and start again")]
    Vanished {
        /// The server's address.
        address: SocketAddr,
    },
    /// A fault of the connection.
    #[error("the connection to {address} failed: {reason}{}", failed_remedy(.reason))]
    Failed {
        /// The server's address.
        address: SocketAddr,
        /// The stack's words.
        reason: String,
    },
    /// The body cannot be written.
    #[error("cannot write the body: {0}; check the disk and the file")]
    Sink(io::Error),
    /// A certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] crate::tls::TlsError),
    /// The stack refuses the settings of a connection.
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// The server's address.
        address: SocketAddr,
        /// The stack's reason.
        reason: String,
    },
}

fn reach_remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::ConnectionRefused => "start a QUIC server there, or check the port number",
        io::ErrorKind::PermissionDenied => "a firewall of this machine forbids it",
        _ => "check the address and the route (ip route get ADDRESS)",
    }
}

fn failed_remedy(reason: &str) -> &'static str {
    let names = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    if names(&["UnknownIssuer", "invalid peer certificate"]) {
        "; give --ca FILE with the server's certificate, or --insecure in a laboratory"
    } else if names(&["no application protocol", "NoApplicationProtocol"]) {
        "; the server does not offer HTTP/3"
    } else if names(&["refused"]) {
        "; the server has as many connections as it accepts"
    } else {
        ""
    }
}
