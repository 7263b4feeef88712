//! The cryptography of both ends.

use std::sync::Arc;

use super::dialect::proto;
use super::{plain, tls};
use proto::crypto::{ClientConfig, ServerConfig};

/// The configuration of the end that opens a connection, and of the other.
#[derive(Clone)]
pub(super) struct Crypto {
    pub(super) client: Arc<dyn ClientConfig>,
    pub(super) server: Arc<dyn ServerConfig>,
}

/// The cryptography of this name.
pub(super) fn named(name: &str) -> Crypto {
    if name == "none" { plain::plain() } else { tls::tls() }
}
