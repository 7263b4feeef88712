//! Peaks of the queueing delay: since the last sample, and after a change of capacity.

use sojourn_units::{Duration, Instant, Rate};

use crate::timeline::CapacityChange;

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

/// A reader of a [`SharedPeak`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// The series of the record.
    Series,
    /// An observer of the run.
    Observer,
}

/// The maximum of some spans since the last call of `take` by each reader.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SharedPeak {
    /// The maximum since the last call of either, so that a span costs no more than with one reader.
    latest: Peak,
    /// The maximum before that, by reader.
    earlier: [Peak; 2],
}

impl SharedPeak {
    /// Adds a span.
    #[inline]
    pub(crate) fn note(&mut self, span: Duration) {
        self.latest.note(span);
    }

    /// Returns the maximum for this reader, if there is one, and restarts it.
    pub(crate) fn take(&mut self, reader: Reader) -> Option<Duration> {
        if let Some(latest) = self.latest.take() {
            self.earlier.iter_mut().for_each(|peak| peak.note(latest));
        }
        self.earlier[reader as usize].take()
    }
}

/// Tracks the queueing delay after one change of capacity.
#[derive(Clone, Debug)]
pub(crate) struct SpikeTracker {
    pub(crate) index: usize,
    pub(crate) from: Instant,
    /// Packets that arrive later than this do not count for the peak.
    until: Instant,
    /// Mean queueing delay before the change.
    pub(crate) before: Duration,
    /// Peak queueing delay.
    pub(crate) spike: Option<Duration>,
    /// Packets dropped by the queue in the whole run, at the time when the peak's packet left it.
    pub(crate) dropped: u64,
    /// Time when the peak's packet left the queue.
    pub(crate) peak_at: Instant,
    /// Queueing delay up to which the link has recovered.
    level: Duration,
    /// Since when no packet waited longer; `None` while packets do.
    back: Option<Instant>,
    /// Departure of the last packet.
    last: Instant,
}

impl SpikeTracker {
    /// Starts at the change. `before`: the mean waiting time before it; `dropped`: the packets that
    /// the queue has dropped so far; `level`: the queueing delay of a link that has recovered.
    pub(crate) fn new(
        index: usize,
        change: &CapacityChange,
        window: Duration,
        (before, dropped): (Duration, u64),
        level: Duration,
    ) -> SpikeTracker {
        SpikeTracker {
            index,
            from: change.at,
            until: (change.complete_at + window).min(change.next_at),
            before,
            spike: None,
            dropped,
            peak_at: change.at,
            level,
            // Nothing leaves during an outage.
            back: (change.to > Rate::ZERO).then_some(change.at),
            last: change.at,
        }
    }

    /// A packet that arrived at `enqueued_at` leaves the queue at `leaves_at`, after `dropped` drops of
    /// the queue. One that waited at the change counts as one that arrived then: the peak is that of
    /// the virtual waiting time from the change on, also if the queue drops everything that arrives.
    pub(crate) fn on_wait(
        &mut self,
        leaves_at: Instant,
        enqueued_at: Instant,
        wait: Duration,
        dropped: u64,
    ) {
        if enqueued_at <= self.until && self.spike.is_none_or(|peak| wait > peak) {
            (self.spike, self.peak_at, self.dropped) = (Some(wait), leaves_at, dropped);
        }
    }

    /// Any packet leaves the queue at `leaves_at`.
    #[inline]
    pub(crate) fn extend(&mut self, leaves_at: Instant, wait: Duration) {
        self.last = leaves_at;
        if wait > self.level {
            self.back = None;
        } else if self.back.is_none() {
            self.back = Some(leaves_at);
        }
    }

    /// Time from the change until the queueing delay is back for good: until the next change, or the
    /// end. `None` without a spike, or if it is not. `is_empty`: the run ends with an empty queue.
    pub(crate) fn recovery(&self, is_empty: bool) -> Option<Duration> {
        let back = self.back.or_else(|| is_empty.then_some(self.last))?;
        self.spike.map(|_| back.since(self.from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each reader gets the maximum since its own last call, whatever the other has taken.
    #[test]
    fn two_readers_do_not_disturb_each_other() {
        let mut peak = SharedPeak::default();
        peak.note(Duration(7));
        peak.note(Duration(0));
        assert_eq!(peak.take(Reader::Series), Some(Duration(7)));
        assert_eq!(peak.take(Reader::Series), None);
        peak.note(Duration(3));
        assert_eq!(peak.take(Reader::Observer), Some(Duration(7)));
        assert_eq!(peak.take(Reader::Series), Some(Duration(3)));
        assert_eq!(peak.take(Reader::Observer), None);
    }
}
