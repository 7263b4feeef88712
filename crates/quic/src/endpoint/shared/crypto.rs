//! The cryptography of both ends.

use std::sync::{Arc, OnceLock};

use super::dialect::proto;
use super::plain;
use crate::endpoint::KeyLogSink;
use crate::endpoint::tls::{self, VALID};
pub use crate::endpoint::tls::{SERVER_NAME, key_log};
use proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use proto::crypto::{ClientConfig, ServerConfig};

/// The configuration of the end that opens a connection, and of the other.
#[derive(Clone)]
pub struct Crypto {
    /// The client's configuration: the end that opens the connection.
    pub client: Arc<dyn ClientConfig>,
    /// The server's configuration: the other end.
    pub server: Arc<dyn ServerConfig>,
}

/// The cryptography of a name of the setting `crypto`; the server's name is [`SERVER_NAME`]. The
/// server passes its TLS secrets to `secrets`, if given.
pub fn cryptography(name: &str, secrets: Option<KeyLogSink>) -> Crypto {
    static TLS: OnceLock<Crypto> = OnceLock::new();
    match secrets {
        _ if name == "none" => plain::plain(),
        None => TLS.get_or_init(|| tls(None)).clone(),
        Some(sink) => tls(Some(sink)),
    }
}

fn tls(secrets: Option<KeyLogSink>) -> Crypto {
    let client = QuicClientConfig::try_from(tls::client()).expect(VALID);
    let server = QuicServerConfig::try_from(tls::server(secrets)).expect(VALID);
    Crypto { client: Arc::new(client), server: Arc::new(server) }
}
