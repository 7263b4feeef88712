//! The loop of an endpoint, without a peer.

use nix::errno::Errno;
use sojourn_quic::noq::Kit;
use sojourn_udp::io::open_here;

use super::*;
use crate::h3::Get;
use crate::tls::Trust;

struct Clients;

impl Service for Clients {
    type App = Get;

    fn accept(&mut self, _: SocketAddr) -> Get {
        unreachable!("clients accept no connection")
    }
}

/// A client's endpoint with two connections.
fn driver() -> Driver<Clients> {
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let socket = Socket::bind(any, &open_here).expect("binds");
    let settings = Settings::new(Kit::new("cubic").expect("a controller"));
    let mut driver = Driver::client(socket, Clock::start(), settings, Clients).expect("ok");
    let to = driver.local_addr().expect("bound");
    let crypto = Trust::Any.client().expect("any");
    for _ in 0..2 {
        let get = Get::new("localhost", "/", 1, Box::new(|_| Ok(())));
        driver.connect(to, "localhost", Arc::clone(&crypto), get).expect("connects");
    }
    driver
}

#[test]
fn a_held_datagram_survives_the_turns_of_other_connections() {
    let mut driver = driver();
    let to = driver.local_addr().ok();
    let route = Route { to, from: None, ecn: Ecn::NotEct, departure_ns: None };
    driver.held = Some((route, vec![7]));
    driver.ready.clear();
    for key in driver.peers.keys().copied().collect::<Vec<_>>() {
        driver.drive(key).expect("drives");
        assert!(driver.ready.contains(&key), "it has its turn later");
        assert_eq!(driver.peers[&key].figures.sent.total(), 0);
    }
    assert_eq!(driver.held.as_ref().map(|(_, bytes)| &bytes[..]), Some(&[7][..]));
    driver.close_all();
    assert!(driver.held.is_none());
    assert!(driver.peers.values().all(|peer| peer.figures.sent.total() > 0));
}

#[test]
fn only_faults_of_the_socket_end_an_endpoint() {
    let mut driver = driver();
    for peer in driver.peers.values_mut() {
        peer.figures.received.count(Ecn::NotEct, 1_200);
    }
    let errors = [Errno::EACCES, Errno::EADDRNOTAVAIL, Errno::ENOMEM, Errno::ENOBUFS];
    for errno in errors.into_iter().chain([Errno::EHOSTDOWN, Errno::ENONET, Errno::EPROTO]) {
        driver.on_error(errno).expect("of one destination");
    }
    assert_eq!(driver.strays.unsent, 7);
    for errno in [Errno::EBADF, Errno::ENOTSOCK, Errno::EFAULT, Errno::EOPNOTSUPP] {
        driver.on_error(errno).expect_err("of the socket");
    }
}
