//! A device's transmit ring below the queue discipline, limited by byte queue limits (Linux,
//! `lib/dynamic_queue_limits.c`).
//!
//! A device sends from a ring that the queue discipline fills. Packets in the ring wait, but the
//! discipline can neither drop nor mark them. Byte queue limits admit as many bytes as the ring
//! needs to stay busy while the discipline has more, and reduce the limit by the unused part.
//!
//! Deviation (Linux dynamic_queue_limits.c): a packet of a `ring` is complete when the device
//! begins to send it. Drivers report it later, several at a time, and therefore need a higher
//! limit.

use std::collections::VecDeque;

use sojourn_queue::{DropReason, Packet as _, Queue};
use sojourn_scenario as scenario;
use sojourn_units::{Bytes, Duration, Instant};

use crate::link::packet::Packet;

/// A transmit ring.
pub(crate) struct TransmitRing {
    packets: VecDeque<Packet>,
    /// Capacity in packets.
    places: u64,
    limits: ByteLimits,
}

impl TransmitRing {
    pub(crate) fn new(spec: &scenario::Ring) -> TransmitRing {
        TransmitRing {
            packets: VecDeque::new(),
            places: spec.packets,
            limits: ByteLimits { hold_time: spec.hold_time, ..ByteLimits::default() },
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.packets.len() as u64
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.packets.iter().fold(Bytes::ZERO, |sum, packet| sum + packet.size())
    }

    /// Takes packets from `queue` up to the limits.
    pub(crate) fn fill(
        &mut self,
        now: Instant,
        queue: &mut impl Queue<Packet>,
        drops: &mut dyn FnMut(Packet, DropReason),
    ) {
        while self.len() < self.places && self.limits.has_room() {
            let Some(packet) = queue.dequeue(now, drops) else { return };
            self.limits.on_queued(packet.size().0);
            self.packets.push_back(packet);
        }
    }

    /// The packet to send next. Fills the ring before if it was empty, and after.
    pub(crate) fn next(
        &mut self,
        now: Instant,
        queue: &mut impl Queue<Packet>,
        drops: &mut dyn FnMut(Packet, DropReason),
    ) -> Option<Packet> {
        if self.packets.is_empty() {
            self.fill(now, queue, drops);
        }
        let packet = self.packets.pop_front()?;
        self.limits.on_completed(now, packet.size().0);
        self.fill(now, queue, drops);
        Some(packet)
    }
}

/// The limit of the ring in bytes (`struct dql`). Counts are of all bytes since the start.
#[derive(Clone, Copy, Debug, Default)]
struct ByteLimits {
    hold_time: Duration,
    limit: u64,
    queued: u64,
    completed: u64,
    /// Bytes of the last queued packet (`last_obj_cnt`).
    last: u64,
    /// The ring closes when `queued` reaches this (`adj_limit`).
    open_until: u64,
    before: Before,
    /// Least slack since `slack_since`.
    slack: Option<u64>,
    slack_since: Instant,
}

/// State at the previous completion.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    queued: u64,
    last: u64,
    /// Bytes beyond the limit.
    over: u64,
}

impl ByteLimits {
    /// Whether another packet may be queued. One packet may exceed the limit (`dql_avail`).
    fn has_room(&self) -> bool {
        self.queued <= self.open_until
    }

    fn on_queued(&mut self, bytes: u64) {
        self.queued += bytes;
        self.last = bytes;
    }

    /// `dql_completed`.
    fn on_completed(&mut self, now: Instant, bytes: u64) {
        let over = (self.queued - self.completed).saturating_sub(self.limit);
        let limit = self.next_limit(now, bytes, over);
        self.completed += bytes;
        self.open_until = limit + self.completed;
        let over = if limit == self.limit { over } else { 0 };
        self.limit = limit;
        self.before = Before { queued: self.queued, last: self.last, over };
    }

    fn next_limit(&mut self, now: Instant, bytes: u64, over: u64) -> u64 {
        let completed = self.completed + bytes;
        let left = self.queued - completed;
        let all_before_done = completed >= self.before.queued;
        if (over > 0 && left == 0) || (self.before.over > 0 && all_before_done) {
            // The ring starved, or may have: the limit kept packets out.
            self.restart_slack(now);
            let since = completed.saturating_sub(self.before.queued);
            return self.limit + since + self.before.over;
        }
        let was_busy = self.before.queued > self.completed && !all_before_done;
        if left > 0 && was_busy { self.less_slack(now, bytes) } else { self.limit }
    }

    /// The ring was always busy. After a hold time, reduces the limit by the least slack.
    fn less_slack(&mut self, now: Instant, bytes: u64) -> u64 {
        let unused = (self.limit + self.before.over).saturating_sub(2 * bytes);
        let within = match self.before.over {
            0 => 0,
            over => self.before.last.saturating_sub(over),
        };
        let least = self.slack.unwrap_or(u64::MAX).min(unused.max(within));
        self.slack = Some(least);
        if now <= self.slack_since + self.hold_time {
            return self.limit;
        }
        self.restart_slack(now);
        self.limit.saturating_sub(least)
    }

    fn restart_slack(&mut self, now: Instant) {
        self.slack = None;
        self.slack_since = now;
    }
}
