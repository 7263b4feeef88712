//! When the next packet may leave.

use sojourn_units::{Bytes, Duration, Instant, Rate};

/// Spaces packets; what is below a nanosecond is carried over, so that the
/// mean rate is exact.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    next: Instant,
    rate: Rate,
    /// Part of a nanosecond, in units of 1/rate.
    remainder: u64,
}

impl Pacer {
    /// The earliest departure of the next packet.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Nothing was to be paced before `now`.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// A packet of `len` left at `now`; the next keeps to `rate`. A sender that
    /// was idle may send `burst` back to back first.
    pub(crate) fn sent_at_rate(&mut self, now: Instant, len: Bytes, rate: Rate, burst: Bytes) {
        if rate != self.rate {
            (self.rate, self.remainder) = (rate, 0);
        }
        if rate == Rate::ZERO {
            self.next = Instant::MAX;
            return;
        }
        let credit = rate.time_for(burst.saturating_sub(len));
        let base = self.next.max(now.saturating_sub(credit));
        let gap = self.gap(len);
        self.next = base + gap;
    }

    fn gap(&mut self, len: Bytes) -> Duration {
        let total = len.0 * 8_000_000_000 + self.remainder;
        self.remainder = total % self.rate.0;
        Duration(total / self.rate.0)
    }

    /// A packet left at `now`; the next follows after exactly `gap`.
    pub(crate) fn sent_with_gap(&mut self, now: Instant, gap: Duration) {
        self.next = now + gap;
    }

    /// Where the rate rose since the last packet left, the next one need not
    /// wait longer than a gap at the new rate.
    pub(crate) fn rate_rose(&mut self, now: Instant, len: Bytes, rate: Rate) {
        if rate > self.rate && self.next > now {
            self.next = self.next.min(now + rate.time_for(len));
        }
    }
}
