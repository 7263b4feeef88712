//! The cryptography of both ends.

use std::sync::Arc;

use noq_proto::crypto::{ClientConfig, ServerConfig};

pub use super::tls::SERVER_NAME;
use super::{plain, tls};

/// The configuration of the end that opens a connection, and of the other.
#[derive(Clone)]
pub struct Crypto {
    /// Of the end that opens the connection.
    pub client: Arc<dyn ClientConfig>,
    /// Of the other end.
    pub server: Arc<dyn ServerConfig>,
}

/// Names of the setting `crypto`.
pub(super) const NAMES: &[&str] = &["tls", "none"];

/// The cryptography of a name of the setting `crypto`; the server's name is [`SERVER_NAME`].
pub fn cryptography(name: &str) -> Crypto {
    if name == "none" { plain::plain() } else { tls::tls() }
}
