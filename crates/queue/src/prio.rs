//! Strict priority for acknowledgements or small packets: a priority packet waits at most
//! for the packet in transmission and for other priority packets (RFC 3449 section 5.4.2).
//! "A Lower Bound on Latency Spikes", Teigen et al., lists it among the measures that
//! shorten d_signal.
//!
//! The priority band has no rate limit: if its packets fill the link, the other band
//! starves (as with tc-prio(8)). Packets of one flow above and below `small` may be
//! reordered.
//!
//! Deviation (tc-prio(8)): there are two bands, chosen by packet type or size, which share one
//! buffer. Linux has up to sixteen, chosen by filters, with a buffer each.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Instant};

use crate::AnyQueue;
use crate::contract::{Backlog, Drops, FlowLabels, Info, Inner, Limit, Packet, Queue, Setup};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "prio",
    title: "Strict priority: acknowledgements or small packets before all other packets",
    source: "tc-prio(8); RFC 3449 section 5.4.2, ACKs-first scheduling",
    params: keys! {
        /// Sends pure acknowledgements first
        acks: Kind::Switch(true), "RFC 3449 section 5.4.2, ACKs-first scheduling";
        /// Sends all packets up to this size first
        small: Kind::Data(Bytes::ZERO, Bytes::ZERO, Bytes(65_535)),
            "The range is that of an IPv4 packet: RFC 791 section 3.1";
    },
    inner: &[
        Inner { name: "first", default: "droptail", doc: "queue of packets with priority" },
        Inner { name: "inner", default: "droptail", doc: "queue of all other packets" },
    ],
    default_packets: 0,
    ..Info::BASE
};

/// A priority band and a band for all other packets.
pub struct Prio<P: Packet> {
    bands: Box<[AnyQueue<P>; 2]>,
    acks: bool,
    small: Bytes,
    limit: Limit,
}

impl<P: Packet + Send> Prio<P> {
    pub(crate) fn new(setup: &Setup) -> Prio<P> {
        // The bands share one buffer limit.
        let band = |place| AnyQueue::inside(setup, place, 0, Limit::NONE);
        Prio {
            bands: Box::new([band(0), band(1)]),
            acks: setup.params.switch("acks"),
            small: setup.params.data("small"),
            limit: setup.limit,
        }
    }

    fn goes_first(&self, packet: &P) -> bool {
        (self.acks && packet.is_ack()) || packet.size() <= self.small
    }
}

impl<P: Packet + Send> Queue<P> for Prio<P> {
    fn enqueue(&mut self, now: Instant, packet: P, drops: Drops<'_, P>) {
        let band = usize::from(!self.goes_first(&packet));
        self.bands[band].enqueue(now, packet, drops);
        while self.backlog().exceeds(self.limit) {
            let before = self.backlog();
            self.make_room(now, drops);
            if self.backlog() == before {
                // A user-defined queue may refuse to drop.
                break;
            }
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Instant, drops: Drops<'_, P>) -> Option<P> {
        self.bands.iter_mut().find_map(|band| band.dequeue(now, drops))
    }

    fn backlog(&self) -> Backlog {
        let [first, rest] = [self.bands[0].backlog(), self.bands[1].backlog()];
        Backlog { packets: first.packets + rest.packets, bytes: first.bytes + rest.bytes }
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn ready_at(&self) -> Option<Instant> {
        // The earlier of the two bands; `None` sorts first and means now.
        let waiting = self.bands.iter().filter(|band| band.backlog().packets > 0);
        waiting.map(AnyQueue::ready_at).min().flatten()
    }

    /// Drops from the low-priority band first.
    fn make_room(&mut self, now: Instant, drops: Drops<'_, P>) {
        let waiting = self.bands.iter_mut().rev().find(|band| band.backlog().packets > 0);
        if let Some(band) = waiting {
            band.make_room(now, drops);
        }
    }

    fn label_flow(&mut self, flow_hash: u64, labels: FlowLabels) {
        self.bands.iter_mut().for_each(|band| band.label_flow(flow_hash, labels));
    }

    fn head_size(&self) -> Option<Bytes> {
        let waiting = self.bands.iter().find(|band| band.backlog().packets > 0);
        waiting.and_then(AnyQueue::head_size)
    }
}
