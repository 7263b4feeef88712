//! The clock of an endpoint.

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use sojourn_units::{Duration, Instant};

/// Time since an origin, by the kernel's monotonic clock. Endpoints with the same origin have the
/// same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    origin_ns: i64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Clock {
        Clock::with_origin(monotonic())
    }

    /// A clock that starts after this time, and shows zero until then.
    pub fn start_in(time: Duration) -> Clock {
        Clock::with_origin(monotonic().saturating_add_unsigned(time.0))
    }

    /// A clock with this origin, in nanoseconds of `CLOCK_MONOTONIC`.
    pub fn with_origin(origin_ns: i64) -> Clock {
        Clock { origin_ns }
    }

    /// Its time zero, in nanoseconds of `CLOCK_MONOTONIC`.
    pub fn origin_ns(&self) -> i64 {
        self.origin_ns
    }

    /// Sleeps until this time, before time zero as well.
    pub fn sleep_until(&self, at: Instant) {
        let left = self.monotonic_ns(at).saturating_sub(monotonic().unsigned_abs());
        std::thread::sleep(std::time::Duration::from_nanos(left));
    }

    /// The time now.
    #[inline]
    pub fn now(&self) -> Instant {
        self.at(monotonic())
    }

    fn at(&self, monotonic_ns: i64) -> Instant {
        Instant(u64::try_from(monotonic_ns - self.origin_ns).unwrap_or(0))
    }

    /// A time as nanoseconds of `CLOCK_MONOTONIC`.
    pub(super) fn monotonic_ns(&self, at: Instant) -> u64 {
        at.0.saturating_add_signed(self.origin_ns)
    }

    /// Its time zero in nanoseconds since 1970.
    pub fn epoch_ns(&self) -> u64 {
        u64::try_from(self.origin_ns + self.realtime().ahead_ns).unwrap_or(0)
    }

    /// Converts times of `CLOCK_REALTIME`, by the difference between the clocks at present.
    pub fn realtime(&self) -> Realtime {
        Realtime { clock: *self, ahead_ns: nanoseconds(ClockId::CLOCK_REALTIME) - monotonic() }
    }
}

/// Converts the kernel's timestamps, which follow `CLOCK_REALTIME`.
#[derive(Clone, Copy, Debug)]
pub struct Realtime {
    clock: Clock,
    ahead_ns: i64,
}

impl Realtime {
    /// The time now.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(super) fn instant(&self, stamp: &TimeSpec) -> Instant {
        self.clock.at(stamp.tv_sec() * 1_000_000_000 + stamp.tv_nsec() - self.ahead_ns)
    }
}

fn monotonic() -> i64 {
    nanoseconds(ClockId::CLOCK_MONOTONIC)
}

/// The clocks exist on every Linux, so reading them cannot fail.
fn nanoseconds(clock: ClockId) -> i64 {
    let time = clock_gettime(clock).expect("Linux has this clock");
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
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
