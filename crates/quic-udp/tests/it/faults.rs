//! Panics of the stack, beside connections that go on.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::Duration as StdDuration;

use bytes::BytesMut;
use noq_proto::crypto::{Keys, ServerConfig, Session, UnsupportedVersion};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{
    ClientConfig, Connection, ConnectionId, DatagramEvent, Endpoint, EndpointConfig, FourTuple,
};
use sojourn_cc::{
    Catalogue, Controller, Feedback, Info, Limits as Window, Needs, Pacing, Probe, Sent, Setup,
};
use sojourn_quic::endpoint::{Crypto, SERVER_NAME, cryptography};
use sojourn_quic::noq::Kit;
use sojourn_quic_udp::h3::{Content, Get, Pool, Server};
use sojourn_quic_udp::{Driver, Ending, Figures, Limits, Service, Settings, Strays};
use sojourn_udp::io::{Clock, Socket, StopHandle, open_here};
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant};

use crate::common::settings;
use crate::hostile::{datagrams, now};

const ANY: &str = "127.0.0.1:0";

/// Connections of a server, and the ends of those that have ended.
struct Recorded {
    pool: Pool,
    ends: Vec<Ending>,
    /// The next connections at which it panics.
    broken: u32,
}

impl Service for Recorded {
    type App = Server;

    fn accept(&mut self, _: SocketAddr) -> Server {
        if self.broken > 0 {
            self.broken -= 1;
            panic!("broken in accept");
        }
        Server::new(Content::default(), &self.pool)
    }

    fn ended(&mut self, _: &mut Server, figures: &Figures) {
        self.ends.push(figures.ending.clone());
    }

    /// The state of a controller is read often.
    fn look_every(&self) -> Option<Duration> {
        Some(Duration::from_millis(2))
    }
}

/// A server in a thread.
struct Running {
    address: SocketAddr,
    stop: StopHandle,
    thread: JoinHandle<(Vec<Ending>, Strays)>,
}

impl Running {
    /// `crypto`: without encryption, so that a test can change packets.
    fn start(settings: Settings, crypto: &Crypto) -> Running {
        Running::start_broken(settings, crypto, 0)
    }

    /// A server that panics as it accepts its first connections.
    fn start_broken(settings: Settings, crypto: &Crypto, broken: u32) -> Running {
        let socket = Socket::bind(ANY.parse().expect("an address"), &open_here).expect("binds");
        let service = Recorded { pool: Pool::new(Bytes(0), 8), ends: Vec::new(), broken };
        let limits = Limits::default();
        let server = Arc::clone(&crypto.server);
        let mut driver =
            Driver::server(socket, Clock::start(), settings, service, server, limits).expect("ok");
        let (address, stop) = (driver.local_addr().expect("bound"), driver.stop_handle());
        let thread = spawn(move || {
            driver.run(&mut |_| false).expect("serves");
            (std::mem::take(&mut driver.service().ends), driver.strays())
        });
        Running { address, stop, thread }
    }

    /// The ends of all connections so far, and of those that its own end closes.
    fn end(self) -> (Vec<Ending>, Strays) {
        self.stop.stop();
        self.thread.join().expect("no panic leaves the loop")
    }
}

/// Clients of one socket.
#[derive(Default)]
struct Many {
    /// The connections that have received data, by the time of their begin.
    begun: BTreeSet<Instant>,
    done: Vec<u64>,
    failed: usize,
}

impl Service for Many {
    type App = Get;

    fn accept(&mut self, _: SocketAddr) -> Get {
        unreachable!("clients accept no connection")
    }

    fn look(&mut self, _: &mut Get, figures: &Figures) {
        if figures.received.total() > 50 {
            self.begun.insert(figures.opened_at);
        }
    }

    fn look_every(&self) -> Option<Duration> {
        Some(Duration::from_millis(2))
    }

    fn ended(&mut self, app: &mut Get, _: &Figures) {
        match app.responses() {
            [one] if !one.is_cut => self.done.push(one.bytes),
            _ => self.failed += 1,
        }
    }
}

/// Clients that download these numbers of bytes, each on its connection.
fn clients(to: SocketAddr, crypto: &Crypto, sizes: &[u64]) -> Driver<Many> {
    let socket = Socket::bind(ANY.parse().expect("an address"), &open_here).expect("binds");
    // A server is silent at a fault, so that a client may wait until its idle timeout.
    let settings = Settings { idle: Some(Duration::from_secs(1)), ..settings("cubic") };
    let mut driver = Driver::client(socket, Clock::start(), settings, Many::default()).expect("ok");
    for size in sizes {
        let get = Get::new("localhost", &format!("/bytes/{size}"), 1, Box::new(|_| Ok(())));
        driver.connect(to, SERVER_NAME, Arc::clone(&crypto.client), get).expect("connects");
    }
    driver
}

/// A client without encryption whose handshake has ended, with the socket of its datagrams.
fn shaken(to: SocketAddr, crypto: &Crypto) -> (UdpSocket, Connection) {
    let socket = UdpSocket::bind(ANY).expect("binds");
    socket.set_read_timeout(Some(StdDuration::from_millis(20))).expect("set");
    let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, false);
    let config = ClientConfig::new(Arc::clone(&crypto.client));
    let (_, mut client) = endpoint.connect(now(), config, to, SERVER_NAME).expect("starts");
    let mut buffer = [0; 2048];
    while client.is_handshaking() {
        send(&socket, to, &datagrams(&mut client));
        while let Ok(len) = socket.recv(&mut buffer) {
            let data = BytesMut::from(&buffer[..len]);
            let path = FourTuple::new(to, None);
            let event = endpoint.handle(now(), path, None, data, &mut Vec::new());
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                client.handle_event(event);
            }
        }
    }
    send(&socket, to, &datagrams(&mut client));
    (socket, client)
}

fn send(socket: &UdpSocket, to: SocketAddr, all: &[Vec<u8>]) {
    for one in all {
        socket.send_to(one, to).expect("sends");
    }
}

/// The illegal packets of two clients arrive while three others download.
///
/// noq-proto 1.4.0 panics if an illegal packet follows CONNECTION_CLOSE.
#[test]
fn a_fault_of_the_stack_ends_one_connection_of_several() {
    let crypto = cryptography("none", None);
    let server = Running::start(settings("cubic"), &crypto);
    let to = server.address;
    let mut faulty: Vec<_> = (0..2).map(|_| shaken(to, &crypto)).collect();
    let mut driver = clients(to, &crypto, &[4_000_000; 3]);
    let mut is_sent = false;
    driver
        .run(&mut |many| {
            if !is_sent && many.begun.len() == 3 {
                assert_eq!(many.done.len(), 0, "the downloads are under way");
                faulty.iter_mut().for_each(|(socket, client)| send(socket, to, &illegal(client)));
                is_sent = true;
            }
            many.done.len() + many.failed == 3
        })
        .expect("runs");
    assert!(is_sent);
    let Many { done, failed, .. } = driver.service();
    assert_eq!((&done[..], *failed), (&[4_000_000; 3][..], 0));
    let (ends, strays) = server.end();
    assert_eq!(strays.faults, 2);
    let is_fault = |end: &&Ending| match end {
        Ending::Fault(words) => words.starts_with("noq-proto-1.4.0/src/"),
        _ => false,
    };
    // The application may have heard of the close before the fault.
    let closed = ends.iter().filter(|end| **end == Ending::Closed).count();
    assert_eq!(closed + ends.iter().filter(is_fault).count(), 5, "{ends:?}");
}

/// CONNECTION_CLOSE, then an earlier packet with reserved bits (RFC 9000 section 17.3.1).
fn illegal(client: &mut Connection) -> Vec<Vec<u8>> {
    client.ping();
    let mut held = datagrams(client).pop().expect("a packet");
    held[0] |= 0x18;
    client.close(now(), 0_u32.into(), Default::default());
    let mut all = datagrams(client);
    all.push(held);
    all
}

/// A controller that panics in one of its functions after it has sent this many bytes.
struct Fragile {
    function: &'static str,
    sent: Bytes,
}

/// Bytes after which it panics.
const FRAGILE: Bytes = Bytes(500_000);

impl Fragile {
    fn enter(&self, function: &str) {
        assert!(self.function != function || self.sent <= FRAGILE, "broken in {function}");
    }
}

impl Controller for Fragile {
    fn on_sent(&mut self, _: Instant, packet: &Sent) {
        self.sent += packet.bytes;
        self.enter("on_sent");
    }

    fn on_feedback(&mut self, _: Instant, _: &Feedback<'_>) {
        self.enter("on_feedback");
    }

    fn on_timeout(&mut self, _: Instant, _: Bytes) {}

    fn limits(&self) -> Window {
        self.enter("limits");
        Window { cwnd: Bytes(100_000), pacing: Pacing::Unpaced, burst: Bytes(10_000) }
    }

    fn probe(&self) -> Probe {
        // The driver does not read the state of a controller that has panicked.
        self.enter(if self.function == "on_sent" { "on_sent" } else { "probe" });
        Probe::default()
    }
}

/// The stack calls its controller while it sends and while it reads datagrams, and the driver reads
/// the controller's state at intervals.
#[test]
fn a_fault_in_any_call_ends_one_connection_of_several() {
    for function in ["on_sent", "on_feedback", "limits", "probe"] {
        let info = Info {
            name: "fragile",
            title: "Breaks",
            source: "a test",
            params: &[],
            ordered: &[],
            needs: Needs { every_packet: true, ..Needs::BASE },
            random: false,
        };
        let build = move |_: &Setup| Box::new(Fragile { function, sent: Bytes(0) }) as _;
        let catalogue = Catalogue::shipped().with(info, build).expect("a free name");
        let kit = Kit::with(catalogue, "fragile", Params::empty(), 1).expect("it can serve it");
        let crypto = cryptography("none", None);
        let server = Running::start(Settings::new(kit), &crypto);
        let mut driver = clients(server.address, &crypto, &[300_000, 2_000_000, 300_000, 300_000]);
        driver.run(&mut |many| many.done.len() + many.failed == 4).expect("runs");
        let Many { done, failed, .. } = driver.service();
        assert_eq!((&done[..], *failed), (&[300_000; 3][..], 1), "{function}");
        let (ends, strays) = server.end();
        assert_eq!(strays.faults, 1, "{function}");
        let faults: Vec<_> = ends.iter().filter(|end| **end != Ending::Closed).collect();
        let [Ending::Fault(words)] = faults[..] else { panic!("one fault: {ends:?}") };
        assert!(words.ends_with(&format!(": broken in {function}")), "{words}");
    }
}

/// Cryptography whose first session panics, within the endpoint.
struct BrokenOnce(Arc<dyn ServerConfig>, AtomicBool);

impl ServerConfig for BrokenOnce {
    fn initial_keys(&self, version: u32, id: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.0.initial_keys(version, id)
    }

    fn retry_tag(&self, version: u32, id: ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.0.retry_tag(version, id, packet)
    }

    fn start_session(&self, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        assert!(self.1.swap(true, Ordering::Relaxed), "broken in start_session");
        self.0.start_session(version, params)
    }
}

/// Neither the endpoint nor the service has a connection yet.
#[test]
fn a_fault_at_the_begin_of_a_connection_ends_it_alone() {
    // The service also panics as it makes an application to report the fault with.
    for (function, broken) in [("start_session", 0), ("accept", 2)] {
        let mut crypto = cryptography("none", None);
        if broken == 0 {
            crypto.server = Arc::new(BrokenOnce(crypto.server, AtomicBool::new(false)));
        }
        let server = Running::start_broken(settings("cubic"), &crypto, broken);
        let mut first = clients(server.address, &crypto, &[1_000]);
        // The client sends its first packet again after 1 s.
        let (clock, patience) = (Clock::start(), Duration::from_millis(1_200));
        let is_hopeless = || function == "start_session" && clock.now() > Instant::ZERO + patience;
        first.run(&mut |many| many.done.len() == 1 || is_hopeless()).expect("runs");
        let mut others = clients(server.address, &crypto, &[300_000; 3]);
        others.run(&mut |many| many.done.len() + many.failed == 3).expect("runs");
        assert_eq!(others.service().done, [300_000; 3], "{function}");
        let (ends, strays) = server.end();
        let words = ends.iter().filter_map(|end| match end {
            Ending::Fault(words) => Some(words),
            _ => None,
        });
        let words: Vec<_> = words.collect();
        if function == "start_session" {
            // The endpoint has half a connection of this client, and panics at its next packets.
            assert!(words[0].ends_with(": broken in start_session"), "{words:?}");
            assert_eq!((words.len() as u64, first.service().failed), (strays.faults, 1));
        } else {
            // Both panics are at the client's first packet. Its next one opens the connection.
            assert_eq!(
                (words.len(), strays.faults, &first.service().done[..]),
                (0, 2, &[1_000][..])
            );
        }
    }
}
