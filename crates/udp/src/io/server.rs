//! A server on a socket.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use nix::errno::Errno;
use sojourn_units::{Duration, Instant};

use super::clock::Clock;
use super::socket::{Opener, Route, Socket, lacks_ipv6, least_timer_slack, open_dual, open_here};
use super::spin::SpinAllowance;
use super::stop::{CHECK, StopHandle};
use super::turns::{Polled, TakesTurns, Turn, Wait, take_turns};
use crate::error::Error;
use crate::server::{Arrival, Ending, Limits, PeerReport, Secret, Server as Table, Strays};

/// Datagrams received between two looks at the timers.
const BATCH: usize = 64;

/// Follows a server, in its thread: each call delays the acknowledgements.
pub trait ServerObserver {
    /// A peer has ended.
    fn ended(&mut self, peer: &PeerReport) {
        let _ = peer;
    }

    /// Datagrams have arrived, and their data were delivered.
    fn arrived(&mut self, peers: &Table) {
        let _ = peers;
    }

    /// Time between calls of [`ServerObserver::look`].
    fn interval(&self) -> Duration {
        Duration::MAX
    }

    /// Looks at the peers.
    fn look(&mut self, now: Instant, peers: &Table) {
        let _ = (now, peers);
    }
}

impl ServerObserver for () {}

/// A server that receives the data of its peers.
pub struct Server {
    socket: Socket,
    clock: Clock,
    table: Table,
    stop: StopHandle,
    address: SocketAddr,
    locals: Locals,
    /// Datagrams that the socket did not take.
    unsent: u64,
}

impl Server {
    /// Opens a server at `address`; port 0 selects a free port.
    ///
    /// # Errors
    /// If the socket cannot be opened.
    pub fn bind(address: SocketAddr, limits: Limits) -> Result<Server, Error> {
        Server::bind_with(address, limits, Clock::start(), &open_here)
    }

    /// Opens a server at all addresses of this machine: of both versions of IP, or of IPv4 if the
    /// machine has no IPv6.
    ///
    /// # Errors
    /// If the socket cannot be opened.
    pub fn bind_any(port: u16, limits: Limits) -> Result<Server, Error> {
        let bind =
            |ip: IpAddr| Server::bind_with((ip, port).into(), limits, Clock::start(), &open_dual);
        match bind(Ipv6Addr::UNSPECIFIED.into()) {
            Err(Error::Bind { source, .. }) if lacks_ipv6(&source) => {
                bind(Ipv4Addr::UNSPECIFIED.into())
            }
            other => other,
        }
    }

    /// Opens a server on a socket that `opener` opens.
    ///
    /// # Errors
    /// If the socket cannot be opened.
    pub fn bind_with(
        address: SocketAddr,
        limits: Limits,
        clock: Clock,
        opener: &Opener,
    ) -> Result<Server, Error> {
        let socket = Socket::bind(address, opener)?;
        let mut secret = [0; 16];
        getrandom::fill(&mut secret)
            .map_err(|error| Error::socket("draw a secret", std::io::Error::from(error)))?;
        let address = socket.local_addr()?;
        let table = Table::new(limits, Secret(secret));
        let locals = Locals { most: 2 * limits.peers, by_peer: BTreeMap::new() };
        Ok(Server { socket, clock, table, stop: StopHandle::default(), address, locals, unsent: 0 })
    }

    /// Its address.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Ends it from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Serves in this thread, whose timer slack it sets to the least, until it is stopped. Returns
    /// the counts of datagrams that belong to no peer.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn run(&mut self, observer: &mut dyn ServerObserver) -> Result<Strays, Error> {
        least_timer_slack();
        let look_at = self.clock.now() + observer.interval();
        let (clock, stop) = (self.clock, self.stop.clone());
        let mut serving = Serving { server: &mut *self, observer: &mut *observer, look_at };
        take_turns(&mut serving, clock, || stop.is_stopped())?;
        let open = self.table.peers().filter(|peer| peer.ending == Ending::Open);
        open.for_each(|peer| observer.ended(&peer));
        Ok(self.table.strays())
    }

    /// Receives a batch of datagrams. Returns whether there were any.
    fn receive(&mut self) -> Result<bool, Error> {
        let times = self.clock.realtime();
        for count in 0..BATCH {
            let received = match self.socket.receive(&times) {
                Ok(Some(received)) => received,
                Ok(None) => return Ok(count > 0),
                // ICMP errors of datagrams that were sent: their peers end by their timeouts.
                Err(Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH) => continue,
                Err(errno) => return Err(Error::socket("receive", errno)),
            };
            self.locals.note(received.from, received.local);
            let arrival = Arrival { from: received.from, at: received.at, ecn: received.ecn };
            let mut out = sender(&self.socket, &self.locals, &mut self.unsent);
            let datagram = self.socket.datagram(received.len);
            self.table.on_datagram(self.clock.now(), &arrival, datagram, &mut out);
        }
        Ok(true)
    }

    /// Datagrams that the kernel dropped because the socket's buffer was full.
    pub fn overflows(&self) -> u32 {
        self.socket.overflows()
    }

    /// Datagrams that the socket did not take. A lost acknowledgement does no harm.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }
}

/// A server that runs, and its observer.
struct Serving<'a> {
    server: &'a mut Server,
    observer: &'a mut dyn ServerObserver,
    look_at: Instant,
}

impl TakesTurns for Serving<'_> {
    type Error = Error;

    fn turn(&mut self, _: &SpinAllowance) -> Result<Turn, Error> {
        let Serving { server, observer, look_at } = self;
        if server.receive()? {
            observer.arrived(&server.table);
        }
        let now = server.clock.now();
        if server.table.timer() <= now {
            let mut out = sender(&server.socket, &server.locals, &mut server.unsent);
            server.table.on_timer(now, &mut out);
        }
        server.table.take_ended().iter().for_each(|peer| observer.ended(peer));
        if *look_at <= now {
            observer.look(now, &server.table);
            *look_at = now + observer.interval();
        }
        Ok(Turn::Wait(Wait::until(server.table.timer().min(*look_at).min(now + CHECK))))
    }

    fn polled(&self) -> Polled<'_> {
        self.server.socket.polled(false, None)
    }

    fn failed(error: io::Error) -> Error {
        Error::socket("wait", error)
    }
}

/// The addresses of this machine that peers use, so that answers leave from them.
#[derive(Debug)]
struct Locals {
    most: usize,
    by_peer: BTreeMap<SocketAddr, IpAddr>,
}

impl Locals {
    fn note(&mut self, peer: SocketAddr, local: Option<IpAddr>) {
        let Some(local) = local else { return };
        if self.by_peer.len() > self.most && !self.by_peer.contains_key(&peer) {
            // The next datagrams of the peers bring them back.
            self.by_peer.clear();
        }
        self.by_peer.insert(peer, local);
    }
}

/// Sends datagrams at once.
fn sender<'a>(
    socket: &'a Socket,
    locals: &'a Locals,
    unsent: &'a mut u64,
) -> impl FnMut(SocketAddr, &[u8]) + use<'a> {
    move |to, datagram| {
        let from = locals.by_peer.get(&to).copied();
        let route = Route { to: Some(to), from, ..Route::default() };
        *unsent += u64::from(socket.send(&route, datagram, &[]).is_err());
    }
}
