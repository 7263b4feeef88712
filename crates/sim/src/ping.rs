//! Echo requests (RFC 792), their replies, and the round trips between them.

use sojourn_trace::Histogram;
use sojourn_units::{Duration, Instant};

use crate::engine::Simulation;
use crate::measure::Peak;
use crate::meter::Metering;
use crate::packet::{Packet, PacketKind};

/// What a flow of echo requests remembers.
#[derive(Debug)]
pub(crate) struct Echo {
    /// Where the route of the replies begins.
    pub(crate) back: u32,
    pub(crate) replies: u64,
    pub(crate) rtts: Histogram,
    /// Greatest round-trip time since the last sample, where there was one.
    pub(crate) longest: Peak,
}

impl Echo {
    pub(crate) fn new(back: u32) -> Echo {
        Echo { back, replies: 0, rtts: Histogram::default(), longest: Peak::default() }
    }

    fn on_reply(&mut self, rtt: Duration) {
        self.replies += 1;
        self.rtts.record(rtt.0);
        self.longest.note(rtt);
    }
}

impl<M: Metering> Simulation<M> {
    /// Sends an echo request of flow `index`: it carries the time, as ping(8) writes it
    /// into the data, and the reply carries the request's data (RFC 792, page 15).
    pub(crate) fn send_ping(&mut self, index: usize, bytes: u64) {
        let flow = &mut self.flows[index];
        flow.datagrams.sent += 1;
        let size = bytes as u32 + flow.header;
        let packet = Packet::plain(index, flow.route, PacketKind::Datagram, size);
        self.forward(packet.with_time(self.clock.now));
    }

    /// A datagram of flow `owner` has arrived: a request is answered at once.
    #[inline]
    pub(crate) fn on_datagram(&mut self, owner: usize, packet: &Packet) {
        let flow = &mut self.flows[owner];
        flow.datagrams.received_bytes += u64::from(packet.ip_size - flow.header);
        if let Some(echo) = &flow.echo {
            let reply = Packet::plain(owner, echo.back, PacketKind::Reply, packet.ip_size);
            self.forward(reply.with_time(packet.time()));
        }
    }

    /// A reply has arrived where its request came from.
    pub(crate) fn on_reply(&mut self, owner: usize, sent_at: Instant) {
        if let Some(echo) = &mut self.flows[owner].echo {
            echo.on_reply(self.clock.now.since(sent_at));
        }
    }
}
