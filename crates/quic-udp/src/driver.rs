//! The loop of an endpoint on a UDP socket.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant as StdInstant;

use bytes::BytesMut;
use nix::errno::Errno;
use noq_proto::crypto::{ClientConfig as ClientCrypto, ServerConfig as ServerCrypto};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Event,
    FourTuple, Incoming, ServerConfig, Transmit, ValidationTokenConfig,
};
use sojourn_quic::noq::{Gated, codepoint};
use sojourn_udp::io::{CHECK, Clock, Received, Route, Socket, StopHandle};
use sojourn_units::{Duration, Ecn, Instant};

use crate::Error;
use crate::figures::{Ending, Figures};
use crate::peer::Peer;
use crate::settings::{Limits, Settings};

/// Datagrams received, and sent on a connection, between two looks at everything else.
const BATCH: usize = 64;
/// Time between two collections of round-trip times, which bounds the samples in memory.
const COLLECT: Duration = Duration::from_secs(1);
/// Time that the last datagrams have until the socket takes them.
const LAST: Duration = Duration::from_millis(50);

/// The reason for which an application closes its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closing {
    /// The application's error code (RFC 9000 section 20.2).
    pub code: u32,
    /// The reason in words, for the peer.
    pub reason: &'static str,
}

/// The application of a connection.
pub trait Application {
    /// An event of the connection.
    fn on_event(&mut self, now: Instant, event: Event, connection: &mut Connection);

    /// Reads and writes streams. Called after events, datagrams and timers, as long as the
    /// connection is open. Returns the reason to close it, if there is one.
    fn run(&mut self, now: Instant, connection: &mut Connection) -> Option<Closing>;

    /// Whether it has no data to write.
    fn is_app_limited(&self) -> bool;

    /// The time of its next action.
    fn next_at(&self) -> Instant {
        Instant::MAX
    }
}

/// The applications of an endpoint's connections.
pub trait Service {
    /// The application of one connection.
    type App: Application;

    /// A client opens a connection.
    fn accept(&mut self, remote: SocketAddr) -> Self::App;

    /// A connection has ended.
    fn ended(&mut self, app: &mut Self::App, figures: &Figures) {
        let _ = (app, figures);
    }

    /// An open connection, once in each [`Service::look_every`].
    fn look(&mut self, app: &mut Self::App, figures: &Figures) {
        let _ = (app, figures);
    }

    /// A round-trip time was measured.
    fn on_rtt(&mut self, rtt: Duration) {
        let _ = rtt;
    }

    /// The reason for which the endpoint closes its connections at the end.
    fn closing(&self) -> Closing {
        Closing { code: 0, reason: "" }
    }

    /// A descriptor that is readable once an application has something to do.
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Time between calls of [`Service::look`]; `None` for no calls.
    fn look_every(&self) -> Option<Duration> {
        Some(COLLECT)
    }
}

/// Counts of datagrams and attempts that belong to no connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// Datagrams of no connection, without an answer.
    pub ignored: u64,
    /// Datagrams answered without a connection: version negotiation, resets.
    pub answered: u64,
    /// Attempts that were asked to prove their address.
    pub retries: u64,
    /// Attempts that were refused.
    pub refused: u64,
    /// Datagrams that the socket did not take, or that an ICMP error followed.
    pub unsent: u64,
}

/// The server's part of an endpoint.
struct Serving {
    crypto: Arc<dyn ServerCrypto>,
    base: ServerConfig,
    limits: Limits,
}

/// An endpoint and its connections.
pub struct Driver<S: Service> {
    socket: Socket,
    clock: Clock,
    /// noq's time zero, that of the clock.
    epoch: StdInstant,
    now: Instant,
    endpoint: Endpoint,
    settings: Settings,
    codepoint: Ecn,
    serving: Option<Serving>,
    peers: BTreeMap<usize, Peer<S::App>>,
    timers: BTreeSet<(Instant, usize)>,
    /// Connections to look at.
    ready: BTreeSet<usize>,
    /// A datagram that the socket did not take yet.
    held: Option<(Route, Vec<u8>)>,
    out: Vec<u8>,
    strays: Strays,
    unproved: usize,
    service: S,
    stop: StopHandle,
}

impl<S: Service> Driver<S> {
    /// An endpoint that opens connections by [`Driver::connect`].
    ///
    /// # Errors
    /// If the socket fails.
    pub fn client(
        socket: Socket,
        clock: Clock,
        settings: Settings,
        service: S,
    ) -> Result<Driver<S>, Error> {
        Driver::new(socket, clock, settings, service, None)
    }

    /// An endpoint that accepts connections.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn server(
        socket: Socket,
        clock: Clock,
        settings: Settings,
        service: S,
        crypto: Arc<dyn ServerCrypto>,
        limits: Limits,
    ) -> Result<Driver<S>, Error> {
        let mut base = ServerConfig::with_crypto(Arc::clone(&crypto));
        // Connections are accepted or refused at once: nothing waits in the endpoint.
        base.migration(false).max_incoming(BATCH).incoming_buffer_size_total(1 << 20);
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        base.validation_token_config(tokens);
        Driver::new(socket, clock, settings, service, Some(Serving { crypto, base, limits }))
    }

    fn new(
        socket: Socket,
        clock: Clock,
        settings: Settings,
        service: S,
        serving: Option<Serving>,
    ) -> Result<Driver<S>, Error> {
        let mut config = EndpointConfig::default();
        // Foreign senders may use any size that the path carries.
        config.max_udp_payload_size(u16::MAX - 28).map_err(io::Error::other).map_err(internal)?;
        let base = serving.as_ref().map(|serving| Arc::new(serving.base.clone()));
        let endpoint = Endpoint::new(Arc::new(config), base, false);
        // Only differences from this moment matter.
        #[expect(clippy::disallowed_methods, reason = "noq takes the times of the real clock")]
        let (now, time) = (clock.now(), StdInstant::now());
        let epoch = time.checked_sub(std::time::Duration::from_nanos(now.0)).unwrap_or(time);
        Ok(Driver {
            codepoint: settings.kit.codepoint(),
            socket,
            clock,
            epoch,
            now,
            endpoint,
            settings,
            serving,
            peers: BTreeMap::new(),
            timers: BTreeSet::new(),
            ready: BTreeSet::new(),
            held: None,
            out: Vec::new(),
            strays: Strays::default(),
            unproved: 0,
            service,
            stop: StopHandle::default(),
        })
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// If the stack refuses the name or the address.
    pub fn connect(
        &mut self,
        remote: SocketAddr,
        name: &str,
        crypto: Arc<dyn ClientCrypto>,
        app: S::App,
    ) -> Result<(), Error> {
        let now = self.advance();
        let (kit, gate) = self.settings.kit.gated(self.epoch);
        let mut config = ClientConfig::new(kit.client(crypto));
        config.transport_config(self.settings.transport(&kit, remote.is_ipv6()));
        let time = self.time(now);
        let connection = self
            .endpoint
            .connect(time, config, remote, name)
            .map_err(|error| Error::Connect { address: remote, reason: error.to_string() })?;
        let key = self.add(connection, gate, app, remote);
        if let Some(peer) = self.peers.get_mut(&key) {
            // It is the other end that has to prove its address.
            peer.is_proved = true;
        }
        Ok(())
    }

    /// Ends the loop from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// The address of its socket.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn local_addr(&self) -> Result<SocketAddr, Error> {
        Ok(self.socket.local_addr()?)
    }

    /// The applications.
    pub fn service(&mut self) -> &mut S {
        &mut self.service
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        self.peers.len()
    }

    /// Counts of datagrams that belong to no connection.
    pub fn strays(&self) -> Strays {
        self.strays
    }

    /// Datagrams that the kernel dropped because the socket's buffer was full.
    pub fn overflows(&self) -> u32 {
        self.socket.overflows()
    }

    /// Runs until the stop handle ends it, or until `is_over` holds. Then closes the connections.
    ///
    /// # Errors
    /// If the socket fails, or a client's server is not reachable.
    pub fn run(&mut self, is_over: &mut dyn FnMut(&mut S) -> bool) -> Result<(), Error> {
        let mut look_at = self.now;
        while !self.stop.is_stopped() && !is_over(&mut self.service) {
            let has_more = self.step()?;
            let now = self.now;
            if look_at <= now {
                let every = self.service.look_every();
                self.look(now, every.is_some());
                look_at = now + every.unwrap_or(COLLECT);
            }
            if !has_more {
                self.wait(look_at)?;
            }
        }
        self.close_all();
        Ok(())
    }

    /// Receives, runs timers and sends. Returns whether there is more to do at once.
    pub fn step(&mut self) -> Result<bool, Error> {
        let has_more = self.receive()?;
        let now = self.advance();
        while let Some((at, key)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, key));
            if let Some(peer) = self.peers.get_mut(&key) {
                peer.scheduled = Instant::MAX;
                peer.on_timer(now);
                self.ready.insert(key);
            }
        }
        if !self.flush()? {
            return Ok(false);
        }
        for key in std::mem::take(&mut self.ready) {
            self.drive(key)?;
        }
        Ok(has_more || (self.held.is_none() && !self.ready.is_empty()))
    }

    /// Marks every connection as ready, after another thread has written for one.
    fn rouse(&mut self) {
        self.ready.extend(self.peers.keys().copied());
    }

    /// Collects the round-trip times of all connections, and shows these to the service if
    /// `is_due`.
    fn look(&mut self, now: Instant, is_due: bool) {
        for peer in self.peers.values_mut() {
            let service = &mut self.service;
            peer.note_state(now, &mut |rtt| service.on_rtt(rtt));
            if is_due {
                self.service.look(&mut peer.app, &peer.figures);
            }
        }
    }

    fn advance(&mut self) -> Instant {
        self.now = self.now.max(self.clock.now());
        self.now
    }

    fn time(&self, now: Instant) -> StdInstant {
        self.epoch + std::time::Duration::from_nanos(now.0)
    }

    /// Receives a batch of datagrams, at the kernel's receive times: the time until this thread ran
    /// is no part of the round trip. Returns whether there may be more.
    fn receive(&mut self) -> Result<bool, Error> {
        let times = self.clock.realtime();
        for _ in 0..BATCH {
            match self.socket.receive(&times) {
                Ok(Some(received)) => self.on_datagram(&received)?,
                Ok(None) => return Ok(false),
                Err(errno) => self.on_error(errno)?,
            }
        }
        Ok(true)
    }

    fn on_datagram(&mut self, received: &Received) -> Result<(), Error> {
        self.now = received.at.min(self.clock.now()).max(self.now);
        let path = FourTuple::new(received.from, received.local);
        let bytes = BytesMut::from(self.socket.datagram(received.len));
        let (time, ecn) = (self.time(self.now), codepoint(received.ecn));
        self.out.clear();
        match self.endpoint.handle(time, path, ecn, bytes, &mut self.out) {
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(key), event)) => {
                if let Some(peer) = self.peers.get_mut(&key) {
                    peer.figures.received.count(received.ecn, received.len);
                    peer.connection.handle_event(event);
                    self.ready.insert(key);
                }
                Ok(())
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.on_incoming(incoming, received),
            Some(DatagramEvent::Response(transmit)) => {
                self.strays.answered += 1;
                self.answer(&transmit)
            }
            None => {
                self.strays.ignored += 1;
                Ok(())
            }
        }
    }

    /// Accepts a connection, asks its client to prove the address, or refuses it.
    fn on_incoming(&mut self, incoming: Incoming, received: &Received) -> Result<(), Error> {
        let Some(serving) = &self.serving else {
            self.endpoint.ignore(incoming);
            return Ok(());
        };
        self.out.clear();
        if self.peers.len() >= serving.limits.connections {
            self.strays.refused += 1;
            let transmit = self.endpoint.refuse(incoming, &mut self.out);
            return self.answer(&transmit);
        }
        let is_proved = incoming.remote_address_validated();
        if !is_proved && self.unproved >= serving.limits.unproved {
            self.strays.retries += 1;
            // It may always be asked as long as its address is not proved.
            return match self.endpoint.retry(incoming, &mut self.out) {
                Ok(transmit) => self.answer(&transmit),
                Err(_) => Ok(()),
            };
        }
        let (kit, gate) = self.settings.kit.gated(self.epoch);
        let mut config = serving.base.clone();
        config.crypto = kit.server(Arc::clone(&serving.crypto));
        config.transport = self.settings.transport(&kit, received.from.is_ipv6());
        let (time, config) = (self.time(self.now), Some(Arc::new(config)));
        match self.endpoint.accept(incoming, time, &mut self.out, config) {
            Ok(connection) => {
                let app = self.service.accept(received.from);
                let key = self.add(connection, gate, app, received.from);
                if let Some(peer) = self.peers.get_mut(&key) {
                    peer.is_proved = is_proved;
                    self.unproved += usize::from(!is_proved);
                    peer.figures.received.count(received.ecn, received.len);
                }
                Ok(())
            }
            Err(refused) => {
                self.strays.refused += 1;
                refused.response.map_or(Ok(()), |transmit| self.answer(&transmit))
            }
        }
    }

    fn add(
        &mut self,
        (handle, connection): (ConnectionHandle, Connection),
        gate: Gated,
        app: S::App,
        remote: SocketAddr,
    ) -> usize {
        gate.catch_up(self.settings.catch_up);
        let figures = Figures::new(remote, self.now);
        let peer = Peer::new((handle, connection), gate, app, figures, self.epoch);
        self.peers.insert(handle.0, peer);
        self.ready.insert(handle.0);
        handle.0
    }

    /// Sends an answer without a connection, which may get lost.
    fn answer(&mut self, transmit: &Transmit) -> Result<(), Error> {
        let route = self.route(transmit);
        let sent = self.socket.send(&route, &self.out[..transmit.size], &[]);
        self.strays.unsent += u64::from(sent.is_err());
        Ok(())
    }

    fn route(&self, transmit: &Transmit) -> Route {
        let ecn = if transmit.ecn.is_some() { self.codepoint } else { Ecn::NotEct };
        let to = Some(transmit.destination);
        Route { to, from: transmit.src_ip, ecn, departure_ns: None }
    }

    /// Lets a connection act and send.
    fn drive(&mut self, key: usize) -> Result<(), Error> {
        let now = self.advance();
        let Driver { peers, endpoint, service, unproved, .. } = self;
        let Some(peer) = peers.get_mut(&key) else { return Ok(()) };
        let was_open = peer.figures.ending == Ending::Open;
        let was_proved = peer.is_proved;
        let mut is_gone = peer.exchange(endpoint);
        peer.run(now);
        *unproved -= usize::from(!was_proved && peer.is_proved);
        is_gone |= peer.exchange(endpoint);
        if was_open && peer.figures.ending != Ending::Open {
            service.ended(&mut peer.app, &peer.figures);
        }
        if is_gone {
            self.remove(key);
            return Ok(());
        }
        self.transmit(key)?;
        let Driver { peers, endpoint, timers, .. } = self;
        let Some(peer) = peers.get_mut(&key) else { return Ok(()) };
        if peer.exchange(endpoint) {
            self.remove(key);
            return Ok(());
        }
        let next = peer.next_at();
        if next != peer.scheduled {
            timers.remove(&(peer.scheduled, key));
            peer.scheduled = next;
            if next < Instant::MAX {
                timers.insert((next, key));
            }
        }
        Ok(())
    }

    fn remove(&mut self, key: usize) {
        if let Some(peer) = self.peers.remove(&key) {
            self.timers.remove(&(peer.scheduled, key));
            self.unproved -= usize::from(!peer.is_proved);
        }
    }

    /// Sends the datagrams of a connection that may leave.
    fn transmit(&mut self, key: usize) -> Result<(), Error> {
        // The datagram that is held may be another connection's. It leaves first.
        if self.held.is_some() {
            self.ready.insert(key);
            return Ok(());
        }
        for _ in 0..BATCH {
            let now = self.advance();
            let Some(peer) = self.peers.get_mut(&key) else { return Ok(()) };
            let Some(transmit) = peer.transmit(now, &mut self.out) else { return Ok(()) };
            let route = self.route(&transmit);
            if let Some(peer) = self.peers.get_mut(&key) {
                peer.note_sent(route.ecn, transmit.size);
            }
            self.send(route, transmit.size, transmit.destination)?;
            if self.held.is_some() {
                break;
            }
        }
        self.ready.insert(key);
        Ok(())
    }

    fn send(&mut self, route: Route, size: usize, to: SocketAddr) -> Result<(), Error> {
        match self.socket.send(&route, &self.out[..size], &[]) {
            Ok(()) => Ok(()),
            Err(Errno::EAGAIN | Errno::EINTR) => {
                self.held = Some((route, self.out[..size].to_vec()));
                Ok(())
            }
            // A full queue of the interface drops, as a queue on the path does.
            Err(Errno::ENOBUFS) => {
                self.strays.unsent += 1;
                Ok(())
            }
            Err(Errno::EMSGSIZE) if self.serving.is_none() => {
                Err(Error::TooLarge { address: to, size })
            }
            Err(errno) => self.on_error(errno),
        }
    }

    /// Sends the datagram that is held; returns whether it has left.
    fn flush(&mut self) -> Result<bool, Error> {
        let Some((route, bytes)) = &self.held else { return Ok(true) };
        match self.socket.send(route, bytes, &[]) {
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(false),
            Err(errno) => self.on_error(errno)?,
            Ok(()) => {}
        }
        self.held = None;
        Ok(true)
    }

    /// Counts an error of one datagram: an ICMP error of an earlier one, a firewall, an address
    /// that has no route, a lack of memory. A server's clients end by their timeouts. A client's
    /// server is not reachable while no datagram of it has arrived.
    ///
    /// Only errors of the socket itself are faults, since one peer's address must not end the
    /// connections of the others.
    fn on_error(&mut self, errno: Errno) -> Result<(), Error> {
        self.strays.unsent += 1;
        match errno {
            Errno::EBADF | Errno::ENOTSOCK | Errno::EFAULT | Errno::EOPNOTSUPP => {
                let source = io::Error::from(errno);
                let action = "send or receive";
                return Err(sojourn_udp::Error::Socket { action, source }.into());
            }
            // This machine lacks memory at present, which says nothing about the peer.
            Errno::ENOBUFS | Errno::ENOMEM | Errno::EAGAIN | Errno::EINTR => return Ok(()),
            _ => {}
        }
        let silent = self.peers.values().find(|peer| peer.figures.received.total() == 0);
        match silent {
            Some(peer) if self.serving.is_none() => Err(Error::NotReachable {
                address: peer.figures.remote,
                source: io::Error::from(errno),
            }),
            _ => Ok(()),
        }
    }

    /// Waits for the next event, at `until` at the latest.
    fn wait(&mut self, until: Instant) -> Result<(), Error> {
        let next = self.timers.first().map_or(Instant::MAX, |(at, _)| *at);
        let until = until.min(next).min(self.now + CHECK);
        let wake = self.service.wake();
        let has_wake = wake.is_some();
        self.socket.wait(&self.clock, until, self.held.is_some(), wake)?;
        if has_wake {
            self.rouse();
        }
        Ok(())
    }

    /// Closes every connection, and sends the datagrams that say so.
    fn close_all(&mut self) {
        let now = self.advance();
        for key in self.peers.keys().copied().collect::<Vec<_>>() {
            self.flush_until(now + LAST);
            if let Some(peer) = self.peers.get_mut(&key) {
                let was_open = peer.figures.ending == Ending::Open;
                peer.close(now, self.service.closing().code, self.service.closing().reason);
                if was_open {
                    self.service.ended(&mut peer.app, &peer.figures);
                }
            }
            // The peer's idle timeout ends a connection whose last datagram is lost.
            let _ = self.drive(key);
        }
        self.flush_until(now + LAST);
    }

    /// Waits until the datagram that is held has left, at `until` at the latest.
    fn flush_until(&mut self, until: Instant) {
        while matches!(self.flush(), Ok(false)) && self.advance() < until {
            let _ = self.socket.wait(&self.clock, until, true, None);
        }
    }
}

fn internal(error: io::Error) -> Error {
    sojourn_udp::Error::Socket { action: "set up an endpoint", source: error }.into()
}

#[cfg(test)]
mod tests {
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
}
