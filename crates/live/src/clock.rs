//! The clock of a run, and the waits of the bottleneck.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use sojourn_units::{Duration, Instant};

/// Time before an event at which a wait ends, so that the rest is spun: longer than almost all
/// wake-ups of a real-time thread take.
const SPIN: Duration = Duration::from_micros(35);
/// Greatest share of time that is spun, in 1/8. Beyond 95 % of a second the kernel stops a
/// real-time thread (sched(7), `sched_rt_runtime_us`), and the hosts need the rest.
const SPIN_EIGHTHS: u64 = 4;
/// Spun time that may be saved up.
const SAVED: Duration = Duration::from_millis(20);

/// CLOCK_MONOTONIC since the start of a run; zero before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: u64,
}

impl Clock {
    /// A clock that starts after this time.
    pub(crate) fn start_in(time: Duration) -> Clock {
        Clock { start: monotonic() + time.0 }
    }

    /// Time zero, in nanoseconds of CLOCK_MONOTONIC.
    pub(crate) fn origin_ns(self) -> i64 {
        self.start as i64
    }

    /// CLOCK_REALTIME at time zero.
    pub(crate) fn origin_realtime(self) -> Duration {
        let ahead = read(ClockId::CLOCK_REALTIME).saturating_sub(monotonic());
        Duration(self.start + ahead)
    }

    pub(crate) fn now(self) -> Instant {
        Instant(monotonic().saturating_sub(self.start))
    }

    /// Sleeps until this time, before the start of the run as well.
    pub(crate) fn sleep_until(self, at: Instant) {
        let left = self.start.saturating_add(at.0).saturating_sub(monotonic());
        thread::sleep(std::time::Duration::from_nanos(left));
    }
}

fn monotonic() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

fn read(clock: ClockId) -> u64 {
    // Linux always has both clocks.
    let time = clock_gettime(clock).unwrap_or(TimeSpec::new(0, 0));
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// Waits until shortly before an event, and the allowance for spinning the rest.
#[derive(Debug)]
pub(crate) struct Waiter {
    may_spin: bool,
    /// Time that may be spun.
    allowance: Duration,
    /// Time of the last call, and whether it decided to spin.
    last: Instant,
    is_spinning: bool,
    /// Time spun so far.
    pub(crate) spun: Duration,
}

impl Waiter {
    pub(crate) fn new(may_spin: bool) -> Waiter {
        Waiter {
            may_spin,
            allowance: SAVED,
            last: Instant::ZERO,
            is_spinning: false,
            spun: Duration::ZERO,
        }
    }

    /// Waits for `event`, or until one of `devices` is readable. Returns at once if the event is so
    /// near that the caller should spin.
    pub(crate) fn wait(
        &mut self,
        now: Instant,
        event: Instant,
        devices: [BorrowedFd<'_>; 2],
    ) -> io::Result<()> {
        self.account(now);
        let left = event.since(now);
        let spin = self.spin();
        self.is_spinning = left <= spin;
        if self.is_spinning {
            return Ok(());
        }
        let mut polled = devices.map(|device| PollFd::new(device, PollFlags::POLLIN));
        let left = (left - spin).0;
        let time = TimeSpec::new((left / 1_000_000_000) as i64, (left % 1_000_000_000) as i64);
        match ppoll(&mut polled, Some(time), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Time before the next event that may be spun.
    fn spin(&self) -> Duration {
        if self.may_spin && self.allowance > SPIN { SPIN } else { Duration::ZERO }
    }

    /// Adds the allowance of the time since the last call, and takes off what was spun.
    fn account(&mut self, now: Instant) {
        let span = now.since(self.last);
        self.last = now;
        self.allowance = (self.allowance + span * SPIN_EIGHTHS / 8).min(SAVED);
        if self.is_spinning {
            self.spun += span;
            self.allowance = self.allowance.saturating_sub(span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that spins whenever it may does so for half of the time, after the saved part.
    #[test]
    fn spinning_has_a_capped_share() {
        let mut waiter = Waiter::new(true);
        let step = Duration::from_micros(10);
        let mut now = Instant::ZERO;
        for _ in 0..100_000 {
            now += step;
            waiter.account(now);
            waiter.is_spinning = waiter.spin() > Duration::ZERO;
        }
        let cap = Duration(now.0 / 2) + SAVED + SPIN;
        assert!(waiter.spun <= cap, "{} of {now}", waiter.spun);
        assert!(waiter.spun.0 > now.0 / 4, "{} of {now}", waiter.spun);
    }

    #[test]
    fn a_clock_shows_zero_until_its_start() {
        let clock = Clock::start_in(Duration::from_secs(3600));
        assert_eq!(clock.now(), Instant::ZERO);
        let clock = Clock::start_in(Duration::from_millis(2));
        clock.sleep_until(Instant::ZERO + Duration::from_millis(1));
        assert!(clock.now() >= Instant::ZERO + Duration::from_millis(1));
    }

    #[test]
    fn a_waiter_that_may_not_spin_does_not() {
        assert_eq!(Waiter::new(false).spin(), Duration::ZERO);
    }
}
