//! Spinning before an event: a loop that reads the clock, because sleep ends late.

use sojourn_units::{Duration, Instant};

/// Greatest share of time that is spun, in 1/8. Beyond 95 % of a second the kernel stops a
/// real-time thread (sched(7), `sched_rt_runtime_us`), and other threads need the rest.
const EIGHTHS: u64 = 4;
/// Spun time that may be saved up.
const SAVED: Duration = Duration::from_millis(20);
/// Longest spin before an event: a thread that has saved the most may begin it twice.
const LONGEST: Duration = Duration::from_millis(10);

/// The allowance for spinning of a thread.
#[derive(Debug)]
pub struct SpinAllowance {
    allowance: Duration,
    /// Time of the last account, and whether the thread has spun since.
    last: Instant,
    is_spinning: bool,
    spun: Duration,
}

impl Default for SpinAllowance {
    fn default() -> SpinAllowance {
        SpinAllowance {
            allowance: SAVED,
            last: Instant::ZERO,
            is_spinning: false,
            spun: Duration::ZERO,
        }
    }
}

impl SpinAllowance {
    /// Time that the thread may spin before an event: `span` and 10 ms at most, or zero as long as
    /// less than that is allowed.
    pub fn permitted(&self, span: Duration) -> Duration {
        let span = span.min(LONGEST);
        if self.allowance > span { span } else { Duration::ZERO }
    }

    /// The thread spins from the last account to the next one.
    pub fn begin(&mut self) {
        self.is_spinning = true;
    }

    /// Adds the allowance of the time since the last call, and subtracts the spun time.
    pub fn account(&mut self, now: Instant) {
        let span = now.since(self.last);
        self.last = now;
        self.allowance = (self.allowance + span * EIGHTHS / 8).min(SAVED);
        if std::mem::take(&mut self.is_spinning) {
            self.spun += span;
            self.allowance = self.allowance.saturating_sub(span);
        }
    }

    /// Time spun so far.
    pub fn spun(&self) -> Duration {
        self.spun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that spins whenever it may does so for half of the time, after the saved part.
    #[test]
    fn spinning_has_a_capped_share() {
        let mut allowance = SpinAllowance::default();
        let (step, span) = (Duration::from_micros(10), Duration::from_micros(35));
        let mut now = Instant::ZERO;
        for _ in 0..100_000 {
            now += step;
            allowance.account(now);
            if allowance.permitted(span) == span {
                allowance.begin();
            }
        }
        let (spun, cap) = (allowance.spun(), Duration(now.0 / 2) + SAVED + span);
        assert!(spun <= cap, "{spun} of {now}");
        assert!(spun.0 > now.0 / 4, "{spun} of {now}");
    }

    /// A wish for more than a thread may save up has an effect too.
    #[test]
    fn a_long_spin_is_bounded() {
        let allowance = SpinAllowance::default();
        for span in [Duration::from_millis(20), Duration::MAX] {
            assert_eq!(allowance.permitted(span), LONGEST);
        }
    }
}
