//! TCP small queues: a host limits the packets of a connection in the queue of its interface, the
//! first link of the path (Linux, `tcp_small_queue_check` and `tcp_wfree`).

use sojourn_units::{Bytes, Instant};

use crate::endpoint::Endpoints;
use crate::events::Kind;
use crate::link::packet::Packet;
use crate::meter::Metering;
use crate::tap::Tap;

/// A connection's part of the queue of its first link.
#[derive(Debug)]
pub(crate) struct OwnQueue {
    link: usize,
    /// Bytes that entered the link.
    entered: u64,
    /// Whether the connection waits for a departure.
    is_held: bool,
}

impl<M: Metering, T: Tap> Endpoints<M, T> {
    /// Sets up the limits of connections whose flows have them.
    pub(crate) fn limit_queues(&mut self, has_limit: impl Fn(usize) -> bool) {
        let accounts = self.accounts();
        for id in 0..self.connections.len() {
            let connection = &mut self.connections[id];
            let Some(link) = self.net.routes.link(connection.out) else { continue };
            if has_limit(connection.flow) && self.net.links[link].count_accounts(accounts) {
                let queue = OwnQueue { link, entered: 0, is_held: false };
                connection.own_queue = Some(Box::new(queue));
            }
        }
    }

    /// Counts a packet of connection `id` that enters its first link.
    pub(super) fn note_entry(&mut self, id: usize, ip_size: u32) {
        let Some(queue) = &mut self.connections[id].own_queue else { return };
        queue.entered += self.net.links[queue.link].size_of(ip_size);
    }

    /// Whether connection `id` must not send now, since too many of its packets are in the queue or
    /// in transmission. It then tries again at the next departure of the link.
    #[inline(never)]
    pub(super) fn is_held_by_queue(&mut self, id: usize) -> bool {
        let Some(queue) = &self.connections[id].own_queue else { return false };
        let link = queue.link;
        self.catch_up(link);
        let left = self.net.links[link].has_left(Packet::account_of(id, false));
        let departs_at = self.net.links[link].departs_at;
        let connection = &mut self.connections[id];
        let Some(queue) = &mut connection.own_queue else { return false };
        let queued = Bytes(queue.entered.saturating_sub(left));
        queue.is_held = !connection.sender.may_queue(queued);
        if !queue.is_held {
            return false;
        }
        if departs_at < Instant::MAX && connection.pace_at != departs_at {
            connection.pace_at = departs_at;
            self.net.events.push(departs_at, Kind::Pace, id);
        }
        true
    }

    /// The rate of a link has changed, and with it the time of its next departure.
    pub(crate) fn retry_held(&mut self, link: usize) {
        if !self.net.links[link].counts_accounts() {
            return;
        }
        for id in 0..self.connections.len() {
            let queue = self.connections[id].own_queue.as_deref();
            if queue.is_some_and(|queue| queue.link == link && queue.is_held) {
                self.transmit(id);
            }
        }
    }
}
