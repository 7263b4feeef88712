//! Datagrams for a server of HTTP/3 in the QUIC stack.
//!
//! A client of the stack downloads from the server, in packets without cryptography, so that damage
//! reaches the readers of frames, of HTTP/3 and of field sections. An input is a list of changes, of
//! four octets each: the kind, a place (2 octets), a value. Each change concerns the next datagram of
//! the client or, with the highest bit of the kind, of the server.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant as StdInstant};

use bytes::BytesMut;
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Event,
    FourTuple, ServerConfig,
};
use sojourn_quic::endpoint::{SERVER_NAME, cryptography};
use sojourn_quic_udp::Application;
use sojourn_quic_udp::h3::{Content, Get, Pool, Server, decode_fields};
use sojourn_units::{Bytes, Instant};

use crate::heap;
use crate::known::survive;

/// Memory of the server's connection, of the client, and of this target.
const FIXED_BYTES: u64 = 32 << 20;
/// Size of the datagrams of a handshake.
const INITIAL_MTU: usize = 1200;
/// Datagrams of one end in one turn.
const TURN: usize = 64;
const CHANGE: usize = 4;
/// Turns of 10 ms in which both ends go on alone.
const AFTER: usize = 1_000;
/// Datagrams in these 10 s: the rest of the download, probes whose intervals double, and an end.
const MOST_AFTER: usize = 200;

/// Passes the changes in `data` to a download, and `data` to the reader of field sections.
pub(crate) fn check(data: &[u8]) {
    let _ = decode_fields(data);
    heap::within(FIXED_BYTES + 8 * data.len() as u64, || survive(|| download(data)));
}

/// One end of the connection.
struct End<A> {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    app: A,
    sent: usize,
    received: usize,
    /// The peer has proved its address (RFC 9000 section 8.1).
    is_validated: bool,
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

impl<A: Application> End<A> {
    fn new(server: Option<Arc<ServerConfig>>, app: A) -> End<A> {
        let mut config = EndpointConfig::default();
        config.rng_seed(Some([7; 32]));
        // Only a server's peer has to prove its address.
        let is_validated = server.is_none();
        let endpoint = Endpoint::new(Arc::new(config), server, false);
        End { endpoint, connection: None, app, sent: 0, received: 0, is_validated }
    }

    fn receive(&mut self, now: StdInstant, from: SocketAddr, bytes: &[u8]) {
        self.received += bytes.len();
        self.is_validated |= has_handshake(bytes);
        let (path, data) = (FourTuple::new(from, None), BytesMut::from(bytes));
        let mut answer = Vec::new();
        match self.endpoint.handle(now, path, None, data, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => match &mut self.connection {
                Some((own, connection)) if *own == handle => connection.handle_event(event),
                _ => {}
            },
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => self.sent += error.response.map_or(0, |one| one.size),
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.sent += self.endpoint.refuse(incoming, &mut answer).size;
            }
            Some(DatagramEvent::Response(transmit)) => self.sent += transmit.size,
            None => {}
        }
    }

    /// Lets the end act at `now`; returns its datagrams.
    fn act(&mut self, now: StdInstant, time: Instant) -> Vec<Vec<u8>> {
        let Some((handle, connection)) = &mut self.connection else { return Vec::new() };
        if connection.poll_timeout().is_some_and(|at| at <= now) {
            connection.handle_timeout(now);
        }
        let mut out = Vec::new();
        while let Some(event) = connection.poll() {
            self.is_validated |= matches!(event, Event::Connected);
            self.app.on_event(time, event, connection);
        }
        if !connection.is_closed()
            && let Some(closing) = self.app.run(time, connection)
        {
            connection.close(now, closing.code.into(), closing.reason.into());
        }
        // As the driver does.
        if !connection.is_closed() && self.app.held().has_too_many_pieces() {
            connection.close(now, 0_u32.into(), Vec::new().into());
        }
        let mut is_gone = false;
        let mut buffer = Vec::new();
        while out.len() < TURN {
            while let Some(event) = connection.poll_endpoint_events() {
                is_gone |= event.is_drained();
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            buffer.clear();
            let transmit = connection.poll_transmit(now, NonZeroUsize::MIN, &mut buffer);
            let Some(transmit) = transmit else { break };
            self.sent += transmit.size;
            // RFC 9000 section 8.1: at most three bytes for each one until the address is proved.
            // noq-proto 1.4.0 sends a whole datagram if one byte of these is left.
            assert!(self.is_validated || self.sent < 3 * self.received + INITIAL_MTU);
            out.push(buffer[..transmit.size].to_vec());
        }
        if is_gone {
            self.connection = None;
        }
        out
    }
}

fn download(changes: &[u8]) {
    let crypto = cryptography("none", None);
    let server = Arc::new(ServerConfig::with_crypto(crypto.server));
    let pool = Pool::new(Bytes(1 << 20), 8);
    let mut server = End::new(Some(server), Server::new(Content::new(None), &pool));
    let get = Get::new("localhost", "/bytes/20000", 2, Box::new(|_| Ok(())));
    let mut client = End::new(None, get);
    #[expect(clippy::disallowed_methods, reason = "noq takes the times of the real clock")]
    let origin = StdInstant::now();
    let config = ClientConfig::new(crypto.client);
    let connected = client.endpoint.connect(origin, config, address(1), SERVER_NAME);
    client.connection = connected.ok();
    let turns = changes.len() / CHANGE + 20;
    let (mut changes, mut time) = (changes.chunks_exact(CHANGE).peekable(), Instant(1));
    // Beyond the changes, the download has some turns to end.
    for _ in 0..turns {
        time += sojourn_units::Duration::from_millis(10);
        let now = origin + Duration::from_nanos(time.0);
        for datagram in client.act(now, time) {
            for one in changed(datagram, changes.next_if(|change| !is_of_server(change))) {
                server.receive(now, address(2), &one);
            }
        }
        for datagram in server.act(now, time) {
            for one in changed(datagram, changes.next_if(|change| is_of_server(change))) {
                client.receive(now, address(1), &one);
            }
        }
    }
    assert!(pool.used() <= 1 << 20);
    let mut after = 0;
    for _ in 0..AFTER {
        time += sojourn_units::Duration::from_millis(10);
        let now = origin + Duration::from_nanos(time.0);
        let [asked, answers] = [client.act(now, time), server.act(now, time)];
        after += asked.len() + answers.len();
        asked.iter().for_each(|one| server.receive(now, address(2), one));
        answers.iter().for_each(|one| client.receive(now, address(1), one));
    }
    assert!(after <= MOST_AFTER, "{after} datagrams in 10 s");
}

/// Whether one of the packets in a datagram is of the handshake (RFC 9000 section 17.2).
fn has_handshake(mut datagram: &[u8]) -> bool {
    while let Some(is_handshake) = skip_packet(&mut datagram) {
        if is_handshake {
            return true;
        }
    }
    false
}

/// Skips a packet with a long header. Returns whether it is of the handshake.
fn skip_packet(from: &mut &[u8]) -> Option<bool> {
    let kind = *from.first().filter(|first| **first & 0x80 != 0)? >> 4 & 3;
    take(from, 5)?;
    for _ in ["destination", "source"] {
        let len = take(from, 1)?[0];
        take(from, len.into())?;
    }
    if kind == 0 {
        let token = length(from)?;
        take(from, token)?;
    }
    if kind == 2 {
        return Some(true);
    }
    let len = length(from)?;
    take(from, len)?;
    Some(false)
}

fn take<'a>(from: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(len)?;
    *from = rest;
    Some(taken)
}

/// A variable-length integer (RFC 9000 section 16).
fn length(from: &mut &[u8]) -> Option<usize> {
    let first = take(from, 1)?[0];
    let rest = take(from, (1 << (first >> 6)) - 1)?;
    Some(rest.iter().fold(usize::from(first & 0x3f), |value, byte| value << 8 | usize::from(*byte)))
}

fn is_of_server(change: &[u8]) -> bool {
    change[0] & 0x80 != 0
}

/// The datagrams that arrive instead of one.
fn changed(mut datagram: Vec<u8>, change: Option<&[u8]>) -> Vec<Vec<u8>> {
    let Some(&[kind, high, low, value]) = change else { return vec![datagram] };
    let place = usize::from(u16::from_be_bytes([high, low])) % datagram.len().max(1);
    match (kind & 0x7f) % 9 {
        0 => return Vec::new(),
        1 => return vec![datagram.clone(), datagram],
        2 => datagram.truncate(place),
        3 => datagram.insert(place, value),
        4 => datagram[place] ^= value,
        5 => datagram[place] = value,
        6 => datagram.rotate_left(place),
        8 => put_gaps(&mut datagram, u16::from_be_bytes([high, low]), value),
        _ => {}
    }
    vec![datagram]
}

/// Replaces the frames of a 1-RTT packet by data of single octets with gaps between them, in a
/// unidirectional stream. A few such datagrams exceed the pieces that may wait.
fn put_gaps(datagram: &mut Vec<u8>, place: u16, stream: u8) {
    const TAG: usize = 16;
    let Some(first) = datagram.first().filter(|first| **first & 0x80 == 0) else { return };
    // RFC 9000 section 17.3.1: flags, connection ID of 8 octets, packet number.
    datagram.truncate(1 + 8 + usize::from(first & 3) + 1);
    for number in 0..900 {
        let offset = 0x8000_0000 | (1 + 2 * (u32::from(place) + number));
        // STREAM with offset and length (section 19.8).
        datagram.extend_from_slice(&[0x0e, 2 | stream & 0x3c]);
        datagram.extend_from_slice(&offset.to_be_bytes());
        datagram.extend_from_slice(&[1, 0]);
    }
    datagram.extend_from_slice(&[0; TAG]);
}
