//! Datagrams that arrive, and the connections that they open.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use noq_proto::{Connection, ConnectionHandle, DatagramEvent, EndpointEvent, FourTuple, Incoming};
use sojourn_quic::ReceiveWindow;
use sojourn_quic::noq::{Gated, codepoint};
use sojourn_udp::io::Received;

use super::{BATCH, Driver, Service};
use crate::Error;
use crate::figures::{Ending, Figures};
use crate::guard::guard;
use crate::observation::{self, Passing};
use crate::peer::{Opened, Peer};

impl<S: Service> Driver<S> {
    /// Receives a batch of datagrams, at the kernel's receive times: the round trip does not include
    /// the time until this thread ran. Returns whether there may be more.
    pub(super) fn receive(&mut self) -> Result<bool, Error> {
        let times = self.clock.realtime();
        for _ in 0..BATCH {
            self.account();
            match self.socket.receive(&times) {
                Ok(Some(received)) => {
                    let done = guard(|| self.on_datagram(&received));
                    // It may have had the keys with which a reader decrypts it.
                    self.show_received(&received);
                    match done {
                        Ok(done) => done?,
                        Err(fault) => self.on_fault(received.from, fault),
                    }
                }
                Ok(None) => return Ok(false),
                Err(errno) => self.on_error(errno)?,
            }
        }
        Ok(true)
    }

    /// Shows a datagram that has arrived to the observer.
    fn show_received(&self, received: &Received) {
        let Received { from, local, at, ecn, len } = *received;
        self.show(|| Passing {
            at,
            is_sent: false,
            local: self.local(local),
            remote: from,
            ecn,
            payload: self.socket.datagram(len),
        });
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
                    peer.receive(event);
                    peer.show_events(self.now, self.observer.as_ref());
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

    /// The endpoint, or the service as it accepted, panicked at a datagram that no open connection
    /// got. The service hears of it as of a connection that has ended, and the endpoint forgets a
    /// connection that it had begun.
    fn on_fault(&mut self, from: SocketAddr, fault: String) {
        self.strays.faults += 1;
        for key in (0..=self.slots).filter(|key| !self.peers.contains_key(key)) {
            let endpoint = &mut self.endpoint;
            let drained = EndpointEvent::drained();
            let done = guard(|| endpoint.handle_event(ConnectionHandle(key), drained));
            self.strays.faults += u64::from(done.is_err());
        }
        if self.serving.is_some() {
            let figures = Figures { ending: Ending::Fault(fault), ..Figures::new(from, self.now) };
            let service = &mut self.service;
            let done = guard(|| {
                let mut app = service.accept(from);
                service.ended(&mut app, &figures);
            });
            self.strays.faults += u64::from(done.is_err());
        }
    }

    /// Accepts a connection, asks its client to prove the address, or refuses it.
    fn on_incoming(&mut self, incoming: Incoming, received: &Received) -> Result<(), Error> {
        let Some(serving) = &self.serving else {
            self.endpoint.ignore(incoming);
            return Ok(());
        };
        self.out.clear();
        let is_proved = incoming.remote_address_validated();
        let free = serving.limits.connections.saturating_sub(self.peers.len());
        let is_admitted = serving.shares.admit(received.from.ip(), is_proved, free);
        if free == 0 || is_proved && !is_admitted {
            self.strays.refused += 1;
            let transmit = self.endpoint.refuse(incoming, &mut self.out);
            return self.answer(&transmit);
        }
        if !is_proved && (self.unproved >= serving.limits.unproved || !is_admitted) {
            self.strays.retries += 1;
            // It may always be asked as long as its address is not proved.
            return match self.endpoint.retry(incoming, &mut self.out) {
                Ok(transmit) => self.answer(&transmit),
                Err(_) => Ok(()),
            };
        }
        let (kit, gate) = self.gated();
        let mut config = serving.base.clone();
        config.crypto = kit.server(Arc::clone(&serving.crypto));
        config.transport = self.settings.transport(&kit, &self.credit, received.from.is_ipv6());
        let (time, config) = (self.time(self.now), Some(Arc::new(config)));
        match self.endpoint.accept(incoming, time, &mut self.out, config) {
            Ok((handle, connection)) => {
                let app = self.service.accept(received.from);
                let local = self.local(received.local);
                let key = self.add(handle, connection, gate, app, [local, received.from]);
                if let Some(peer) = self.peers.get_mut(&key) {
                    peer.is_proved = is_proved;
                    self.unproved += usize::from(!is_proved);
                    if let Some(serving) = &mut self.serving {
                        serving.shares.open(received.from.ip(), is_proved);
                    }
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

    pub(super) fn add(
        &mut self,
        handle: ConnectionHandle,
        connection: Connection,
        gate: Gated,
        app: S::App,
        ends: [SocketAddr; 2],
    ) -> usize {
        gate.catch_up(self.settings.catch_up);
        self.begun += 1;
        let (now, number) = (self.now, self.begun);
        observation::inform(self.observer.as_ref(), |observer| {
            if observer.follows_connections() {
                observer.opened(now, number, ends);
            }
        });
        let figures = Figures::new(ends[1], now);
        let window = ReceiveWindow::new(self.credit.receive_windows[1].0);
        let opened = Opened { handle, connection, number };
        let mut peer = Peer::new(opened, gate, app, figures, window, self.epoch);
        peer.show_events(now, self.observer.as_ref());
        self.slots = self.slots.max(handle.0 + 1);
        self.peers.insert(handle.0, peer);
        self.ready.insert(handle.0);
        handle.0
    }
}
