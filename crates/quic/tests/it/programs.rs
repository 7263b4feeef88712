//! The programs of `programs`, which are examples of the crate: a server with any controller, for
//! users of quinn and of noq. A client of the same stack downloads from it over loopback.

use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

/// The servers' certificate, which is its own issuer.
const CERTIFICATE: &[u8] = include_bytes!("../../src/endpoint/laboratory.crt.der");

/// Ends the server with the test.
struct Server(Child, SocketAddr);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    fn start(name: &str, control: &str) -> Server {
        let tests = std::env::current_exe().unwrap();
        let program = tests.parent().and_then(Path::parent).unwrap().join("examples").join(name);
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/endpoint");
        // The port is free again when the server binds it.
        let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (cert, key) = (here.join("laboratory.crt.der"), here.join("laboratory.key.der"));
        let child = Command::new(&program)
            .args([control, &address.to_string()])
            .args([cert, key])
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        Server(child, address)
    }
}

macro_rules! download {
    ($stack:ident, $name:literal, $control:literal) => {{
        let server = Server::start($name, $control);
        let kit = sojourn_quic::$stack::Kit::new($control)?;
        let mut roots = $stack::rustls::RootCertStore::empty();
        roots.add(CERTIFICATE.into())?;
        let provider = Arc::new($stack::rustls::crypto::ring::default_provider());
        let tls = $stack::rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&$stack::rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let crypto = $stack::crypto::rustls::QuicClientConfig::try_from(tls)?;
        let mut config = $stack::ClientConfig::new(kit.client(Arc::new(crypto)));
        let mut transport = $stack::TransportConfig::default();
        kit.apply_to(&mut transport);
        config.transport_config(Arc::new(transport));
        let socket = $stack::Runtime::wrap_udp_socket(
            &$stack::TokioRuntime,
            UdpSocket::bind("127.0.0.1:0")?,
        )?;
        let endpoint = $stack::Endpoint::new_with_abstract_socket(
            $stack::EndpointConfig::default(),
            None,
            kit.socket(socket),
            Arc::new($stack::TokioRuntime),
        )?;
        // The client repeats its first packet until the server listens.
        let connecting =
            endpoint.connect_with(config, server.1, sojourn_quic::endpoint::$stack::SERVER_NAME)?;
        let connection = tokio::time::timeout(Duration::from_secs(20), connecting).await??;
        let mut stream = connection.accept_uni().await?;
        let mut received = 0;
        let mut buffer = [0; 1 << 16];
        while let Some(bytes) = stream.read(&mut buffer).await? {
            received += bytes;
            // The program does not end its stream.
            if received >= 1 << 20 {
                break;
            }
        }
        connection.close(0_u32.into(), b"");
        endpoint.wait_idle().await;
        Ok(received)
    }};
}

fn block_on(
    download: impl Future<Output = Result<usize, Box<dyn Error>>>,
) -> Result<usize, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(download)
}

#[test]
fn a_server_of_quinn_has_a_controller_by_name() {
    for received in [
        block_on(async { download!(quinn, "quinn_server", "prague") }),
        block_on(async { download!(quinn, "quinn_server", "bbr3") }),
    ] {
        assert_eq!(received.unwrap(), 1 << 20);
    }
}

#[test]
fn a_server_of_noq_has_a_controller_by_name() {
    for received in [
        block_on(async { download!(noq, "noq_server", "prague") }),
        block_on(async { download!(noq, "noq_server", "bbr3") }),
    ] {
        assert_eq!(received.unwrap(), 1 << 20);
    }
}

/// Blank lines and the comment aside.
#[test]
fn the_programs_have_at_most_twenty_lines() {
    for text in [
        include_str!("../../programs/quinn_server.rs"),
        include_str!("../../programs/noq_server.rs"),
    ] {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("//!"));
        assert!(lines.count() <= 20);
    }
}
