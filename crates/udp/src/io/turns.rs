//! The loop of every thread that keeps times: a transfer, a server, and the links of a live run.

use std::io;

use nix::errno::Errno;
use nix::poll::{PollFd, ppoll};
use nix::sys::time::TimeSpec;
use sojourn_units::{Duration, Instant};

use super::clock::Clock;
use super::spin::SpinAllowance;

/// The next turn of a loop.
#[derive(Clone, Copy, Debug)]
pub enum Turn {
    /// At once.
    Again,
    /// When a descriptor is ready, or at a time.
    Wait(Wait),
    /// There is none: the work has ended.
    Over,
}

/// The time of the next turn.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The next turn at the latest.
    pub until: Instant,
    /// The event before which the thread spins, since sleep ends late.
    pub event: Instant,
    /// Time before the event from which on the thread spins, if the allowance permits it.
    pub spin: Duration,
    /// Whether the thread spins by turns, which look at the descriptors, or only reads the clock.
    pub spins_by_turns: bool,
}

impl Wait {
    /// A wait without spinning.
    pub fn until(until: Instant) -> Wait {
        let spin = Duration::ZERO;
        Wait { until, event: Instant::MAX, spin, spins_by_turns: false }
    }
}

/// One or two descriptors.
pub type Polled<'a> = (PollFd<'a>, Option<PollFd<'a>>);

/// Work that takes its turns at times and when descriptors are ready.
pub trait TakesTurns {
    /// Its faults.
    type Error;

    /// Does everything that is due. `spins`: the allowance of the thread.
    ///
    /// # Errors
    /// Those of the work.
    fn turn(&mut self, spins: &SpinAllowance) -> Result<Turn, Self::Error>;

    /// The descriptors that end a wait.
    fn polled(&self) -> Polled<'_>;

    /// The fault of a wait.
    fn failed(error: io::Error) -> Self::Error;
}

/// Takes the turns of `work` until it is over, or until `is_stopped`. Returns the time spun.
///
/// # Errors
/// Those of the work and of ppoll(2).
pub fn take_turns<W: TakesTurns>(
    work: &mut W,
    clock: Clock,
    is_stopped: impl Fn() -> bool,
) -> Result<Duration, W::Error> {
    let mut spins = SpinAllowance::default();
    while !is_stopped() {
        let wait = match work.turn(&spins)? {
            Turn::Again => continue,
            Turn::Over => break,
            Turn::Wait(wait) => wait,
        };
        let now = clock.now();
        spins.account(now);
        let spin = spins.permitted(wait.spin);
        if wait.spins_by_turns && wait.event.since(now) <= spin {
            spins.begin();
            continue;
        }
        let until = wait.until.min(wait.event.saturating_sub(spin));
        wait_until(&clock, until, work.polled()).map_err(|errno| W::failed(errno.into()))?;
        if !wait.spins_by_turns {
            spin_until(&clock, wait.event, spin, &mut spins);
        }
    }
    Ok(spins.spun())
}

/// Waits until a descriptor is ready, or the time comes.
pub(super) fn wait_until(
    clock: &Clock,
    until: Instant,
    (first, second): Polled<'_>,
) -> Result<(), Errno> {
    let span = until.since(clock.now());
    if span == Duration::ZERO {
        return Ok(());
    }
    let span = TimeSpec::from_duration(std::time::Duration::from_nanos(span.0));
    let count = 1 + usize::from(second.is_some());
    let mut polled = [first.clone(), second.unwrap_or(first)];
    match ppoll(&mut polled[..count], Some(span), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Reads the clock until an event that is at most `span` away.
fn spin_until(clock: &Clock, event: Instant, span: Duration, spins: &mut SpinAllowance) {
    spins.account(clock.now());
    if clock.now() < event && event.since(clock.now()) <= span {
        spins.begin();
        while clock.now() < event {
            std::hint::spin_loop();
        }
        spins.account(clock.now());
    }
}
