//! The loop of an endpoint on a UDP socket.

mod receive;
mod run;
mod send;
mod service;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant as StdInstant;

use noq_proto::crypto::{ClientConfig as ClientCrypto, ServerConfig as ServerCrypto};
use noq_proto::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, ValidationTokenConfig};
use sojourn_quic::noq::{Gated, Kit};
use sojourn_udp::io::{CappedPriority, Clock, Route, Scheduling, Socket, StopHandle};
use sojourn_udp::server::Shares;
use sojourn_units::{Ecn, Instant};

use crate::Error;
use crate::observation::{self, Passing, SharedObserver};
use crate::peer::Peer;
use crate::settings::{Credit, Limits, Settings};
pub use service::{Application, Closing, Service, Strays};

/// Datagrams received, and sent on a connection, between two looks at everything else.
const BATCH: usize = 64;
/// The address of a socket that does not tell its own.
const UNKNOWN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// The server's part of an endpoint.
struct Serving {
    crypto: Arc<dyn ServerCrypto>,
    base: ServerConfig,
    limits: Limits,
    shares: Shares,
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
    credit: Credit,
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
    /// The greatest number of a connection so far, plus one.
    slots: usize,
    priority: Option<CappedPriority>,
    service: S,
    observer: Option<SharedObserver>,
    /// Connections so far.
    begun: u64,
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
        // Connections are accepted or refused at once, and never wait in the endpoint.
        base.migration(false).max_incoming(BATCH).incoming_buffer_size_total(1 << 20);
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        base.validation_token_config(tokens);
        let serving = Serving { crypto, base, limits, shares: Shares::default() };
        Driver::new(socket, clock, settings, service, Some(serving))
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
            credit: Credit::default(),
            serving,
            peers: BTreeMap::new(),
            timers: BTreeSet::new(),
            ready: BTreeSet::new(),
            held: None,
            out: Vec::new(),
            strays: Strays::default(),
            unproved: 0,
            slots: 0,
            priority: None,
            service,
            observer: None,
            begun: 0,
            stop: StopHandle::default(),
        })
    }

    /// Gives the peers of later connections this credit.
    pub fn with_credit(self, credit: Credit) -> Driver<S> {
        Driver { credit, ..self }
    }

    /// Shows the datagrams, and later connections, to an observer.
    pub fn with_observer(self, observer: Option<SharedObserver>) -> Driver<S> {
        observation::inform(observer.as_ref(), |observer| observer.begun(self.clock.epoch_ns()));
        Driver { observer, ..self }
    }

    /// Gives the calling thread real-time priority, for at most half of its processor. Returns whether
    /// this machine permits it.
    pub fn prioritise(&mut self, scheduling: Box<dyn Scheduling>) -> bool {
        self.priority = CappedPriority::begin(scheduling, self.clock);
        self.priority.is_some()
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
        let (kit, gate) = self.gated();
        let mut config = ClientConfig::new(kit.client(crypto));
        config.transport_config(self.settings.transport(&kit, &self.credit, remote.is_ipv6()));
        let time = self.time(now);
        let (handle, connection) = self
            .endpoint
            .connect(time, config, remote, name)
            .map_err(|error| Error::Connect { address: remote, reason: error.to_string() })?;
        let local = self.socket.local_addr()?;
        let key = self.add(handle, connection, gate, app, [local, remote]);
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

    /// Receives, runs timers and sends. Returns whether there is more to do at once.
    pub fn step(&mut self) -> Result<bool, Error> {
        let has_more = self.receive()?;
        let now = self.advance();
        while let Some((at, key)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, key));
            if let Some(peer) = self.peers.get_mut(&key) {
                peer.scheduled = Instant::MAX;
                peer.on_timer(now);
                peer.show_events(now, self.observer.as_ref());
                self.ready.insert(key);
            }
            self.account();
        }
        if !self.flush()? {
            return Ok(false);
        }
        for key in std::mem::take(&mut self.ready) {
            self.drive(key)?;
            self.account();
        }
        Ok(has_more || (self.held.is_none() && !self.ready.is_empty()))
    }

    /// Keeps to the budget of real-time priority. Called after each turn of a connection, since a step
    /// with many connections takes long.
    fn account(&mut self) {
        if let Some(priority) = &mut self.priority {
            priority.account();
        }
    }

    /// Marks every connection as ready, after another thread has written for one.
    fn rouse(&mut self) {
        self.ready.extend(self.peers.keys().copied());
    }

    /// Collects the round-trip times of all connections, and shows these to the service if
    /// `is_due`.
    fn look(&mut self, now: Instant, is_due: bool) {
        for key in self.peers.keys().copied().collect::<Vec<_>>() {
            let Driver { peers, service, .. } = self;
            let Some(peer) = peers.get_mut(&key) else { continue };
            peer.note_state(now, &mut |rtt| service.on_rtt(rtt));
            if is_due {
                peer.look(|app, figures| service.look(app, figures));
            }
            self.settle(key, false);
            self.account();
        }
    }

    /// The controller of the next connection.
    fn gated(&self) -> (Kit, Gated) {
        let (kit, gate) = self.settings.kit.gated(self.epoch);
        if self.settings.counts_retransmissions {
            gate.count_retransmissions();
        }
        observation::inform(self.observer.as_ref(), |observer| {
            if observer.follows_connections() {
                gate.observe();
            }
        });
        (kit, gate)
    }

    /// Shows a datagram to the observer, if there is one.
    fn show<'a>(&self, passing: impl FnOnce() -> Passing<'a>) {
        observation::inform(self.observer.as_ref(), |observer| observer.datagram(&passing()));
    }

    /// The address of this machine at which a datagram arrived or left.
    fn local(&self, ip: Option<IpAddr>) -> SocketAddr {
        let own = self.socket.local_addr().unwrap_or(UNKNOWN);
        SocketAddr::new(ip.unwrap_or(own.ip()), own.port())
    }

    fn advance(&mut self) -> Instant {
        self.now = self.now.max(self.clock.now());
        self.now
    }

    fn time(&self, now: Instant) -> StdInstant {
        self.epoch + std::time::Duration::from_nanos(now.0)
    }

    /// The departure for which a connection waits.
    fn departs_at(&self, key: usize) -> Option<Instant> {
        self.peers.get(&key).and_then(Peer::departs_at)
    }
}

fn internal(error: io::Error) -> Error {
    sojourn_udp::Error::Socket { action: "set up an endpoint", source: error }.into()
}
