//! Two connections in virtual time, over a path that loses chosen datagrams.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use noq_proto::{
    ClientConfig, DatagramEvent, Dir, EndpointConfig, FourTuple, ServerConfig, StreamEvent,
};
use sojourn_quic::endpoint::{SERVER_NAME, cryptography};
use sojourn_quic::noq::Kit;
use sojourn_udp::io::Writer;

use super::*;
use crate::h3::{Content, Get, Pool, Server};
use crate::pipe::{Pipe, PipeObserver};
use crate::settings::{Credit, Settings};

const DELAY: Duration = Duration::from_millis(25);

/// One end, before its connection begins and afterwards.
struct End<A> {
    endpoint: Endpoint,
    config: Option<Arc<ServerConfig>>,
    gate: Gated,
    app: Option<A>,
    peer: Option<Peer<A>>,
    credit: Credit,
    epoch: StdInstant,
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

impl<A: Application> End<A> {
    fn open(&mut self, connection: (ConnectionHandle, Connection), now: Instant) {
        let (gate, app) = (self.gate.clone(), self.app.take().expect("one connection"));
        let own = (self.credit.receive_windows[1], self.epoch);
        let figures = Figures::new(address(0), now);
        self.peer = Some(Peer::new(connection, 1, gate, app, figures, own));
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let (time, path) =
            (self.epoch + std::time::Duration::from_nanos(now.0), FourTuple::new(from, None));
        let data = BytesMut::from(bytes);
        match self.endpoint.handle(time, path, None, data, &mut Vec::new()) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                self.peer.as_mut().expect("it is open").receive(event);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let config = self.config.take();
                let accepted = self.endpoint.accept(incoming, time, &mut Vec::new(), config);
                let Ok(connection) = accepted else { panic!("it accepts") };
                self.open(connection, now);
            }
            _ => {}
        }
    }

    /// Lets the end act; returns its datagrams.
    fn act(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let Some(peer) = &mut self.peer else { return Vec::new() };
        peer.on_timer(now);
        peer.exchange(&mut self.endpoint);
        peer.run(now);
        let (mut all, mut out) = (Vec::new(), Vec::new());
        while let Some(transmit) = peer.transmit(now, &mut out) {
            all.push(out[..transmit.size].to_vec());
        }
        peer.exchange(&mut self.endpoint);
        all
    }

    fn next_at(&mut self) -> Instant {
        self.peer.as_mut().map_or(Instant::MAX, Peer::next_at)
    }

    fn app(&self) -> &A {
        &self.peer.as_ref().expect("it is open").app
    }
}

fn end<A>(
    app: A,
    credit: Credit,
    epoch: StdInstant,
    config: impl FnOnce(&Kit, Arc<noq_proto::TransportConfig>) -> Option<ServerConfig>,
) -> End<A> {
    let settings = Settings::new(Kit::new("cubic").expect("a controller"));
    let (kit, gate) = settings.kit.gated(epoch);
    let config = config(&kit, settings.transport(&kit, &credit, false)).map(Arc::new);
    let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), config.clone(), false);
    End { endpoint, config, gate, app: Some(app), peer: None, credit, epoch }
}

/// Runs a client and a server until `is_over`, for a minute at most. `is_lost`: whether a datagram of
/// the server is lost, by its number.
fn run<C: Application, S: Application>(
    (client, server): (C, S),
    credit: Credit,
    mut is_lost: impl FnMut(usize) -> bool,
    is_over: impl Fn(&C) -> bool,
) -> (C, Ending) {
    #[expect(clippy::disallowed_methods, reason = "noq takes the times of the real clock")]
    let epoch = StdInstant::now();
    let (crypto, mut to) = (cryptography("none", None), None);
    let mut server = end(server, Credit::default(), epoch, |kit, transport| {
        let mut config = ServerConfig::with_crypto(kit.server(crypto.server));
        config.transport_config(transport);
        Some(config)
    });
    let mut client = end(client, credit, epoch, |kit, transport| {
        let mut config = ClientConfig::new(kit.client(crypto.client));
        config.transport_config(transport);
        to = Some(config);
        None
    });
    let mut now = Instant(1);
    let config = to.expect("a client's");
    let connection = client.endpoint.connect(epoch, config, address(1), SERVER_NAME);
    client.open(connection.expect("it connects"), now);
    let mut wire = BTreeMap::new();
    let (mut count, mut sent) = (0, 0);
    while !is_over(client.app()) && now < Instant::ZERO + Duration::from_secs(60) {
        for bytes in client.act(now) {
            count += 1;
            wire.insert((now + DELAY, count), (true, bytes));
        }
        for bytes in server.act(now) {
            (count, sent) = (count + 1, sent + 1);
            if !is_lost(sent) {
                wire.insert((now + DELAY, count), (false, bytes));
            }
        }
        let arrival = wire.first_key_value().map_or(Instant::MAX, |((at, _), _)| *at);
        now = now.max(arrival.min(client.next_at()).min(server.next_at()));
        while let Some(first) = wire.first_entry().filter(|first| first.key().0 <= now) {
            match first.remove() {
                (true, bytes) => server.receive(now, address(2), &bytes),
                (false, bytes) => client.receive(now, address(1), &bytes),
            }
        }
    }
    let peer = client.peer.expect("it is open");
    (peer.app, peer.figures.ending)
}

/// noq-proto 1.4 closes a connection with "too many gaps in stream buffer" if more than 2,048 packets
/// wait behind a missing one.
#[test]
fn a_loss_in_a_large_window_does_not_end_a_download() {
    const BYTES: u64 = 30_000_000;
    let get = Get::new("localhost", &format!("/bytes/{BYTES}"), 1, Box::new(|_| Ok(())));
    let server = Server::new(Content::default(), &Pool::new(Bytes(0), 1));
    let (credit, lost) = (Credit::default(), |number| number == 10_000);
    let (get, ending) = run((get, server), credit, lost, |get| !get.responses().is_empty());
    assert_eq!(ending, Ending::Closed, "by the client, at the end");
    assert_eq!(get.responses()[0].bytes, BYTES);
    assert!(!get.responses()[0].is_cut);
}

/// An application that reads data and holds all of them.
#[derive(Default)]
struct Hoard(u64);

impl Application for Hoard {
    fn on_event(&mut self, _: Instant, event: Event, connection: &mut Connection) {
        let id = match event {
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                connection.streams().accept(Dir::Uni)
            }
            Event::Stream(StreamEvent::Readable { id }) => Some(id),
            _ => None,
        };
        let Some(id) = id else { return };
        let mut stream = connection.recv_stream(id);
        let mut chunks = stream.read(false).expect("it is open");
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.0 += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
    }

    fn run(&mut self, _: Instant, _: &mut Connection) -> Option<Closing> {
        None
    }

    fn is_app_limited(&self) -> bool {
        true
    }

    fn held(&self) -> u64 {
        self.0
    }
}

struct Unseen;

impl PipeObserver for Unseen {
    fn received(&mut self, _: Instant, _: u64) {}
}

/// A peer that never repeats a lost packet, and goes on to send, fills the window once.
#[test]
fn data_that_wait_for_a_missing_packet_use_up_the_window() {
    let window = 1 << 20;
    let credit = Credit { receive_windows: [Bytes(window); 2], ..Credit::default() };
    let writer = Writer::new().expect("there are descriptors");
    writer.write(100 * window);
    let ends = (Hoard::default(), Pipe::new(writer, Unseen));
    let (hoard, ending) = run(ends, credit, |_| false, |_| false);
    assert_eq!(ending, Ending::Vanished, "the peer has no credit");
    let most = window + 2 * window / WINDOW_STEP;
    assert!((window..most).contains(&hoard.0), "{} bytes", hoard.0);
}
