//! Loads of a link around a change of capacity.

use sojourn_trace::Histogram;
use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::bounds::Bounds;
use crate::link::network::Network;
use crate::meter::Metering;

/// Loads of a link around a change of capacity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loads {
    /// A second before it.
    pub(crate) before: Option<Load>,
    /// The queueing delays of the link until ten seconds before it; taken at the change.
    pub(crate) usual: Option<Histogram>,
    /// A loop delay before it.
    pub(crate) loop_before: Option<Load>,
    /// At the change.
    pub(crate) at: Option<Load>,
    /// A loop delay after it; `None` if the next change or the end comes first.
    pub(crate) loop_after: Option<Load>,
    /// Bytes that each connection had sent a loop delay before it; taken at the change.
    pub(crate) sent_before: Option<Vec<u64>>,
    /// The bounds, from the change on.
    pub(crate) bounds: Option<Bounds>,
}

/// A link's counters at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) at: Instant,
    pub(crate) arrived_bits: u64,
    /// Packets that its queue dropped.
    pub(crate) dropped: u64,
    pub(crate) sent_bits: f64,
    pub(crate) could_send_bits: f64,
    pub(crate) waited: (u64, u64),
}

impl Load {
    /// The counters of a link now.
    pub(super) fn of<M: Metering>(net: &mut Network<M>, link: usize) -> Load {
        let now = net.clock.now;
        let link = &mut net.links[link];
        Load {
            at: now,
            arrived_bits: link.arrived_bits(),
            dropped: link.counts.dropped,
            sent_bits: link.sent_bits(now),
            could_send_bits: link.could_send_bits(now).unwrap_or(0.0),
            waited: link.waited(),
        }
    }

    /// Mean rate since `before`; zero for an empty interval.
    pub(crate) fn rate_since(&self, before: &Load) -> Rate {
        if self.at == before.at {
            return Rate::ZERO;
        }
        let bits = (self.sent_bits - before.sent_bits) as u64;
        Rate::from_transfer(Bytes(bits / 8), self.at.since(before.at))
    }

    /// Mean rate of arrivals since `before`; `None` for an empty interval.
    pub(crate) fn offered_since(&self, before: &Load) -> Option<Rate> {
        let span = self.at.since(before.at);
        let bits = self.arrived_bits - before.arrived_bits;
        (span > Duration::ZERO).then(|| Rate::from_transfer(Bytes(bits / 8), span))
    }

    /// Mean waiting time since `before`.
    pub(super) fn wait_since(&self, before: &Load) -> Duration {
        let count = (self.waited.1 - before.waited.1).max(1);
        Duration((self.waited.0 - before.waited.0) / count)
    }

    /// Share of the capacity used since `before`; `None` without capacity.
    pub(crate) fn utilisation_since(&self, before: &Load) -> Option<f64> {
        let could = self.could_send_bits - before.could_send_bits;
        utilisation(self.sent_bits - before.sent_bits, could)
    }
}

/// The bits that a link sent as a share of the bits that it could send; `None` if it could send
/// none.
///
/// At most 1: a packet departs at the last whole nanosecond before its end, so that the bits of a
/// fraction of a nanosecond count early. A link outside the simulation may send a burst.
pub(crate) fn utilisation(sent_bits: f64, could_send_bits: f64) -> Option<f64> {
    (could_send_bits > 0.0).then(|| (sent_bits / could_send_bits).min(1.0))
}
