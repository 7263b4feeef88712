//! Datagrams of flows without control. Of echo requests (RFC 792) the replies too, and the
//! round trips between them.

use std::collections::VecDeque;

use sojourn_trace::Histogram;
use sojourn_units::Instant;

use crate::engine::Simulation;
use crate::measure::Peak;
use crate::meter::Metering;
use crate::packet::{Packet, PacketKind};
use crate::tap::{Passage, Tap};

/// What a flow of echo requests remembers.
#[derive(Debug)]
pub(crate) struct Echo {
    /// Where the route of the replies begins.
    pub(crate) back: u32,
    /// Requests without a reply so far, by number, and when they left.
    waiting: VecDeque<(u32, Instant)>,
    pub(crate) replies: u64,
    pub(crate) rtts: Histogram,
    /// Greatest round-trip time since the last sample, where there was one.
    pub(crate) longest: Peak,
}

impl Echo {
    pub(crate) fn new(back: u32) -> Echo {
        let (rtts, longest) = (Histogram::default(), Peak::default());
        Echo { back, waiting: VecDeque::new(), replies: 0, rtts, longest }
    }

    /// The reply to request `number`. No link lets one packet of a flow overtake another: what
    /// left before and has no reply has none to come.
    fn on_reply(&mut self, now: Instant, number: u32) {
        while let Some((first, sent_at)) = self.waiting.pop_front() {
            if first == number {
                let rtt = now.since(sent_at);
                self.replies += 1;
                self.rtts.record(rtt.0);
                self.longest.note(rtt);
                return;
            }
        }
    }
}

impl<M: Metering> Simulation<M> {
    pub(crate) fn send_datagram(&mut self, index: usize, bytes: u64) {
        let flow = &mut self.flows[index];
        flow.datagrams.sent += 1;
        let size = bytes as u32 + flow.header;
        let mut packet = Packet::plain(index, flow.route, PacketKind::Datagram, size);
        packet.number = flow.datagrams.sent as u32;
        if M::Tap::LISTENS {
            self.tell_of_datagram(index, Passage::Sent, &packet);
        }
        self.forward(packet);
    }

    /// Sends an echo request of flow `index`.
    pub(crate) fn send_ping(&mut self, index: usize, bytes: u64) {
        let flow = &self.flows[index];
        let number = flow.datagrams.sent as u32 + 1;
        if let Some(echo) = &mut self.flows[index].echo {
            echo.waiting.push_back((number, self.clock.now));
        }
        self.send_datagram(index, bytes);
    }

    /// A datagram of flow `owner` has arrived: a request is answered at once.
    #[inline]
    pub(crate) fn on_datagram(&mut self, owner: usize, packet: &Packet) {
        let flow = &mut self.flows[owner];
        flow.datagrams.received_bytes += u64::from(packet.ip_size - flow.header);
        let back = flow.echo.as_ref().map(|echo| echo.back);
        if M::Tap::LISTENS {
            self.tell_of_datagram(owner, Passage::Received, packet);
        }
        if let Some(back) = back {
            let mut reply = Packet::plain(owner, back, PacketKind::Reply, packet.ip_size);
            reply.number = packet.number;
            if M::Tap::LISTENS {
                self.tell_of_datagram(owner, Passage::Sent, &reply);
            }
            self.forward(reply);
        }
    }

    /// A reply has arrived where its request came from.
    pub(crate) fn on_reply(&mut self, owner: usize, reply: &Packet) {
        if M::Tap::LISTENS {
            self.tell_of_datagram(owner, Passage::Received, reply);
        }
        if let Some(echo) = &mut self.flows[owner].echo {
            echo.on_reply(self.clock.now, reply.number);
        }
    }
}
