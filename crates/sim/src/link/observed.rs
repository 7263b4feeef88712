//! Links outside the simulation, such as the kernel's queues: an observer reads their counters.

use sojourn_queue::Backlog;
use sojourn_units::{Duration, Instant, Rate};

use crate::link::Link;
use crate::meter::Metering;

/// Counters of a link outside the simulation since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkObservation {
    /// Packets that arrived at it.
    pub arrived: u64,
    /// Packets that left its queue.
    pub departed: u64,
    /// Bits of those packets, as the link counts them.
    pub sent_bits: u64,
    /// Packets that left at the far end.
    pub delivered: u64,
    /// Packets that its queue dropped.
    pub dropped: u64,
    /// Packets that its wire lost.
    pub lost: u64,
    /// Packets that its queue marked.
    pub marked: u64,
    /// Copies that its wire made.
    pub duplicated: u64,
    /// Packets and bytes in its queue now.
    pub backlog: Backlog,
}

/// The state of a link outside the simulation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Observed {
    pub(super) backlog: Backlog,
    departed: u64,
}

impl<M: Metering> Link<M> {
    /// Takes the counters of a link outside the simulation.
    ///
    /// The observer does not see when a packet entered the queue. Each packet that has left since
    /// the last observation counts with the time that the backlog now takes at the link's rate.
    pub(crate) fn observe(&mut self, now: Instant, seen: &LinkObservation) {
        let last = self.observed.unwrap_or_default();
        let wait = match self.rate() {
            Rate::ZERO | Rate::MAX => Duration::ZERO,
            rate => rate.time_for(seen.backlog.bytes),
        };
        for _ in last.departed..seen.departed {
            self.note_wait(now, now.saturating_sub(wait), false);
        }
        self.observed = Some(Observed { backlog: seen.backlog, departed: seen.departed });
        self.counts.arrived = seen.arrived;
        self.counts.delivered = seen.delivered;
        self.counts.dropped = seen.dropped;
        self.counts.lost = seen.lost;
        self.counts.marked = seen.marked;
        self.counts.duplicated = seen.duplicated;
        self.counts.sent_bits = seen.sent_bits;
    }

    /// Whether the link is outside the simulation.
    pub(crate) fn is_observed(&self) -> bool {
        self.observed.is_some()
    }
}
