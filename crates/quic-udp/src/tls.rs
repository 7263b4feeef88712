//! TLS 1.3 for servers and clients of HTTP/3.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::crypto::{ClientConfig, ServerConfig};
use noq_proto::rustls;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};

use sojourn_quic::endpoint::{KeyLogSink, key_log};

use crate::h3::ALPN;

/// A certificate or a key that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or has no certificate or key.
    #[error("{}: {reason}; {remedy}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// Certificate and key do not belong together, or their kind is not supported.
    #[error("{} does not fit {}: {reason}; give the key of this certificate", .key.display(), .certificate.display())]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// The fault.
        reason: String,
    },
    /// No certificate of the system was found.
    #[error(
        "this system has no certificates of authorities in a usual place; give --ca FILE, or --insecure"
    )]
    NoRoots,
    /// The certificate could not be made.
    #[error("cannot make a certificate: {0}; give --cert FILE and --key FILE")]
    Make(String),
}

/// The certificate of a server.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// The certificate in PEM, if it was made here.
    pub pem: Option<String>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("chain", &self.chain.len()).finish_non_exhaustive()
    }
}

/// The trust of a client in a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The authorities of the system.
    System,
    /// The certificates of a file in PEM: authorities, or the server's own.
    File(PathBuf),
    /// Any certificate: anyone on the path can be the server.
    Any,
}

impl Identity {
    /// A certificate made now, for `localhost` and this address, and signed by its own key.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn made(address: IpAddr) -> Result<Identity, TlsError> {
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        if !address.is_unspecified() && !address.is_loopback() {
            names.push(address.to_string());
        }
        let made = rcgen::generate_simple_self_signed(names);
        let made = made.map_err(|error| TlsError::Make(error.to_string()))?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der());
        let key = key.map_err(|error| TlsError::Make(error.to_owned()))?;
        Ok(Identity { chain: vec![made.cert.der().clone()], key, pem: Some(made.cert.pem()) })
    }

    /// The certificate chain and the key of two files in PEM.
    ///
    /// # Errors
    /// If a file cannot be read, has no certificate or no key, or they do not belong together.
    pub fn read(certificate: &Path, key: &Path) -> Result<Identity, TlsError> {
        let chain = certificates(certificate)?;
        let read = PrivateKeyDer::from_pem_file(key);
        let read = read.map_err(|error| {
            file(
                key,
                error,
                "a private key",
                "give a private key in PEM (-----BEGIN PRIVATE KEY-----)",
            )
        })?;
        let provider = ring::default_provider();
        let signing = provider.key_provider.load_private_key(read.clone_key());
        let certified = signing.and_then(|signing| {
            let certified = rustls::sign::CertifiedKey::new(chain.clone(), signing);
            certified.keys_match().map(|()| certified)
        });
        match certified {
            Ok(_) => Ok(Identity { chain, key: read, pem: None }),
            Err(error) => Err(TlsError::Mismatch {
                certificate: certificate.to_owned(),
                key: key.to_owned(),
                reason: error.to_string(),
            }),
        }
    }

    /// The cryptography of a server with this certificate, which passes the secrets of its
    /// connections to `secrets`, if given.
    ///
    /// # Errors
    /// If its kind is not supported.
    pub fn server(self, secrets: Option<KeyLogSink>) -> Result<Arc<dyn ServerConfig>, TlsError> {
        let refused = |error: &dyn fmt::Display| TlsError::Make(error.to_string());
        let mut config =
            rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .map_err(|error| refused(&error))?
                .with_no_client_auth()
                .with_single_cert(self.chain, self.key)
                .map_err(|error| refused(&error))?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.key_log = secrets.map_or(config.key_log, key_log);
        // No connection resumes: the server keeps no state for later ones.
        config.send_tls13_tickets = 0;
        let config = QuicServerConfig::try_from(config).map_err(|error| refused(&error))?;
        Ok(Arc::new(config))
    }
}

impl Trust {
    /// The cryptography of a client with this trust, which passes the secrets of its connections to
    /// `secrets`, if given.
    ///
    /// # Errors
    /// If a file cannot be read or has no certificate.
    pub fn client(&self, secrets: Option<KeyLogSink>) -> Result<Arc<dyn ClientConfig>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let refused = |error: &dyn fmt::Display| TlsError::Make(error.to_string());
        let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| refused(&error))?;
        let mut config = match self {
            Trust::Any => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
                .with_no_client_auth(),
            Trust::File(path) => builder.with_root_certificates(roots(path)?).with_no_client_auth(),
            Trust::System => {
                builder.with_root_certificates(roots(&system()?)?).with_no_client_auth()
            }
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.key_log = secrets.map_or(config.key_log, key_log);
        let config = QuicClientConfig::try_from(config).map_err(|error| refused(&error))?;
        Ok(Arc::new(config))
    }
}

/// The authorities' file of Debian and Ubuntu, Fedora, openSUSE, and Alpine; or that of the variable
/// which OpenSSL reads.
fn system() -> Result<PathBuf, TlsError> {
    let usual = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ];
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let found = usual.iter().map(PathBuf::from).find(|path| path.is_file());
    named.or(found).ok_or(TlsError::NoRoots)
}

fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    let certificates = certificates(path)?;
    let (_, unusable) = store.add_parsable_certificates(certificates);
    if store.is_empty() {
        let reason = format!("none of its {unusable} certificates is usable");
        let remedy = "give a certificate in PEM";
        return Err(TlsError::File { path: path.to_owned(), reason, remedy });
    }
    Ok(store)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let remedy = "give a certificate in PEM (-----BEGIN CERTIFICATE-----)";
    let fault = |error| file(path, error, "a certificate", remedy);
    let all = CertificateDer::pem_file_iter(path).map_err(fault)?;
    let all = all.collect::<Result<Vec<_>, _>>().map_err(fault)?;
    if all.is_empty() {
        return Err(fault(pem::Error::NoItemsFound));
    }
    Ok(all)
}

fn file(path: &Path, error: pem::Error, what: &str, remedy: &'static str) -> TlsError {
    let reason = match error {
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => format!("it does not contain {what}"),
        other => other.to_string(),
    };
    TlsError::File { path: path.to_owned(), reason, remedy }
}

/// Accepts every certificate.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
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

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
