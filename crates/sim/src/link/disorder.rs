//! Slow path of a link whose wire reorders, copies, changes or batches packets. Separate from
//! `mod.rs`, so that other links pay one comparison for each arrival.

use sojourn_queue::Packet as _;
use sojourn_units::Instant;

use crate::events::{Clock, EventQueue};
use crate::link::packet::Packet;
use crate::link::{Link, Notice, Wire};
use crate::meter::Metering;
use crate::seed::RandomEvent;

impl<M: Metering> Link<M> {
    #[inline(never)]
    pub(crate) fn depart_reordering_until(&mut self, clock: Clock, events: &mut EventQueue) {
        while self.departs_at < clock.horizon {
            self.depart_reordering(self.departs_at, events);
        }
    }

    fn depart_reordering(&mut self, at: Instant, events: &mut EventQueue) {
        if let Some(packet) = self.wire.line.take_sent() {
            self.counts.sent_bits += packet.size().0 * 8;
            if let Some(sent_by) = &mut self.sent_by
                && packet.is_adaptive()
            {
                sent_by[packet.account()] += packet.size().0;
            }
            if self.wire.losses.next() {
                self.lose(packet);
            } else {
                self.put_on_wire(at, packet, events);
            }
        }
        let before = self.departs_at;
        self.serve(at, events);
        self.expect_overtaker(before, events);
    }

    /// Schedules a departure that may overtake packets on the wire. It may come before the next
    /// arrival, and therefore has its own event. `before`: when the departure before it was due.
    pub(crate) fn expect_overtaker(&mut self, before: Instant, events: &mut EventQueue) {
        let line = &self.wire.line;
        // A departure onto an empty wire always has an event.
        if line.may_overtake() && !line.is_wire_empty() && self.departs_at != before {
            self.expect_departure(events);
        }
    }

    /// A packet leaves, followed by its copy if the wire makes one. As in netem, the copy has its
    /// own
    /// jitter and order.
    ///
    /// Deviation (Linux sch_netem.c): reordering and copies happen on the wire, after the link's
    /// queue and rate, so that a copy uses no capacity.
    /// Deviation (Linux sch_netem.c): a lost packet has no copy; netem passes one copy of a packet
    /// that it chose for both. A copy follows its original and is not lost; netem enqueues it
    /// before the original, as another packet.
    #[inline(never)]
    pub(crate) fn put_on_wire(&mut self, at: Instant, mut packet: Packet, events: &mut EventQueue) {
        let Wire { line, copies, link, damage, .. } = &mut self.wire;
        if damage.as_mut().is_some_and(|damage| !damage.pass(at, &mut packet)) {
            return self.lose(packet);
        }
        let before = line.next_arrival_of_all();
        let filtered = line.put(at, packet);
        let mut filtered_by_copy = None;
        if copies.as_mut().is_some_and(RandomEvent::next) {
            filtered_by_copy = line.put(at, packet);
            self.counts.duplicated += 1;
            self.notices.push(Notice::Copied(packet));
        }
        let next = line.next_arrival_of_all();
        if let Some(arrival) = next.filter(|_| next != before) {
            events.advance_arrival(arrival, *link);
        }
        for older in filtered.into_iter().chain(filtered_by_copy) {
            self.lose(older);
        }
    }

    /// The packet that arrives at the far end now, or `None`.
    pub(crate) fn take_arrival_reordering(
        &mut self,
        clock: Clock,
        events: &mut EventQueue,
    ) -> Option<Packet> {
        self.depart_reordering_until(clock, events);
        let packet = self.wire.line.arrive_of_all()?;
        self.counts.delivered += 1;
        match self.wire.line.next_arrival_of_all() {
            Some(at) => events.push_arrival(at, self.wire.link),
            // On a wire that reorders, it already has its event.
            None if self.wire.line.may_overtake() => {}
            None => self.expect_departure(events),
        }
        Some(packet)
    }
}
