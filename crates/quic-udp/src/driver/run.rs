//! The turns of an endpoint.

use std::io;

use sojourn_udp::io::{CHECK, Polled, SpinAllowance, TakesTurns, Turn, Wait, take_turns};
use sojourn_units::{Duration, Instant};

use super::{Driver, Service};
use crate::Error;

/// Time between two collections of round-trip times, which bounds the samples in memory.
pub(super) const COLLECT: Duration = Duration::from_secs(1);

/// A run of an endpoint.
struct Running<'a, S: Service> {
    driver: &'a mut Driver<S>,
    is_over: &'a mut dyn FnMut(&mut S) -> bool,
    look_at: Instant,
    /// Whether another thread may have written meanwhile.
    has_waited: bool,
}

impl<S: Service> Driver<S> {
    /// Runs until the stop handle ends it, or until `is_over` holds. Then closes the connections.
    ///
    /// # Errors
    /// If the socket fails, or a client's server is not reachable.
    pub fn run(&mut self, is_over: &mut dyn FnMut(&mut S) -> bool) -> Result<(), Error> {
        let (clock, stop, look_at) = (self.clock, self.stop.clone(), self.now);
        let mut running = Running { driver: self, is_over, look_at, has_waited: false };
        take_turns(&mut running, clock, || stop.is_stopped())?;
        self.close_all();
        Ok(())
    }

    /// The next turn, before `until`.
    fn next_turn(&self, until: Instant) -> Wait {
        let Some((at, key)) = self.timers.first().copied() else { return Wait::until(until) };
        // A datagram that is held leaves first, once the socket has room.
        if self.held.is_some() || self.departs_at(key) != Some(at) {
            return Wait::until(until.min(at));
        }
        let spin = self.settings.spin;
        Wait { until, event: at, spin, spins_by_turns: false }
    }
}

impl<S: Service> TakesTurns for Running<'_, S> {
    type Error = Error;

    fn turn(&mut self, _: &SpinAllowance) -> Result<Turn, Error> {
        let Running { driver, is_over, look_at, has_waited } = self;
        if is_over(&mut driver.service) {
            return Ok(Turn::Over);
        }
        if std::mem::take(has_waited) && driver.service.wake().is_some() {
            driver.rouse();
        }
        let has_more = driver.step()?;
        let now = driver.now;
        driver.account();
        if *look_at <= now {
            let every = driver.service.look_every();
            driver.look(now, every.is_some());
            *look_at = now + every.unwrap_or(COLLECT);
        }
        if has_more {
            return Ok(Turn::Again);
        }
        *has_waited = true;
        Ok(Turn::Wait(driver.next_turn((*look_at).min(now + CHECK))))
    }

    fn polled(&self) -> Polled<'_> {
        self.driver.socket.polled(self.driver.held.is_some(), self.driver.service.wake())
    }

    fn failed(error: io::Error) -> Error {
        sojourn_udp::Error::Socket { action: "wait", source: error }.into()
    }
}
