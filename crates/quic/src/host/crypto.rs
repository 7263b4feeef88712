//! The cryptography of both ends.

use std::sync::Arc;

use noq_proto::crypto::{ClientConfig, ServerConfig};

use super::{plain, tls};

/// The configuration of the end that opens a connection, and of the other.
#[derive(Clone)]
pub(super) struct Crypto {
    pub(super) client: Arc<dyn ClientConfig>,
    pub(super) server: Arc<dyn ServerConfig>,
}

/// Names of the setting `crypto`.
pub(super) const NAMES: &[&str] = &["tls", "none"];

/// The cryptography of this name.
pub(super) fn named(name: &str) -> Crypto {
    if name == "none" { plain::plain() } else { tls::tls() }
}
