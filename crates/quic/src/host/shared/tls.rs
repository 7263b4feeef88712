//! TLS 1.3 for both ends, with a certificate of the laboratory.
//!
//! The certificate and its key are public: they authenticate no real server. Its Ed25519
//! signatures have a fixed length, so the size of the handshake does not vary.

use std::sync::{Arc, OnceLock};

use super::crypto::Crypto;
use super::dialect::proto;
use crate::host::keylog;
use proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use proto::crypto::{ClientConfig, ServerConfig};
use proto::rustls;
use rustls::DigitallySignedStruct;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};

const CERTIFICATE: &[u8] = include_bytes!("../laboratory.crt.der");
const KEY: &[u8] = include_bytes!("../laboratory.key.der");
/// The server's name in the certificate.
pub const SERVER_NAME: &str = "sojourn.test";
const ALPN: &[u8] = b"sojourn";

/// The configuration, shared by all connections.
pub(super) fn tls() -> Crypto {
    static TLS: OnceLock<Crypto> = OnceLock::new();
    TLS.get_or_init(|| {
        let provider = Arc::new(CryptoProvider {
            cipher_suites: vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
            kx_groups: vec![ring::kx_group::X25519],
            ..ring::default_provider()
        });
        Crypto { client: client(&provider), server: server(provider) }
    })
    .clone()
}

const VALID: &str = "the configuration of TLS is constant";

fn client(provider: &Arc<CryptoProvider>) -> Arc<dyn ClientConfig> {
    let verifier = Arc::new(Pinned(Arc::clone(provider)));
    let mut config = rustls::ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect(VALID)
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    Arc::new(QuicClientConfig::try_from(config).expect(VALID))
}

fn server(provider: Arc<CryptoProvider>) -> Arc<dyn ServerConfig> {
    let (chain, key) = (vec![CertificateDer::from(CERTIFICATE)], PrivatePkcs8KeyDer::from(KEY));
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect(VALID)
        .with_no_client_auth()
        .with_single_cert(chain, key.into())
        .expect(VALID);
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.key_log = Arc::new(Log);
    // Tickets have a length that depends on the clock's digits, and no connection resumes.
    config.send_tls13_tickets = 0;
    Arc::new(QuicServerConfig::try_from(config).expect(VALID))
}

/// Keeps the secrets of the connection that this thread drives, for captures. The server has all of
/// them before it sends a packet that they protect.
#[derive(Debug)]
struct Log;

impl rustls::KeyLog for Log {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        keylog::add(label, client_random, secret);
    }

    fn will_log(&self, _: &str) -> bool {
        keylog::is_kept()
    }
}

/// Accepts the certificate of the laboratory alone, at any date.
#[derive(Debug)]
struct Pinned(Arc<CryptoProvider>);

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if end_entity.as_ref() == CERTIFICATE {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::CertificateError::UnknownIssuer.into())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
