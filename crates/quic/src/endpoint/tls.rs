//! TLS 1.3 for both ends, with a certificate of the laboratory.
//!
//! The certificate and its key are public: they authenticate no real server. Its Ed25519
//! signatures have a fixed length, so the size of the handshake does not vary.

use std::sync::Arc;
use std::time::Duration;

// Both stacks have the same version of rustls.
#[cfg(feature = "noq")]
use noq_proto::rustls;
#[cfg(not(feature = "noq"))]
use quinn_proto::rustls;
use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::time_provider::TimeProvider;

use super::keylog::{self, KeyLogSink};

const CERTIFICATE: &[u8] = include_bytes!("laboratory.crt.der");
const KEY: &[u8] = include_bytes!("laboratory.key.der");
/// The server's name in the certificate.
pub const SERVER_NAME: &str = "sojourn.test";
const ALPN: &[u8] = b"sojourn";

pub(super) const VALID: &str = "the configuration of TLS is constant";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![ring::kx_group::X25519],
        ..ring::default_provider()
    })
}

/// A client that trusts the certificate of the laboratory alone, at any date.
pub(super) fn client() -> rustls::ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(CERTIFICATE)).expect(VALID);
    let mut config = rustls::ClientConfig::builder_with_details(provider(), Arc::new(Issued))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect(VALID)
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    config
}

/// A server with that certificate. Without a sink, the thread that drives the connection keeps the
/// secrets.
pub(super) fn server(secrets: Option<KeyLogSink>) -> rustls::ServerConfig {
    let (chain, key) = (vec![CertificateDer::from(CERTIFICATE)], PrivatePkcs8KeyDer::from(KEY));
    let mut config = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect(VALID)
        .with_no_client_auth()
        .with_single_cert(chain, key.into())
        .expect(VALID);
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.key_log = secrets.map_or_else(|| Arc::new(OfThread) as _, key_log);
    // Tickets have a length that depends on the clock's digits, and no connection resumes.
    config.send_tls13_tickets = 0;
    config
}

/// Keeps the secrets of the connection that this thread drives, for captures. The server has all of
/// them before it sends a packet that they protect.
#[derive(Debug)]
struct OfThread;

impl rustls::KeyLog for OfThread {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        keylog::add(label, client_random, secret);
    }

    fn will_log(&self, _: &str) -> bool {
        keylog::is_kept()
    }
}

/// Passes the secrets on.
#[derive(Debug)]
struct ToSink(KeyLogSink);

/// A key log that passes the secrets of connections to `sink`.
pub fn key_log(sink: KeyLogSink) -> Arc<dyn rustls::KeyLog> {
    Arc::new(ToSink(sink))
}

impl rustls::KeyLog for ToSink {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        self.0.add(&keylog::line(label, client_random, secret));
    }
}

/// A time at which the certificate is valid, independent of this machine's clock: 1 January 2027,
/// 00:00 UTC.
#[derive(Debug)]
struct Issued;

impl TimeProvider for Issued {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(1_798_761_600)))
    }
}
