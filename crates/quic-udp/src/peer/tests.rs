//! Two connections in virtual time, over a path that loses chosen datagrams.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use bytes::BytesMut;
use noq_proto::{
    ClientConfig, DatagramEvent, Dir, EndpointConfig, FourTuple, ServerConfig, StreamId,
};
use sojourn_quic::Held;
use sojourn_quic::endpoint::{SERVER_NAME, cryptography};
use sojourn_quic::noq::Kit;
use sojourn_udp::io::Writer;
use sojourn_units::Bytes;

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
    fn open(&mut self, handle: ConnectionHandle, connection: Connection, now: Instant) {
        let (gate, app) = (self.gate.clone(), self.app.take().expect("one connection"));
        let window = ReceiveWindow::new(self.credit.receive_windows[1].0);
        let opened = Opened { handle, connection, number: 1 };
        let figures = Figures::new(address(0), now);
        self.peer = Some(Peer::new(opened, gate, app, figures, window, self.epoch));
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
                let (handle, connection) = connection;
                self.open(handle, connection, now);
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

/// Runs a client and a server until `is_over`, for a minute at most. `pass`: whether a datagram of the
/// server arrives, by its number; it may be changed.
fn run<C: Application, S: Application>(
    (client, server): (C, S),
    credit: Credit,
    mut pass: impl FnMut(usize, &mut Vec<u8>) -> bool,
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
    let (handle, connection) = connection.expect("it connects");
    client.open(handle, connection, now);
    let mut wire = BTreeMap::new();
    let (mut count, mut sent) = (0, 0);
    while !is_over(client.app()) && now < Instant::ZERO + Duration::from_secs(60) {
        for bytes in client.act(now) {
            count += 1;
            wire.insert((now + DELAY, count), (true, bytes));
        }
        for mut bytes in server.act(now) {
            (count, sent) = (count + 1, sent + 1);
            if pass(sent, &mut bytes) {
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
    let (credit, pass) = (Credit::default(), |number, _: &mut _| number != 10_000);
    let (get, ending) = run((get, server), credit, pass, |get| !get.responses().is_empty());
    assert_eq!(ending, Ending::Closed, "by the client, at the end");
    assert_eq!(get.responses()[0].bytes, BYTES);
    assert!(!get.responses()[0].is_cut);
}

/// Counts the bytes that have arrived.
#[derive(Clone, Default)]
struct Count(Rc<Cell<u64>>);

impl PipeObserver for Count {
    fn received(&mut self, _: Instant, bytes: u64) {
        self.0.set(self.0.get() + bytes);
    }
}

/// A receiver, and a sender of `bytes`.
fn pipes(bytes: u64) -> (Pipe<Count>, Pipe<Count>) {
    let [receiver, sender] = [(); 2].map(|()| Writer::new().expect("there are descriptors"));
    sender.write(bytes);
    (Pipe::new(receiver, Count::default()), Pipe::new(sender, Count::default()))
}

/// Loses the first packet of the server's first stream after `number` datagrams, and `repetitions` of
/// its data.
fn loses(number: usize, mut repetitions: u32) -> impl FnMut(usize, &mut Vec<u8>) -> bool {
    let mut lost: Option<[u8; 5]> = None;
    move |sent, bytes| {
        let Some(lost) = lost else {
            // A STREAM frame with an offset of four octets (RFC 9000 section 19.8).
            let is_frame =
                |head: &[u8]| head[0] & 0xfc == 0x0c && head[1] == 3 && head[2] >> 6 == 2;
            let frame = bytes.windows(6).find(|head| sent > number && is_frame(head));
            lost = frame.and_then(|frame| frame[1..].try_into().ok());
            return lost.is_none();
        };
        let is_lost = repetitions > 0 && bytes.windows(5).any(|part| part == lost);
        repetitions -= u32::from(is_lost);
        !is_lost
    }
}

/// More packets than a fixed bound of 65,536 admits arrive behind the missing one, as its repetitions
/// are lost too: flow control stops the sender before the receiver would have to end the connection.
#[test]
fn lost_repetitions_in_a_large_window_do_not_end_a_connection() {
    const BYTES: u64 = 150_000_000;
    let credit = Credit { receive_windows: [Bytes(64 << 20); 2], ..Credit::default() };
    let (_, sender) = pipes(BYTES);
    let count = Count::default();
    let receiver = Pipe::new(Writer::new().expect("there are descriptors"), count.clone());
    let is_over = |_: &Pipe<Count>| count.0.get() == BYTES;
    let (receiver, ending) = run((receiver, sender), credit, loses(20_000, 6), is_over);
    assert_eq!((count.0.get(), ending), (BYTES, Ending::Open));
    assert_eq!(receiver.held(), Held::default());
}

/// A peer that goes on to send behind a packet that never arrives fills the window once.
#[test]
fn data_that_wait_for_a_missing_packet_use_up_the_window() {
    let window = 1 << 20;
    let credit = Credit { receive_windows: [Bytes(window); 2], ..Credit::default() };
    let (receiver, ending) = run(pipes(100 * window), credit, loses(100, u32::MAX), |_| false);
    assert!(!matches!(ending, Ending::Failed(_)), "{ending:?}");
    let held = receiver.held();
    assert!(held.memory() > window * 15 / 16, "{held:?}");
    assert!(held.bytes < window * 9 / 8, "{held:?}");
}

/// Puts frames of one byte, with gaps, into the server's packets: in `streams` streams. Most packets
/// are lost, since noq itself ends a connection with many gaps that arrive before the next read.
fn floods(streams: u32, count: Rc<Cell<u32>>) -> impl FnMut(usize, &mut Vec<u8>) -> bool {
    move |sent, bytes| {
        if bytes[0] & 0x80 != 0 || bytes.len() < 1_200 {
            return true;
        }
        // The header: flags, connection ID, packet number (RFC 9000 section 17.3.1).
        let (header, tag) = (1 + 8 + usize::from(bytes[0] & 3) + 1, 16);
        let room = bytes.len() - header - tag;
        bytes.truncate(header);
        for _ in 0..room / 9 {
            let number = count.replace(count.get() + 1);
            let (stream, offset) = (7 + 4 * (number % streams), 1 + 2 * (number / streams));
            // A STREAM frame with offset and length, whose stream takes two octets.
            bytes.push(0x0e);
            bytes.extend_from_slice(&(0x4000 | stream as u16).to_be_bytes());
            bytes.extend_from_slice(&(0x8000_0000 | offset).to_be_bytes());
            bytes.extend_from_slice(&[1, 9]);
        }
        bytes.resize(bytes.len() + room % 9 + tag, 0);
        sent % 8 == 0
    }
}

#[test]
fn a_flood_of_small_frames_with_gaps_ends_the_connection() {
    for streams in [1, 99] {
        let (count, ends) = (Rc::new(Cell::new(0)), pipes(30_000_000));
        let flood = floods(streams, Rc::clone(&count));
        let (receiver, ending) = run(ends, Credit::default(), flood, |_| false);
        let Ending::Failed(reason) = ending else { panic!("{ending:?}") };
        assert!(reason.contains("too many pieces"), "{streams} streams: {reason}");
        let pieces = receiver.held().pieces;
        assert!(pieces < 10_000, "{streams} streams: {pieces} pieces of {}", count.get());
    }
}

/// A server that resets one stream after 2 s, and ends another one.
#[derive(Default)]
struct Resetting {
    streams: Option<[StreamId; 2]>,
    is_reset: bool,
}

impl Application for Resetting {
    fn on_event(&mut self, _: Instant, event: Event, connection: &mut Connection) {
        if !matches!(event, Event::Connected) {
            return;
        }
        let [first, second] = [(); 2].map(|()| connection.streams().open(Dir::Uni).expect("free"));
        connection.send_stream(first).write(&[0; 100_000]).expect("there is credit");
        connection.send_stream(second).write(&[0; 10]).expect("there is credit");
        connection.send_stream(second).finish().expect("it is open");
        self.streams = Some([first, second]);
    }

    fn run(&mut self, now: Instant, connection: &mut Connection) -> Option<Closing> {
        if now < self.next_at() || self.is_reset {
            return None;
        }
        self.is_reset = true;
        let _ = connection.send_stream(self.streams?[0]).reset(VarInt::from_u32(0));
        None
    }

    fn is_app_limited(&self) -> bool {
        true
    }

    fn next_at(&self) -> Instant {
        if self.is_reset { Instant::MAX } else { Instant::ZERO + Duration::from_secs(2) }
    }
}

#[test]
fn ended_streams_leave_nothing_at_the_receiver() {
    let most = Cell::new(0);
    let look = |pipe: &Pipe<Count>| {
        most.set(most.get().max(pipe.held().bytes));
        false
    };
    let ends = (pipes(0).0, Resetting::default());
    let (receiver, _) = run(ends, Credit::default(), loses(10, u32::MAX), look);
    assert!(most.get() > 50_000, "{} bytes have waited", most.get());
    assert_eq!((receiver.held(), receiver.streams()), (Held::default(), 0));
}
