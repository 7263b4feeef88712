//! Readings of a link for observers: its rate, its bits and its backlog.

use sojourn_queue::{Backlog, Packet as _};
use sojourn_trace::Histogram;
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::link::server::Server;
use crate::link::service::Service;
use crate::link::{Link, WarmUp};
use crate::meter::Metering;

impl<M: Metering> Link<M> {
    pub(super) fn count_capacity(&mut self, now: Instant) {
        let span = now.since(self.capacity_at);
        self.capacity_bit_ns += u128::from(self.rate().0) * u128::from(span.0);
        self.capacity_at = now;
    }

    /// The rate, or that of a shaper in front of it; zero for a link without one.
    pub(crate) fn rate(&self) -> Rate {
        match &self.service {
            Some(Service { server: Server::Rate(server), shaping, .. }) => {
                shaping.map_or(Rate::MAX, |shaping| shaping.rate).min(server.rate())
            }
            _ => Rate::ZERO,
        }
    }

    /// Bits that the link could have sent so far; `None` without a rate.
    pub(crate) fn could_send_bits(&mut self, now: Instant) -> Option<f64> {
        self.count_capacity(now);
        let service = self.service.as_ref()?;
        match &service.server {
            Server::Rate(server) => {
                let bits = self.capacity_bit_ns as f64 / 1e9;
                let most = server.rate().as_f64() * now.as_secs_f64();
                Some(service.beyond_rate().map_or(bits, |more| (bits + more).min(most)))
            }
            Server::Trace(server) => Some(server.capacity_bits(now) as f64),
            Server::Even(server) => Some(server.capacity_bits(now) as f64),
        }
    }

    /// Bits that the link has sent, with the sent part of the packet in transmission. Not an
    /// integer: at a low rate, a fraction of a bit is a large part of an interval's bits.
    pub(crate) fn sent_bits(&self, now: Instant) -> f64 {
        let part = self.service.as_ref().map_or(0.0, |service| {
            let Some(packet) = self.wire.line.sending() else { return 0.0 };
            let left = match &service.server {
                Server::Rate(server) => server.left(now),
                Server::Even(server) => server.left(now),
                // It leaves at one instant.
                Server::Trace(_) => return 0.0,
            };
            (packet.size().as_f64() * 8.0 - left).max(0.0)
        });
        self.counts.sent_bits as f64 + part
    }

    /// Ends the warm-up.
    pub(crate) fn begin_measuring(&mut self, now: Instant) {
        self.warm_up = WarmUp {
            sent_bits: self.sent_bits(now),
            could_send_bits: self.could_send_bits(now).unwrap_or(0.0),
            waited: self.waited(),
        };
        self.delays = Histogram::default();
    }

    /// Sum in nanoseconds and count of the waits so far, including those in the warm-up.
    pub(crate) fn waited(&self) -> (u64, u64) {
        let (sum, count) = self.warm_up.waited;
        (sum + self.delays.sum() as u64, count + self.delays.count())
    }

    /// Bits that arrived, including packets in transmission, waiting and dropped. Computed as a
    /// sum, so that arrivals need no counter.
    pub(crate) fn arrived_bits(&self) -> u64 {
        let waiting = self.service.as_ref().map(|s| s.waiting.all(&self.wire.line));
        let sending = self.wire.line.sending().map_or(Bytes::ZERO, |packet| packet.size());
        let observed = self.observed.map_or(Bytes::ZERO, |observed| observed.backlog.bytes);
        let inside = waiting.unwrap_or_default().bytes + sending + observed;
        self.counts.sent_bits + self.counts.dropped_bits + inside.0 * 8
    }

    /// Packets and bytes in the queue, without the packet in transmission and the device's ring.
    pub(crate) fn backlog(&self) -> Backlog {
        if let Some(observed) = self.observed {
            return observed.backlog;
        }
        self.service.as_ref().map(|s| s.waiting.backlog(&self.wire.line)).unwrap_or_default()
    }

    /// The wait of a packet that arrives now at a FIFO; zero if the link has no rate, or a rate of
    /// zero now, or sends a trace's bursts.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        let Some(service) = &self.service else { return Duration::ZERO };
        let waiting = service.waiting.all(&self.wire.line).bytes;
        let server = match &service.server {
            Server::Rate(server) if server.rate() > Rate::ZERO => server,
            Server::Even(server) => return server.time_of(now, waiting).since(now),
            _ => return Duration::ZERO,
        };
        let under_way = if self.wire.line.is_sending() { server.left(now) } else { 0.0 };
        server.rate().time_for(waiting + Bytes((under_way / 8.0) as u64))
    }

    /// Packets that arrived after one that had left later (RFC 4737 section 3.3).
    pub(crate) fn reordered(&self) -> u64 {
        self.wire.line.reordered()
    }

    /// Conservation: every packet that arrived or was copied left the link, was dropped, or is
    /// still inside. The counters of a link outside the simulation are not read at one instant.
    pub(crate) fn is_conserving(&self) -> bool {
        if self.is_observed() {
            return true;
        }
        let waiting = self.service.as_ref().map(|s| s.waiting.all(&self.wire.line));
        let waiting = waiting.unwrap_or_default().packets;
        let inside = waiting + self.wire.line.packets_inside() as u64;
        let counts = &self.counts;
        counts.arrived + counts.duplicated
            == counts.delivered + counts.dropped + counts.lost + inside
    }
}
