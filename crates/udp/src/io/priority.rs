//! Real-time priority of a thread, for a capped share of its processor.

use nix::time::{ClockId, clock_gettime};
use sojourn_units::{Duration, Instant};

use super::Clock;

/// Time after which the thread has a new budget.
const WINDOW: Duration = Duration::from_millis(50);
/// Processor time with real-time priority in each window: half of a processor. Beyond it, other
/// programs run beside the thread. The kernel's own limit is 95 % of a second (sched(7)), whose
/// excess stops the thread for 50 ms.
const BUDGET: Duration = Duration::from_millis(25);
/// Least time between two readings of the thread's processor time, each of which is a system call.
const READ: Duration = Duration::from_millis(1);

/// The processor time that a thread may use with real-time priority.
#[derive(Debug)]
struct Budget {
    /// Begin of the present window.
    begun: Instant,
    /// The thread's processor time when it was last read.
    used: Duration,
    /// Processor time with real-time priority in this window, and the excess of earlier ones.
    spent: Duration,
}

impl Budget {
    fn new(begun: Instant, used: Duration) -> Budget {
        Budget { begun, used, spent: Duration::ZERO }
    }

    /// Whether a thread that has used this processor time may have real-time priority from `now` on.
    /// `is_realtime`: whether it has had it since the last call. A window pays for the excess of
    /// earlier ones.
    fn permits(&mut self, now: Instant, used: Duration, is_realtime: bool) -> bool {
        if is_realtime {
            self.spent += used.saturating_sub(self.used);
        }
        self.used = used;
        let windows = now.since(self.begun).0 / WINDOW.0;
        self.begun += Duration(windows * WINDOW.0);
        self.spent = self.spent.saturating_sub(Duration(windows.saturating_mul(BUDGET.0)));
        self.spent < BUDGET
    }
}

/// The scheduling of a thread, whose calls need more than this crate may use.
pub trait Scheduling: Send {
    /// Gives the calling thread real-time priority, or the usual one. Returns whether it has the
    /// priority that was asked for.
    fn set_realtime(&mut self, is_realtime: bool) -> bool;
}

/// Real-time priority of the calling thread, for at most half of its processor.
pub struct CappedPriority {
    scheduling: Box<dyn Scheduling>,
    clock: Clock,
    /// The priority that the thread has.
    is_realtime: bool,
    budget: Budget,
    /// The last reading of the thread's processor time.
    read_at: Instant,
}

impl std::fmt::Debug for CappedPriority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CappedPriority")
            .field("is_realtime", &self.is_realtime)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

impl CappedPriority {
    /// Asks for real-time priority of the calling thread; `None` if this machine refuses it.
    pub fn begin(mut scheduling: Box<dyn Scheduling>, clock: Clock) -> Option<CappedPriority> {
        let is_realtime = scheduling.set_realtime(true);
        let now = clock.now();
        let budget = Budget::new(now, processor_time());
        let this = CappedPriority { scheduling, clock, is_realtime, budget, read_at: now };
        is_realtime.then_some(this)
    }

    /// Takes the real-time priority of the calling thread once it has used 25 ms of processor time
    /// with it, and returns it at the start of the next window of 50 ms. Call it often: the thread
    /// exceeds this budget by at most 1 ms, and the time between two calls.
    #[inline]
    pub fn account(&mut self) {
        let now = self.clock.now();
        if now.since(self.read_at) >= READ {
            self.adjust(now);
        }
    }

    fn adjust(&mut self, now: Instant) {
        self.read_at = now;
        let is_permitted = self.budget.permits(now, processor_time(), self.is_realtime);
        if is_permitted != self.is_realtime && self.scheduling.set_realtime(is_permitted) {
            self.is_realtime = is_permitted;
        }
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

    /// Processor time with real-time priority of a thread that is read after each step, a pair of a
    /// span and the processor time in it, until `end`. Also the number of its changes.
    fn realtime(end: Duration, step: impl Fn(u64, bool) -> (Duration, Duration)) -> (u64, u64) {
        let (mut now, mut used) = (Instant::ZERO, Duration::ZERO);
        let mut budget = Budget::new(now, used);
        let (mut is_realtime, mut spent, mut changes) = (true, 0, 0);
        for number in 0.. {
            let (span, cpu) = step(number, is_realtime);
            (now, used) = (now + span, used + cpu);
            spent += if is_realtime { cpu.0 } else { 0 };
            let is_permitted = budget.permits(now, used, is_realtime);
            changes += u64::from(is_permitted != is_realtime);
            is_realtime = is_permitted;
            // The last window may have used its budget at once.
            let most = now.0.div_ceil(WINDOW.0) * BUDGET.0 + span.0;
            assert!(spent <= most, "{spent} ns of {} ns, steps of {} ns", now.0, span.0);
            if now.since(Instant::ZERO) >= end {
                break;
            }
        }
        (spent, changes)
    }

    #[test]
    fn a_busy_thread_has_the_priority_for_half_of_its_processor() {
        let end = Duration::from_secs(10);
        // Steps in us. Those of 130 ms exceed the budget of their window, which later ones pay for.
        for step in [300, 1_000, 7_000, 60_000, 130_000] {
            let span = Duration::from_micros(step);
            // Beside one busy program, it has all of the processor, then half of it.
            let beside = |_, is_realtime| (span, if is_realtime { span } else { span / 2 });
            let (alone, changes) = realtime(end, |_, _| (span, span));
            assert_eq!(realtime(end, beside), (alone, changes));
            let (half, most) = (end.0 / 2, end.0 / 2 + BUDGET.0 + span.0);
            assert!((half * 9 / 10..=most).contains(&alone), "{step} us: {alone} ns");
            let windows = end.0 / WINDOW.0;
            assert!(span > BUDGET || changes.abs_diff(2 * windows) <= 2, "in each window");
        }
    }

    #[test]
    fn the_budget_ends_and_returns_within_one_window() {
        let ms = Duration::from_millis;
        let mut budget = Budget::new(Instant::ZERO, ms(7));
        let mut is_realtime = true;
        let mut permits = |at, used: u64| {
            is_realtime = budget.permits(Instant::ZERO + ms(at), ms(7 + used), is_realtime);
            is_realtime
        };
        assert!(permits(24, 24));
        assert!(!permits(25, 25), "at once, not at the end of the window");
        assert!(!permits(49, 30));
        assert!(permits(50, 30), "the processor time of the usual priority is free");
        assert!(permits(74, 54));
        assert!(!permits(95, 75), "45 ms, late by 20 ms");
        assert!(permits(100, 80));
        assert!(!permits(105, 85), "5 ms are left of 25 ms");
        assert!(permits(1_000, 85));
        assert!(!permits(1_026, 111), "idle windows leave no credit");
    }

    #[test]
    fn a_thread_below_half_of_a_processor_keeps_the_priority() {
        let busy = |number, _| {
            let cpu = if number % 50 < 24 { READ } else { Duration::ZERO };
            (READ, cpu)
        };
        let (spent, changes) = realtime(Duration::from_secs(5), busy);
        assert_eq!((spent, changes), (100 * 24_000_000, 0));
    }

    #[test]
    fn a_thread_that_computes_loses_the_priority_by_itself_and_gets_it_back() {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let (noted, clock) = (Box::new(Noted(Arc::clone(&calls))), Clock::start());
        let mut priority = CappedPriority::begin(noted, clock).expect("granted");
        // A shared processor needs some windows, and a busy one many.
        let until = clock.now() + Duration::from_secs(60);
        while calls.lock().expect("not poisoned").len() < 3 && clock.now() < until {
            priority.account();
        }
        assert_eq!(*calls.lock().expect("not poisoned"), [true, false, true]);
    }

    #[test]
    fn a_refusal_is_reported() {
        assert!(CappedPriority::begin(Box::new(Refused), Clock::start()).is_none());
    }
}
