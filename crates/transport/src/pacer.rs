//! Pacing: the departure time of the next packet.

use sojourn_units::{Bytes, Duration, Instant, Rate};

/// Spaces packets. It carries fractions of a nanosecond over, so that the mean rate is exact.
#[derive(Debug, Default)]
pub struct Pacer {
    next: Instant,
    rate: Rate,
    /// Fraction of a nanosecond, in units of 1/rate.
    remainder: u64,
    /// Lateness of a caller that the schedule makes up for; zero in virtual time.
    catch_up: Duration,
    /// Whether packets have waited for the pacer alone since the last departure.
    has_waited: bool,
}

impl Pacer {
    /// The earliest departure of the next packet.
    #[inline]
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Keeps the schedule if a packet leaves up to `span` after its time.
    pub fn catch_up(&mut self, span: Duration) {
        self.catch_up = span;
    }

    /// Records whether the next packet waits for the pacer alone.
    #[inline]
    pub fn note_wait(&mut self, waits: bool) {
        self.has_waited = waits;
    }

    /// The part of the last packet's lateness that the schedule makes up for.
    fn made_up(&self, now: Instant) -> Duration {
        if self.has_waited { now.since(self.next).min(self.catch_up) } else { Duration::ZERO }
    }

    /// Starts pacing at `now`.
    pub fn begin(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// A packet of `len` left at `now`, paced at `rate`. A sender that was idle may first send
    /// `burst` back to back.
    pub fn sent_at_rate(&mut self, now: Instant, len: Bytes, rate: Rate, burst: Bytes) {
        if rate != self.rate {
            (self.rate, self.remainder) = (rate, 0);
        }
        if rate == Rate::ZERO {
            self.next = Instant::MAX;
            return;
        }
        let credit = rate.time_for(burst.saturating_sub(len)).max(self.made_up(now));
        let base = self.next.max(now.saturating_sub(credit));
        let gap = self.gap(len);
        self.next = base + gap;
    }

    fn gap(&mut self, len: Bytes) -> Duration {
        let total = len.0 * 8_000_000_000 + self.remainder;
        self.remainder = total % self.rate.0;
        Duration(total / self.rate.0)
    }

    /// A packet left at `now`; the next leaves after exactly `gap`. A late one does not delay those
    /// after it: their mean rate would be less than the gaps say.
    pub fn sent_with_gap(&mut self, now: Instant, gap: Duration) {
        self.next = now.saturating_sub(self.made_up(now)) + gap;
    }

    /// If the rate has risen since the last packet left, limits the wait of the next packet to a
    /// gap at the new rate.
    pub fn rate_rose(&mut self, now: Instant, len: Bytes, rate: Rate) {
        if rate > self.rate && self.next > now {
            self.next = self.next.min(now + rate.time_for(len));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each packet leaves up to half a gap late, and the hundredth still in its time.
    #[test]
    fn late_packets_do_not_delay_those_after_them() {
        let (gap, start) = (Duration::from_micros(100), Instant(1_000_000));
        let mut pacer = Pacer::default();
        pacer.catch_up(Duration::from_millis(1));
        pacer.begin(start);
        for number in 0..100 {
            pacer.note_wait(true);
            assert_eq!(pacer.next(), start + gap * number);
            let late = Duration::from_micros(number * 37 % 50);
            pacer.sent_with_gap(pacer.next() + late, gap);
        }
        pacer.note_wait(false);
        let now = pacer.next() + gap;
        pacer.sent_with_gap(now, gap);
        assert_eq!(pacer.next(), now + gap, "it waited for something else");
    }
}
