//! Data between two sockets of the loopback interface.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use sojourn_quic::endpoint::{SERVER_NAME, cryptography};
use sojourn_quic::noq::Kit;
use sojourn_quic_udp::{Driver, Ending, Figures, Limits, Pipe, PipeObserver, Service, Settings};
use sojourn_udp::io::{Clock, Socket, Writer, open_here};
use sojourn_units::Instant;

/// One end of one connection.
struct Single {
    writer: Writer,
    received: Arc<AtomicU64>,
    figures: Vec<Figures>,
}

struct Count(Arc<AtomicU64>);

impl PipeObserver for Count {
    fn received(&mut self, _: Instant, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Single {
    fn new() -> Single {
        let writer = Writer::new().expect("there are descriptors");
        Single { writer, received: Arc::default(), figures: Vec::new() }
    }

    fn pipe(&self) -> Pipe<Count> {
        Pipe::new(self.writer.clone(), Count(Arc::clone(&self.received)))
    }
}

impl Service for Single {
    type App = Pipe<Count>;

    fn accept(&mut self, _: SocketAddr) -> Pipe<Count> {
        self.pipe()
    }

    fn ended(&mut self, _: &mut Pipe<Count>, figures: &Figures) {
        self.figures.push(figures.clone());
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.writer.descriptor())
    }
}

/// A client sends `bytes` to a server; returns the client's and the server's figures.
fn transfer(address: &str, control: &str, bytes: u64) -> [Figures; 2] {
    let address: SocketAddr = address.parse().expect("an address");
    let (clock, crypto) = (Clock::start(), cryptography("tls", None));
    let settings = Settings::new(Kit::new(control).expect("a controller"));
    let socket = Socket::bind(address, &open_here).expect("binds");
    let single = Single::new();
    let received = Arc::clone(&single.received);
    let limits = Limits::default();
    let mut server =
        Driver::server(socket, clock, settings.clone(), single, crypto.server, limits).expect("ok");
    let (to, stop) = (server.local_addr().expect("bound"), server.stop_handle());
    let serving = thread::spawn(move || {
        server.run(&mut |_| false).expect("serves");
        std::mem::take(&mut server.service().figures)
    });
    let socket = Socket::connect(to, &open_here).expect("connects");
    let single = Single::new();
    single.writer.write(bytes);
    let pipe = single.pipe();
    let mut client = Driver::client(socket, clock, settings, single).expect("ok");
    client.connect(to, SERVER_NAME, crypto.client, pipe).expect("connects");
    client.run(&mut |_| received.load(Ordering::Relaxed) >= bytes).expect("sends");
    thread::sleep(std::time::Duration::from_millis(20));
    stop.stop();
    let served = serving.join().expect("no panic").pop().expect("one connection");
    [client.service().figures.pop().expect("closed"), served]
}

#[test]
fn a_megabyte_arrives_with_the_codepoint_of_the_controller() {
    for (address, control) in [("127.0.0.1:0", "prague"), ("[::1]:0", "prague")] {
        let [sent, served] = transfer(address, control, 1_000_000);
        assert_eq!((&sent.ending, &served.ending), (&Ending::Closed, &Ending::Closed));
        assert!(sent.sent.ect1 > 700, "{sent:?}");
        assert_eq!(sent.sent.ect0, 0);
        assert!(served.received.ect1 + 40 > sent.sent.ect1, "{served:?}");
        assert_eq!(sent.state.marked, 0);
        assert!(sent.rtts.count() > 0);
    }
    let [sent, served] = transfer("127.0.0.1:0", "cubic", 1_000_000);
    assert_eq!(sent.sent.ect1 + served.received.ect1, 0);
    assert!(served.received.ect0 > 700);
}
