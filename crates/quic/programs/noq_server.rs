//! A server of noq that sends 1 MB with the controller that its first argument names.

use std::{env::args, error::Error, fs::read, net::UdpSocket, sync::Arc};

use noq::{Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime, TransportConfig};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let [control, address, cert, key] = [1, 2, 3, 4].map(|place| args().nth(place).unwrap());
    let kit = sojourn_quic::noq::Kit::new(&control)?;
    let key = read(key)?.try_into()?;
    let mut config = ServerConfig::with_single_cert(vec![read(cert)?.into()], key)?;
    config.crypto = kit.server(config.crypto);
    let mut transport = TransportConfig::default();
    kit.apply_to(&mut transport);
    config.transport_config(Arc::new(transport)).migration(false);
    let socket = kit.socket(TokioRuntime.wrap_udp_socket(UdpSocket::bind(address)?)?);
    let (own, runtime) = (EndpointConfig::default(), Arc::new(TokioRuntime));
    let endpoint = Endpoint::new_with_abstract_socket(own, Some(config), socket, runtime)?;
    let connection = endpoint.accept().await.unwrap().await?;
    connection.open_uni().await?.write_all(&[0; 1 << 20]).await?;
    connection.closed().await;
    Ok(())
}
