//! Measurements of a change of capacity: the spike, its duration and its bound.

use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::bounds::Bounds;
use crate::link::network::Network;
use crate::meter::Metering;
use crate::timeline::CapacityChange;

/// Resolution of the waiting times that give a spike's duration.
const BUCKET: Duration = Duration::from_millis(1);
/// A spike longer than this has no recorded end.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);
/// A spike is over when the excess over the earlier waiting time falls to this share of its peak
/// (the testbed's data: within 10 % of the baseline).
const OVER: f64 = 0.1;

/// The maximum of some spans since the last call of `take`. Stored plus one, with zero for no span,
/// which is cheaper than an `Option`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peak(u64);

impl Peak {
    /// Adds a span.
    #[inline]
    pub(crate) fn note(&mut self, span: Duration) {
        self.0 = self.0.max(span.0 + 1);
    }

    /// Returns the maximum, if there is one, and restarts.
    pub(crate) fn take(&mut self) -> Option<Duration> {
        std::mem::take(&mut self.0).checked_sub(1).map(Duration)
    }
}

/// Loads of a link around a change of capacity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loads {
    /// A second before it.
    pub(crate) before: Option<Load>,
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
            waited: (link.delays.sum() as u64, link.delays.count()),
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
    fn wait_since(&self, before: &Load) -> Duration {
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
/// fraction of a nanosecond count early.
pub(crate) fn utilisation(sent_bits: f64, could_send_bits: f64) -> Option<f64> {
    debug_assert!(sent_bits <= could_send_bits * (1.0 + 1e-6) + 1.0, "more than the capacity");
    (could_send_bits > 0.0).then(|| (sent_bits / could_send_bits).min(1.0))
}

/// Tracks the queueing delay after one change of capacity.
#[derive(Clone, Debug)]
pub(crate) struct SpikeTracker {
    pub(crate) index: usize,
    pub(crate) from: Instant,
    /// Packets that arrive later than this do not count for the peak.
    until: Instant,
    before: Duration,
    /// Peak queueing delay.
    pub(crate) spike: Option<Duration>,
    /// Packets dropped by the queue in the whole run, at the time when the peak's packet left it.
    pub(crate) dropped: u64,
    /// Time when the peak's packet left the queue.
    pub(crate) peak_at: Instant,
    /// Greatest waiting time by the millisecond, in microseconds, plus one.
    buckets: Vec<u32>,
}

impl SpikeTracker {
    /// Starts at the change. `loads`: a second before it, and at it.
    pub(crate) fn new(
        index: usize,
        change: &CapacityChange,
        window: Duration,
        loads: (&Load, &Load),
    ) -> SpikeTracker {
        SpikeTracker {
            index,
            from: change.at,
            until: (change.complete_at + window).min(change.next_at),
            before: loads.1.wait_since(loads.0),
            spike: None,
            dropped: loads.1.dropped,
            peak_at: change.at,
            buckets: Vec::new(),
        }
    }

    /// A packet that arrived after the change, at `enqueued_at`, leaves the queue at `now`, after
    /// `dropped` drops of the queue.
    pub(crate) fn meet(
        &mut self,
        now: Instant,
        enqueued_at: Instant,
        wait: Duration,
        dropped: u64,
    ) {
        if enqueued_at <= self.until && self.spike.is_none_or(|peak| wait > peak) {
            (self.spike, self.peak_at, self.dropped) = (Some(wait), now, dropped);
        }
    }

    /// Any packet leaves the queue at `now`.
    pub(crate) fn follow(&mut self, now: Instant, wait: Duration) {
        let place = (now.since(self.from).0 / BUCKET.0) as usize;
        if place as u64 >= LONGEST.0 / BUCKET.0 {
            return;
        }
        if place >= self.buckets.len() {
            self.buckets.resize(place + 1, 0);
        }
        let wait = u32::try_from(wait.as_micros()).unwrap_or(u32::MAX - 1) + 1;
        self.buckets[place] = self.buckets[place].max(wait);
    }

    /// Time from the change until the queueing delay is back near its earlier value; `None` without
    /// a spike or before its end.
    pub(crate) fn duration(&self) -> Option<Duration> {
        let rise = self.spike?.saturating_sub(self.before);
        if rise == Duration::ZERO {
            return None;
        }
        let level = (self.before + rise.mul_f64(OVER)).as_micros() as u32;
        let peak = (self.peak_at.since(self.from).0 / BUCKET.0) as usize;
        let after = self.buckets.iter().enumerate().skip(peak);
        let (place, _) = after.into_iter().find(|(_, wait)| (1..=level + 1).contains(*wait))?;
        Some(BUCKET * place as u64)
    }
}
