//! The turns of connections, and the datagrams that leave.

use std::io;
use std::net::SocketAddr;

use nix::errno::Errno;
use noq_proto::{EndpointEvent, Transmit};
use sojourn_udp::io::Route;
use sojourn_units::{Duration, Ecn, Instant};

use super::{BATCH, Driver, Service};
use crate::Error;
use crate::figures::Ending;
use crate::guard::guard;
use crate::observation::{self, Passing};

/// Time that the last datagrams have until the socket takes them.
const LAST: Duration = Duration::from_millis(50);

impl<S: Service> Driver<S> {
    /// Sends an answer without a connection, which may get lost.
    pub(super) fn answer(&mut self, transmit: &Transmit) -> Result<(), Error> {
        let route = self.route(transmit);
        let datagram = &self.out[..transmit.size];
        let at = self.clock.now();
        let sent = self.socket.send(&route, datagram, &[]);
        self.strays.unsent += u64::from(sent.is_err());
        if sent.is_ok() {
            self.show_sent(at, &route, datagram);
        }
        Ok(())
    }

    /// Shows a datagram that has left at `at` to the observer.
    fn show_sent(&self, at: Instant, route: &Route, datagram: &[u8]) {
        if let Some(remote) = route.to {
            let (ecn, payload) = (route.ecn, datagram);
            let local = || self.local(route.from);
            self.show(|| Passing { at, is_sent: true, local: local(), remote, ecn, payload });
        }
    }

    fn route(&self, transmit: &Transmit) -> Route {
        let ecn = if transmit.ecn.is_some() { self.codepoint } else { Ecn::NotEct };
        let to = Some(transmit.destination);
        Route { to, from: transmit.src_ip, ecn, departure_ns: None }
    }

    /// Lets a connection act and send.
    pub(super) fn drive(&mut self, key: usize) -> Result<(), Error> {
        let now = self.advance();
        let Driver { peers, endpoint, unproved, serving, .. } = self;
        let Some(peer) = peers.get_mut(&key) else { return Ok(()) };
        let was_proved = peer.is_proved;
        let mut is_gone = peer.exchange(endpoint);
        peer.run(now);
        if !was_proved && peer.is_proved {
            *unproved -= 1;
            serving.iter_mut().for_each(|one| one.shares.prove(peer.figures.remote.ip()));
        }
        is_gone |= peer.exchange(endpoint);
        if self.settle(key, is_gone) {
            return Ok(());
        }
        self.transmit(key)?;
        let Driver { peers, endpoint, .. } = self;
        let is_gone = peers.get_mut(&key).is_some_and(|peer| peer.exchange(endpoint));
        self.schedule(key);
        self.settle(key, is_gone);
        Ok(())
    }

    /// Informs the service if a connection has ended. Forgets a connection that is gone, or that had a
    /// fault; returns whether it is forgotten.
    pub(super) fn settle(&mut self, key: usize, is_gone: bool) -> bool {
        let Driver { peers, endpoint, service, strays, now, .. } = self;
        let Some(peer) = peers.get_mut(&key) else { return true };
        let has_fault = peer.note_fault(*now);
        if peer.figures.ending != Ending::Open && !peer.is_reported {
            // An application that has panicked may do so again.
            let is_fault = peer.report(|app, figures| service.ended(app, figures));
            strays.faults += u64::from(is_fault);
        }
        strays.faults += u64::from(has_fault);
        if has_fault && !is_gone {
            let handle = peer.handle;
            let done = guard(|| endpoint.handle_event(handle, EndpointEvent::drained()));
            strays.faults += u64::from(done.is_err());
        }
        if has_fault || is_gone {
            self.remove(key);
        }
        has_fault || is_gone
    }

    /// Lists the next timer or departure of a connection.
    fn schedule(&mut self, key: usize) {
        let Driver { peers, timers, .. } = self;
        let Some(peer) = peers.get_mut(&key) else { return };
        let next = peer.next_at();
        if next != peer.scheduled {
            timers.remove(&(peer.scheduled, key));
            peer.scheduled = next;
            if next < Instant::MAX {
                timers.insert((next, key));
            }
        }
    }

    fn remove(&mut self, key: usize) {
        self.ready.remove(&key);
        if let Some(mut peer) = self.peers.remove(&key) {
            peer.show_events(self.now, self.observer.as_ref());
            observation::inform(self.observer.as_ref(), |observer| observer.ended(peer.number));
            self.timers.remove(&(peer.scheduled, key));
            self.unproved -= usize::from(!peer.is_proved);
            if let Some(serving) = &mut self.serving {
                serving.shares.close(peer.figures.remote.ip(), peer.is_proved);
            }
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
                peer.show_events(now, self.observer.as_ref());
            }
            self.send(now, route, transmit.size, transmit.destination)?;
            if self.held.is_some() {
                break;
            }
        }
        self.ready.insert(key);
        Ok(())
    }

    /// Sends the datagram of `size` bytes at the begin of `out`. `now`: the time of this turn.
    fn send(
        &mut self,
        now: Instant,
        route: Route,
        size: usize,
        to: SocketAddr,
    ) -> Result<(), Error> {
        match self.socket.send(&route, &self.out[..size], &[]) {
            Ok(()) => {
                self.show_sent(now, &route, &self.out[..size]);
                Ok(())
            }
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
    pub(super) fn flush(&mut self) -> Result<bool, Error> {
        let Some((route, bytes)) = &self.held else { return Ok(true) };
        let at = self.clock.now();
        match self.socket.send(route, bytes, &[]) {
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(false),
            Err(errno) => self.on_error(errno)?,
            Ok(()) => self.show_sent(at, route, bytes),
        }
        self.held = None;
        Ok(true)
    }

    /// Closes every connection, and sends the datagrams that say so.
    pub(super) fn close_all(&mut self) {
        let now = self.advance();
        for key in self.peers.keys().copied().collect::<Vec<_>>() {
            self.flush_until(now + LAST);
            if let Some(peer) = self.peers.get_mut(&key) {
                peer.close(now, self.service.closing().code, self.service.closing().reason);
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

    /// Counts an error of one datagram: an ICMP error of an earlier one, a firewall, an address
    /// that has no route, a lack of memory. A server's clients end by their timeouts. A client's
    /// server is not reachable while no datagram of it has arrived.
    ///
    /// Only errors of the socket itself are faults, since one peer's address must not end the
    /// connections of the others.
    pub(super) fn on_error(&mut self, errno: Errno) -> Result<(), Error> {
        self.strays.unsent += 1;
        match errno {
            Errno::EBADF | Errno::ENOTSOCK | Errno::EFAULT | Errno::EOPNOTSUPP => {
                let source = io::Error::from(errno);
                let action = "send or receive";
                return Err(sojourn_udp::Error::Socket { action, source }.into());
            }
            // This machine lacks memory at present, and the peer may be well.
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
}
