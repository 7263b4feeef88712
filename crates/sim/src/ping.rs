//! Datagrams of flows without control. Also the replies to echo requests (RFC 792), and their
//! round-trip times.

use std::collections::VecDeque;

use sojourn_trace::Histogram;
use sojourn_units::Instant;

use crate::engine::Simulation;
use crate::measure::Peak;
use crate::meter::Metering;
use crate::packet::{Packet, PacketKind};
use crate::tap::{Passage, Tap};

/// Greatest number of requests that wait for a reply; beyond it, the oldest is given up. The
/// sequence number of RFC 792 has 16 bits, so more could not be distinguished.
const MOST_WAITING: usize = 1 << 16;

/// State of a flow of echo requests.
#[derive(Debug)]
pub(crate) struct Echo {
    /// Start of the replies' route.
    pub(crate) back: u32,
    /// Number and departure of the requests without a reply: the latest [`MOST_WAITING`].
    waiting: VecDeque<(u32, Instant)>,
    pub(crate) replies: u64,
    pub(crate) rtts: Histogram,
    /// Greatest round-trip time since the last sample of the series.
    pub(crate) longest: Peak,
}

impl Echo {
    pub(crate) fn new(back: u32) -> Echo {
        let (rtts, longest) = (Histogram::default(), Peak::default());
        Echo { back, waiting: VecDeque::new(), replies: 0, rtts, longest }
    }

    /// Request `number` leaves.
    fn on_request(&mut self, now: Instant, number: u32) {
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((number, now));
    }

    /// Processes the reply to request `number`, which may have overtaken others. Ignores requests
    /// that were given up or already answered.
    fn on_reply(&mut self, now: Instant, number: u32) {
        let Some((first, _)) = self.waiting.front() else { return };
        // Numbers ascend from the first, modulo 2^32.
        let after = |n: u32| n.wrapping_sub(*first);
        let Ok(place) = self.waiting.binary_search_by_key(&after(number), |(n, _)| after(*n))
        else {
            return;
        };
        if let Some((_, sent_at)) = self.waiting.remove(place) {
            let rtt = now.since(sent_at);
            self.replies += 1;
            self.rtts.record(rtt.0);
            self.longest.note(rtt);
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
            echo.on_request(self.clock.now, number);
        }
        self.send_datagram(index, bytes);
    }

    /// A datagram of flow `owner` has arrived. The host answers a request at once.
    #[inline]
    pub(crate) fn on_datagram(&mut self, owner: usize, packet: &Packet) {
        let flow = &mut self.flows[owner];
        if flow.datagrams.seen.as_mut().is_none_or(|seen| seen.is_new(packet.number)) {
            flow.datagrams.received_bytes += u64::from(packet.ip_size - flow.header);
        }
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

    /// A reply has arrived at the sender of its request.
    pub(crate) fn on_reply(&mut self, owner: usize, reply: &Packet) {
        if M::Tap::LISTENS {
            self.tell_of_datagram(owner, Passage::Received, reply);
        }
        if let Some(echo) = &mut self.flows[owner].echo {
            echo.on_reply(self.clock.now, reply.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path without replies costs no more for a long run.
    #[test]
    fn the_oldest_of_many_requests_is_given_up() {
        let mut echo = Echo::new(0);
        let most = MOST_WAITING as u32;
        for number in 1..=3 * most {
            echo.on_request(Instant(u64::from(number)), number);
        }
        assert_eq!(echo.waiting.len(), MOST_WAITING);
        // The reply is too late, and removes no waiting request.
        echo.on_reply(Instant(u64::from(4 * most)), 2 * most);
        assert_eq!((echo.replies, echo.waiting.len()), (0, MOST_WAITING));
        echo.on_reply(Instant(u64::from(4 * most)), 2 * most + 1);
        assert_eq!((echo.replies, echo.waiting.len()), (1, MOST_WAITING - 1));
        assert_eq!(echo.longest.take().map(|rtt| rtt.0), Some(u64::from(2 * most - 1)));
    }
}
