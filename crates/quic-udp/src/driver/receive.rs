//! Datagrams that arrive, and the connections that they open.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use noq_proto::{Connection, ConnectionHandle, DatagramEvent, FourTuple, Incoming};
use sojourn_quic::noq::{Gated, codepoint};
use sojourn_udp::io::Received;

use super::{BATCH, Driver, Service};
use crate::Error;
use crate::figures::{Ending, Figures};
use crate::peer::Peer;

impl<S: Service> Driver<S> {
    /// Receives a batch of datagrams, at the kernel's receive times: the round trip does not include
    /// the time until this thread ran. Returns whether there may be more.
    pub(super) fn receive(&mut self) -> Result<bool, Error> {
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
                    let was_open = peer.figures.ending == Ending::Open;
                    if peer.receive(self.now, event) {
                        self.ready.insert(key);
                    } else {
                        self.abandon(key, was_open);
                    }
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
        config.transport = self.settings.transport(&kit, &self.credit, received.from.is_ipv6());
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

    pub(super) fn add(
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
}
