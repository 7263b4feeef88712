//! Peers that are faulty, silent or hostile.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use bytes::BytesMut;
use noq_proto::{ClientConfig, DatagramEvent, Endpoint, EndpointConfig, FourTuple};
use sojourn_quic_udp::h3::{Content, Get, Pool, Server};
use sojourn_quic_udp::tls::{Identity, Trust};
use sojourn_quic_udp::{Credit, Driver, Ending, Figures, Limits, Serve, Service};
use sojourn_udp::io::{Clock, Socket, open_here};
use sojourn_units::{Bytes, Duration};

use crate::common::{Running, fetch, get, serve, settings};

const IDLE: Duration = Duration::from_secs(30);

pub(crate) fn now() -> StdInstant {
    #[expect(clippy::disallowed_methods, reason = "noq takes the times of the real clock")]
    StdInstant::now()
}

/// The first flight of a client of noq, in datagrams, and its state.
fn first_flight(to: SocketAddr) -> (Endpoint, noq_proto::Connection, Vec<Vec<u8>>) {
    let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, false);
    let config = ClientConfig::new(Trust::Any.client(None).expect("any"));
    let (_, mut connection) = endpoint.connect(now(), config, to, "localhost").expect("starts");
    let mut flight = Vec::new();
    let mut buffer = Vec::new();
    while let Some(transmit) = connection.poll_transmit(now(), NonZeroUsize::MIN, &mut buffer) {
        flight.push(buffer[..transmit.size].to_vec());
        buffer.clear();
    }
    (endpoint, connection, flight)
}

/// RFC 9000 section 8.1: three bytes for each one of a client that has not proved its address.
#[test]
fn a_spoofed_address_gets_at_most_three_times_the_bytes() {
    let server = Running::start(serve(None, Limits::default(), Duration::from_secs(3)));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
    socket.set_read_timeout(Some(StdDuration::from_millis(1_500))).expect("set");
    let (_, _, flight) = first_flight(server.address);
    for datagram in &flight {
        socket.send_to(datagram, server.address).expect("sends");
    }
    let sent: usize = flight.iter().map(Vec::len).sum();
    let (mut answered, mut buffer) = (0, [0; 2048]);
    // The server repeats its answer, as long as the limit allows.
    while let Ok(len) = socket.recv(&mut buffer) {
        answered += len;
    }
    assert!(answered > 0);
    assert!(answered <= 3 * sent, "{answered} bytes for {sent}");
}

/// Beyond the limit of unproved clients, each gets a short Retry packet alone.
#[test]
fn clients_prove_their_address_first_once_many_have_not() {
    let limits = Limits { unproved: 0, ..Limits::default() };
    let server = Running::start(serve(None, limits, IDLE));
    let done = get(fetch(server.address, "/bytes/1000", 1)).expect("downloads");
    assert_eq!(done.responses[0].bytes, 1_000);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
    socket.set_read_timeout(Some(StdDuration::from_millis(300))).expect("set");
    let (_, _, flight) = first_flight(server.address);
    flight.iter().for_each(|one| {
        socket.send_to(one, server.address).expect("sends");
    });
    let (mut answered, mut buffer) = (0, [0; 2048]);
    while let Ok(len) = socket.recv(&mut buffer) {
        answered += len;
    }
    assert!(0 < answered && answered < 300, "{answered} bytes");
    assert!(server.end().retries >= 2);
}

#[test]
fn a_client_that_vanishes_is_forgotten() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let server = Running::start(serve(None, limits, Duration::from_millis(400)));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
    let (_, _, flight) = first_flight(server.address);
    flight.iter().for_each(|one| {
        socket.send_to(one, server.address).expect("sends");
    });
    std::thread::sleep(StdDuration::from_millis(50));
    let refused = get(fetch(server.address, "/bytes/1", 1)).expect_err("there is one").to_string();
    assert!(refused.contains("as many connections as it accepts"), "{refused}");
    let (figures, _) = server.next();
    assert_eq!(figures.ending, Ending::Vanished);
    assert_eq!(get(fetch(server.address, "/bytes/1", 1)).expect("room").responses[0].bytes, 1);
    assert_eq!(server.end().refused, 1);
}

/// A client from one address opens connections and sends nothing on them. Another address finds a
/// place, and the first one is refused beyond its share.
#[test]
fn one_address_does_not_hold_all_places() {
    let limits = Limits { connections: 4, ..Limits::default() };
    let address = "[::]:0".parse().expect("an address");
    let server = Running::start(Serve { address, ..serve(None, limits, Duration::from_secs(3)) });
    let at = |ip: IpAddr| SocketAddr::new(ip, server.address.port());
    let socket = UdpSocket::bind("[::1]:0").expect("binds");
    let crowded = at(Ipv6Addr::LOCALHOST.into());
    for _ in 0..limits.connections {
        let (_, _, flight) = first_flight(crowded);
        flight.iter().for_each(|one| {
            socket.send_to(one, crowded).expect("sends");
        });
    }
    std::thread::sleep(StdDuration::from_millis(50));
    let other = get(fetch(at(Ipv4Addr::LOCALHOST.into()), "/bytes/1", 1)).expect("a place");
    assert_eq!(other.responses[0].bytes, 1);
    assert!(server.end().retries >= 2, "the address is to be proved for more than two places");
}

/// Changed copies of a real handshake, and random bytes.
#[test]
fn a_server_survives_damaged_datagrams() {
    let server = Running::start(serve(None, Limits::default(), Duration::from_secs(1)));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
    socket.set_nonblocking(true).expect("set");
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut endpoint, mut connection, flight) = first_flight(server.address);
    for round in 0..2_000 {
        let mut bytes = flight[round % flight.len()].clone();
        match random(4) {
            0 => bytes = (0..random(1_500)).map(|_| random(256) as u8).collect(),
            1 => bytes.truncate(random(1_200)),
            _ => {}
        }
        for _ in 0..random(6) {
            if !bytes.is_empty() {
                let at = random(bytes.len().min(60));
                bytes[at] = random(256) as u8;
            }
        }
        let _ = socket.send_to(&bytes, server.address);
        let mut buffer = [0; 2048];
        // Answers that the client understands make its later datagrams valid ones.
        while let Ok(len) = socket.recv(&mut buffer) {
            let path = FourTuple::new(server.address, None);
            let data = BytesMut::from(&buffer[..len]);
            let event = endpoint.handle(now(), path, None, data, &mut Vec::new());
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                connection.handle_event(event);
            }
        }
    }
    let done = get(fetch(server.address, "/bytes/10000", 1)).expect("it serves");
    assert_eq!(done.responses[0].bytes, 10_000);
}

/// The datagrams that a connection has to send.
pub(crate) fn datagrams(connection: &mut noq_proto::Connection) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let mut bytes = Vec::new();
        let Some(sent) = connection.poll_transmit(now(), NonZeroUsize::MIN, &mut bytes) else {
            return all;
        };
        bytes.truncate(sent.size);
        all.push(bytes);
    }
}

/// A server whose flow control admits few bytes, and no unidirectional stream.
struct Narrow(Pool);

impl Service for Narrow {
    type App = Server;

    fn accept(&mut self, _: SocketAddr) -> Server {
        Server::new(Content::default(), &self.0)
    }
}

/// RFC 9114 section 6.2 advises more credit, but does not require it.
#[test]
fn a_request_arrives_in_pieces_if_flow_control_admits_few_bytes() {
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    for uni in [0, 1] {
        let socket = Socket::bind(any, &open_here).expect("binds");
        let credit = Credit { receive_windows: [Bytes(10), Bytes(12)], streams: [1, uni] };
        let crypto = Identity::made(any.ip()).expect("made").server(None).expect("usable");
        let (pool, limits) = (Pool::new(Bytes(0), 8), Limits::default());
        let clock = Clock::start();
        let narrow = Narrow(pool);
        let mut server = Driver::server(socket, clock, settings("cubic"), narrow, crypto, limits)
            .expect("ok")
            .with_credit(credit);
        let (address, stop) = (server.local_addr().expect("bound"), server.stop_handle());
        let thread = std::thread::spawn(move || server.run(&mut |_| false).expect("serves"));
        let done = get(fetch(address, "/bytes/1000", 2)).expect("downloads");
        let bytes: Vec<_> = done.responses.iter().map(|one| one.bytes).collect();
        assert_eq!(bytes, [1_000; 2], "{uni} unidirectional streams");
        stop.stop();
        thread.join().expect("no panic");
    }
}

/// Clients of one socket.
#[derive(Default)]
struct Many {
    done: usize,
    failed: usize,
}

impl Service for Many {
    type App = Get;

    fn accept(&mut self, _: SocketAddr) -> Get {
        unreachable!("clients accept no connection")
    }

    fn ended(&mut self, app: &mut Get, _: &Figures) {
        let is_done = app.responses().iter().any(|one| one.bytes == 20_000);
        *(if is_done { &mut self.done } else { &mut self.failed }) += 1;
    }
}

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.expect("a number") * 4096
}

/// Memory of 1,000 connections at both ends, in this process: less than 100 KB for each end. One address
/// gets half of the places.
#[test]
#[ignore = "long"]
fn a_thousand_connections_have_bounded_memory() {
    let limits = Limits { connections: 2_000, ..Limits::default() };
    let server = Running::start(serve(None, limits, IDLE));
    let socket = Socket::bind("127.0.0.1:0".parse().expect("an address"), &open_here);
    let socket = socket.expect("binds");
    let crypto = Trust::Any.client(None).expect("any");
    let before = resident();
    let mut driver =
        Driver::client(socket, Clock::start(), settings("cubic"), Many::default()).expect("ok");
    for _ in 0..1_000 {
        let app = Get::new("localhost", "/bytes/20000", 1, Box::new(|_| Ok(())));
        driver.connect(server.address, "localhost", Arc::clone(&crypto), app).expect("connects");
        // A burst of first flights would overflow the socket's buffer.
        for _ in 0..4 {
            driver.step().expect("sends");
        }
    }
    let mut most = 0;
    driver
        .run(&mut |many| {
            most = most.max(resident().saturating_sub(before));
            many.done + many.failed == 1_000
        })
        .expect("runs");
    let (done, failed) = (driver.service().done, driver.service().failed);
    println!("{done} downloads, {failed} failures, {} KB for each connection", most / 1_000_000);
    assert_eq!((done, failed), (1_000, 0));
    assert!(most < 200_000_000, "{most} bytes");
}
