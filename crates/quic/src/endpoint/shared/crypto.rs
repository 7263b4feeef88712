//! The cryptography of both ends.

use std::sync::Arc;

use super::dialect::proto;
pub use super::tls::{SERVER_NAME, key_log};
use super::{plain, tls};
use crate::endpoint::KeyLogSink;
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
    if name == "none" { plain::plain() } else { tls::tls(secrets) }
}
