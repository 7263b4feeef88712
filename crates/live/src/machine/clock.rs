//! The clock of a run, and the waits of the bottleneck.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use sojourn_udp::io::SpinAllowance;
use sojourn_units::{Duration, Instant};

/// Time before an event at which a wait ends, so that the rest is spun: longer than almost all
/// wake-ups of a real-time thread take.
const SPIN: Duration = Duration::from_micros(35);

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
    allowance: SpinAllowance,
}

impl Waiter {
    pub(crate) fn new(may_spin: bool) -> Waiter {
        Waiter { may_spin, allowance: SpinAllowance::default() }
    }

    /// Waits for `event`, or until one of `devices` is readable. Returns at once if the event is so
    /// near that the caller should spin.
    pub(crate) fn wait(
        &mut self,
        now: Instant,
        event: Instant,
        devices: [BorrowedFd<'_>; 2],
    ) -> io::Result<()> {
        let left = event.since(now);
        self.allowance.account(now);
        let spin = if self.may_spin { self.allowance.permitted(SPIN) } else { Duration::ZERO };
        if left <= spin {
            self.allowance.begin();
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

    /// Time spun so far.
    pub(crate) fn spun(&self) -> Duration {
        self.allowance.spun()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_zero_until_its_start() {
        let clock = Clock::start_in(Duration::from_secs(3600));
        assert_eq!(clock.now(), Instant::ZERO);
        let clock = Clock::start_in(Duration::from_millis(2));
        clock.sleep_until(Instant::ZERO + Duration::from_millis(1));
        assert!(clock.now() >= Instant::ZERO + Duration::from_millis(1));
    }
}
