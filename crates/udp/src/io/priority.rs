//! Real-time priority of a thread, for a capped share of its processor.

use nix::time::{ClockId, clock_gettime};
use sojourn_units::{Duration, Instant};

use super::Clock;

/// Time over which the share is measured.
const WINDOW: Duration = Duration::from_millis(50);
/// Greatest share of a processor with real-time priority, in percent. Beyond it, other programs run
/// beside the thread. The kernel's own limit is 95 % of a second (sched(7)), whose excess stops the
/// thread for 50 ms.
const PERCENT: u64 = 50;

/// The scheduling of a thread, whose calls need more than this crate may use.
pub trait Scheduling: Send {
    /// Gives the calling thread real-time priority, or the usual one. Returns whether it has the
    /// priority that was asked for.
    fn set_realtime(&mut self, is_realtime: bool) -> bool;
}

/// Real-time priority of the calling thread while it uses at most half of its processor.
pub struct CappedPriority {
    scheduling: Box<dyn Scheduling>,
    /// The priority that the thread has.
    is_realtime: bool,
    /// Begin of the present window, and the thread's processor time then.
    begun: (Instant, Duration),
}

impl std::fmt::Debug for CappedPriority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CappedPriority")
            .field("is_realtime", &self.is_realtime)
            .finish_non_exhaustive()
    }
}

impl CappedPriority {
    /// Asks for real-time priority of the calling thread; `None` if this machine refuses it.
    pub fn begin(mut scheduling: Box<dyn Scheduling>, clock: &Clock) -> Option<CappedPriority> {
        let is_granted = scheduling.set_realtime(true);
        let begun = (clock.now(), processor_time());
        is_granted.then_some(CappedPriority { scheduling, is_realtime: true, begun })
    }

    /// Adjusts the priority of the calling thread at the end of each window. Call it often.
    #[inline]
    pub fn account(&mut self, now: Instant) {
        if now.since(self.begun.0) >= WINDOW {
            self.end_window(now, processor_time());
        }
    }

    fn end_window(&mut self, now: Instant, used: Duration) {
        let (span, used_now) = (now.since(self.begun.0), used.saturating_sub(self.begun.1));
        let is_modest = used_now.0.saturating_mul(100) <= span.0.saturating_mul(PERCENT);
        if is_modest != self.is_realtime && self.scheduling.set_realtime(is_modest) {
            self.is_realtime = is_modest;
        }
        self.begun = (now, used);
    }
}

/// Processor time of the calling thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(std::time::Duration::from);
    Duration(time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Notes the calls, and grants them.
    struct Noted(Arc<Mutex<Vec<bool>>>);

    impl Scheduling for Noted {
        fn set_realtime(&mut self, is_realtime: bool) -> bool {
            self.0.lock().expect("not poisoned").push(is_realtime);
            true
        }
    }

    struct Refused;

    impl Scheduling for Refused {
        fn set_realtime(&mut self, _: bool) -> bool {
            false
        }
    }

    #[test]
    fn the_priority_ends_while_the_thread_uses_more_than_half_of_a_processor() {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let noted = Box::new(Noted(Arc::clone(&calls)));
        let mut priority = CappedPriority::begin(noted, &Clock::start()).expect("granted");
        priority.begun = (Instant::ZERO, Duration::ZERO);
        let ms = Duration::from_millis;
        let (mut now, mut used) = (Instant::ZERO, Duration::ZERO);
        for (busy, is_realtime) in [(25, true), (26, false), (50, false), (25, true), (0, true)] {
            (now, used) = (now + WINDOW, used + ms(busy));
            priority.end_window(now, used);
            assert_eq!(priority.is_realtime, is_realtime, "{busy} ms of 50 ms");
        }
        assert_eq!(*calls.lock().expect("not poisoned"), [true, false, true]);
    }

    #[test]
    fn a_thread_that_computes_loses_the_priority_by_itself() {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let (noted, clock) = (Box::new(Noted(Arc::clone(&calls))), Clock::start());
        let mut priority = CappedPriority::begin(noted, &clock).expect("granted");
        // A processor of this thread alone computes 50 ms; a shared one needs some windows.
        let until = clock.now() + Duration::from_secs(5);
        while priority.is_realtime && clock.now() < until {
            priority.account(clock.now());
        }
        assert!(!priority.is_realtime);
    }

    #[test]
    fn a_refusal_is_reported() {
        assert!(CappedPriority::begin(Box::new(Refused), &Clock::start()).is_none());
    }
}
