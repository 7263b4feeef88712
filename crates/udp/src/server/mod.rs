//! The receiving end: a table of peers, without sockets or a clock.
//!
//! The server answers a HELLO at once while at most half of its places are taken by peers that have
//! not proved their address. Beyond that, it answers with a RETRY, keeps no state, and accepts the
//! client when its HELLO comes again with the cookie. Until a peer uses the server's connection ID,
//! the server sends at most three times the bytes that it received from it.
//!
//! Memory: at most [`Limits::peers`] times [`Limits::peer_memory`]. A packet beyond a peer's window
//! is dropped; ACCEPT names the window, which an honest sender respects.

mod cookie;
mod limits;
mod peer;
mod report;
mod shares;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use sojourn_transport::Ack;
use sojourn_units::{Duration, Instant};

pub use cookie::Secret;
pub use limits::Limits;
use peer::Peer;
pub use report::{Arrival, Ending, Outbox, PeerReport, Strays};
pub use shares::Shares;

use crate::wire::{Accept, Cookie, DataPacket, Hello, Malformed, Message, Reason, decode, encode};

/// A closed peer is kept for this long after its first CLOSE, to answer a repeated one.
const LINGER: Duration = Duration::from_secs(1);

/// Address and connection ID of a datagram.
type Key = (SocketAddr, u64);

/// A table of peers.
#[derive(Debug)]
pub struct Server {
    limits: Limits,
    secret: Secret,
    peers: BTreeMap<u64, Entry>,
    /// The peers by the addresses and connection IDs of their datagrams.
    places: BTreeMap<Key, u64>,
    due: BTreeSet<(Instant, u64)>,
    not_validated: usize,
    /// Their places, which a closed peer holds until it is removed: as in QUIC, where a connection
    /// counts until it is drained.
    shares: Shares,
    opened: u64,
    strays: Strays,
    ended: Vec<PeerReport>,
    ack: Ack,
    octets: Vec<u8>,
}

/// A peer and the time of its timer.
#[derive(Debug)]
struct Entry {
    peer: Peer,
    due: Instant,
}

impl Server {
    /// A server without peers.
    pub fn new(limits: Limits, secret: Secret) -> Server {
        Server {
            limits,
            secret,
            peers: BTreeMap::new(),
            places: BTreeMap::new(),
            due: BTreeSet::new(),
            not_validated: 0,
            shares: Shares::default(),
            opened: 0,
            strays: Strays::default(),
            ended: Vec::new(),
            ack: Ack::default(),
            octets: Vec::new(),
        }
    }

    /// A datagram has arrived.
    pub fn on_datagram(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        datagram: &[u8],
        out: &mut impl Outbox,
    ) {
        match decode(datagram) {
            Ok(Message::Hello(hello)) => self.on_hello(now, arrival, datagram.len(), &hello, out),
            Ok(Message::Data(data)) => self.on_data(now, arrival, datagram.len(), &data, out),
            Ok(Message::Ping { id, number }) => {
                self.answer(now, (arrival.from, id), datagram.len(), out, |peer| Message::Pong {
                    id: peer.client_id,
                    number,
                });
            }
            Ok(Message::Close(close)) => {
                let (key, mut ended) = ((arrival.from, close.id), None);
                self.answer(now, key, datagram.len(), out, |peer| {
                    ended = peer.close(now, close.sent).then(|| peer.report(Ending::Closed));
                    Message::Closed { id: peer.client_id, receipt: peer.receipt() }
                });
                self.note_ended(ended);
            }
            Ok(_) => self.strays.unknown += 1,
            Err(fault) => self.on_malformed(arrival, datagram, fault, out),
        }
    }

    /// A HELLO of another version gets the version of this end.
    fn on_malformed(
        &mut self,
        arrival: &Arrival,
        datagram: &[u8],
        fault: Malformed,
        out: &mut impl Outbox,
    ) {
        self.strays.malformed += 1;
        let id = datagram.get(4..12).and_then(|octets| octets.try_into().ok());
        if let (Malformed::Version(_), Some(id)) = (fault, id)
            && crate::wire::looks_like_hello(datagram)
        {
            self.refuse(
                arrival.from,
                u64::from_be_bytes(id),
                Reason::Version(crate::wire::VERSION),
                out,
            );
        }
    }

    fn refuse(&mut self, to: SocketAddr, id: u64, reason: Reason, out: &mut impl Outbox) {
        self.strays.refused += 1;
        encode(&Message::Refuse { id, reason }, 0, &mut self.octets);
        out.send(to, &self.octets);
    }

    fn on_hello(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        octets: usize,
        hello: &Hello,
        out: &mut impl Outbox,
    ) {
        let key = (arrival.from, hello.id);
        if let Some(&place) = self.places.get(&key) {
            self.peers.get_mut(&place).expect("it has a place").peer.hear(now, octets);
            return self.accept(place, out);
        }
        if octets < hello.terms.handshake_size() {
            self.strays.malformed += 1;
            return;
        }
        let window = self.limits.window(&hello.terms).filter(|_| hello.terms.check().is_ok());
        let Some(window) = window else {
            return self.refuse(arrival.from, hello.id, Reason::Terms, out);
        };
        let has_cookie = hello.cookie != Cookie::default()
            && self.secret.accepts(now, arrival.from, hello.id, &hello.cookie);
        let free = self.limits.peers.saturating_sub(self.peers.len());
        let is_admitted = self.shares.admit(arrival.from.ip(), has_cookie, free);
        let is_crowded = self.not_validated >= self.limits.peers / 2;
        if !has_cookie && (is_crowded || !is_admitted && free > 0) {
            return self.retry(now, arrival.from, hello.id, out);
        }
        if !is_admitted {
            return self.refuse(arrival.from, hello.id, Reason::Full, out);
        }
        let place = self.open(now, key, hello, window);
        let peer = &mut self.peers.get_mut(&place).expect("it was just opened").peer;
        peer.hear(now, octets);
        if has_cookie {
            self.validate(place);
        }
        self.accept(place, out);
    }

    fn retry(&mut self, now: Instant, to: SocketAddr, id: u64, out: &mut impl Outbox) {
        self.strays.retries += 1;
        let cookie = self.secret.cookie(now, to, id);
        encode(&Message::Retry { id, cookie }, 0, &mut self.octets);
        out.send(to, &self.octets);
    }

    fn open(&mut self, now: Instant, (from, id): Key, hello: &Hello, window: u32) -> u64 {
        self.opened += 1;
        let place = self.opened;
        let server_id = self.secret.connection_id(from, id, place);
        let peer = Peer::new(now, from, hello.terms, id, server_id, window);
        self.peers.insert(place, Entry { peer, due: Instant::MAX });
        self.places.insert((from, id), place);
        self.places.insert((from, server_id), place);
        self.not_validated += 1;
        self.shares.open(from.ip(), false);
        place
    }

    fn accept(&mut self, place: u64, out: &mut impl Outbox) {
        let peer = &mut self.peers.get_mut(&place).expect("it has a place").peer;
        let parts = peer.terms.answer_packets();
        for part in 0..parts {
            let accept = Accept {
                id: peer.client_id,
                server_id: peer.server_id,
                window: peer.window,
                idle_ms: u32::try_from(self.limits.idle_timeout.0 / 1_000_000).unwrap_or(u32::MAX),
                part,
                parts,
            };
            encode(&Message::Accept(accept), peer.terms.handshake_size(), &mut self.octets);
            if peer.may_send(self.octets.len()) {
                out.send(peer.address, &self.octets);
            }
        }
        self.schedule(place);
    }

    fn validate(&mut self, place: u64) {
        let peer = &mut self.peers.get_mut(&place).expect("it has a place").peer;
        if !std::mem::replace(&mut peer.is_validated, true) {
            self.not_validated -= 1;
            self.shares.prove(peer.address.ip());
        }
    }

    /// The peer of a datagram, which has proved its address if it uses the server's ID.
    fn peer(&mut self, now: Instant, key: Key, octets: usize) -> Option<u64> {
        let Some(&place) = self.places.get(&key) else {
            self.strays.unknown += 1;
            return None;
        };
        let peer = &mut self.peers.get_mut(&place)?.peer;
        peer.hear(now, octets);
        if peer.server_id == key.1 {
            self.validate(place);
        }
        Some(place)
    }

    fn on_data(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        octets: usize,
        data: &DataPacket,
        out: &mut impl Outbox,
    ) {
        let Some(place) = self.peer(now, (arrival.from, data.id), octets) else { return };
        let peer = &mut self.peers.get_mut(&place).expect("it has a place").peer;
        if !peer.is_closed() {
            peer.on_data(data, arrival);
            self.acknowledge(now, place, out);
        }
        self.schedule(place);
    }

    fn acknowledge(&mut self, now: Instant, place: u64, out: &mut impl Outbox) {
        let peer = &mut self.peers.get_mut(&place).expect("it has a place").peer;
        while peer.take_ack(now, &mut self.ack, &mut self.octets) {
            out.send(peer.address, &self.octets);
        }
    }

    /// Answers a message with one of at most its length.
    fn answer(
        &mut self,
        now: Instant,
        key: Key,
        octets: usize,
        out: &mut impl Outbox,
        answer: impl FnOnce(&mut Peer) -> Message<'static>,
    ) {
        let Some(place) = self.peer(now, key, octets) else { return };
        let peer = &mut self.peers.get_mut(&place).expect("it has a place").peer;
        let message = answer(peer);
        encode(&message, 0, &mut self.octets);
        if peer.may_send(self.octets.len()) {
            out.send(peer.address, &self.octets);
        }
        self.schedule(place);
    }

    /// When to call [`Server::on_timer`]; [`Instant::MAX`] for never.
    pub fn timer(&self) -> Instant {
        self.due.first().map_or(Instant::MAX, |(due, _)| *due)
    }

    /// Handles the timers that are due.
    pub fn on_timer(&mut self, now: Instant, out: &mut impl Outbox) {
        while let Some(&(due, place)) = self.due.first().filter(|(due, _)| *due <= now) {
            self.due.remove(&(due, place));
            let entry = self.peers.get_mut(&place).expect("a removed peer has no timer");
            entry.due = Instant::MAX;
            if self.limits.expiry(&entry.peer) <= now {
                self.remove(place);
                continue;
            }
            entry.peer.on_timer(now);
            self.acknowledge(now, place, out);
            self.schedule(place);
        }
    }

    fn schedule(&mut self, place: u64) {
        let entry = self.peers.get_mut(&place).expect("it has a place");
        let acks = if entry.peer.is_closed() { Instant::MAX } else { entry.peer.ack_timer() };
        let due = acks.min(self.limits.expiry(&entry.peer));
        if due != entry.due {
            self.due.remove(&(entry.due, place));
            self.due.insert((due, place));
            entry.due = due;
        }
    }

    fn remove(&mut self, place: u64) {
        let Some(Entry { peer, .. }) = self.peers.remove(&place) else { return };
        self.places.remove(&(peer.address, peer.client_id));
        self.places.remove(&(peer.address, peer.server_id));
        self.not_validated -= usize::from(!peer.is_validated);
        self.shares.close(peer.address.ip(), peer.is_validated);
        self.note_ended((!peer.is_closed()).then(|| peer.report(Ending::Vanished)));
    }

    fn note_ended(&mut self, report: Option<PeerReport>) {
        if self.ended.len() < self.limits.peers {
            self.ended.extend(report);
        }
    }

    /// The number of peers.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Whether the server is without peers.
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// The peers at present. A closed one remains for a second.
    pub fn peers(&self) -> impl Iterator<Item = PeerReport> {
        self.peers.values().map(|entry| {
            let ending = if entry.peer.is_closed() { Ending::Closed } else { Ending::Open };
            entry.peer.report(ending)
        })
    }

    /// Takes the reports of the peers that have ended since the last call. If it is not called, the
    /// server keeps as many as it has places for peers.
    pub fn take_ended(&mut self) -> Vec<PeerReport> {
        std::mem::take(&mut self.ended)
    }

    /// Counts of datagrams that belong to no peer.
    pub fn strays(&self) -> Strays {
        self.strays
    }
}

impl Limits {
    /// When a peer that stays silent is removed.
    fn expiry(&self, peer: &Peer) -> Instant {
        // Later datagrams do not keep a closed peer.
        if let Some(closed_at) = peer.closed_at {
            return closed_at + LINGER;
        }
        let span = if peer.is_validated { self.idle_timeout } else { self.validation_timeout };
        peer.heard_at + span
    }
}
