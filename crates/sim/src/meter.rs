//! Which part of the simulation is at work: marks for whoever samples them.
//!
//! A clock read at each border would cost more than what is between two of them.
//! So a metered run only says where it is, in one store, and somebody else looks
//! now and then ([`at_work`]): the share of looks that find a part is its share of
//! the time. A run that is not metered has no marks: [`Off`] compiles to nothing.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, Ordering};

use sojourn_cc::{AnyController, Controller, Feedback, Limits, Probe, Sent, Signal};
use sojourn_units::{Bytes, Duration, Instant};

use crate::tap::Tap;

/// A part of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Part {
    /// Queue disciplines, and the rings that they fill.
    Queue,
    /// Senders and receivers.
    Transport,
    /// Congestion controllers.
    Controller,
    /// All else: events, links, wires, sources, setting up, the summary.
    Engine,
    /// Histograms of waits and round-trip times, and samples of flows and links.
    Recording,
}

impl Part {
    /// Every part.
    pub const ALL: [Part; 5] =
        [Part::Queue, Part::Transport, Part::Controller, Part::Engine, Part::Recording];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Part::Queue => "queue",
            Part::Transport => "transport",
            Part::Controller => "controller",
            Part::Engine => "engine",
            Part::Recording => "recording",
        }
    }
}

/// What else a simulation does: whether it says which part of it is at work, and who listens at
/// its hosts.
pub trait Metering: 'static {
    /// Its controllers.
    type Controller: Controller + From<AnyController>;
    /// What listens at its hosts.
    type Tap: Tap;

    /// `part` begins.
    fn enter(part: Part);

    /// Does `work` as `part`, called from the engine. For what answers with little:
    /// a larger answer would be copied once more, metered or not.
    #[inline(always)]
    fn of<T>(part: Part, work: impl FnOnce() -> T) -> T {
        Self::enter(part);
        let done = work();
        Self::enter(Part::Engine);
        done
    }
}

/// No marks.
#[derive(Clone, Copy, Debug)]
pub enum Off {}

impl Metering for Off {
    type Controller = AnyController;
    type Tap = ();

    #[inline(always)]
    fn enter(_: Part) {}
}

/// No marks, but somebody who listens.
#[derive(Clone, Copy, Debug)]
pub struct Tapped<T>(PhantomData<T>);

impl<T: Tap> Metering for Tapped<T> {
    type Controller = AnyController;
    type Tap = T;

    #[inline(always)]
    fn enter(_: Part) {}
}

/// Marks. They are the process's: of two metered runs at once neither can be told
/// apart, though each answers what it would alone.
#[derive(Clone, Copy, Debug)]
pub enum On {}

/// What is at work, as a place in [`Part::ALL`].
static MARK: AtomicU8 = AtomicU8::new(Part::Engine as u8);

impl Metering for On {
    type Controller = Marked;
    type Tap = ();

    #[inline(always)]
    fn enter(part: Part) {
        // Nothing else is read by the mark, so its order with other stores is free.
        MARK.store(part as u8, Ordering::Relaxed);
    }
}

/// The part that a metered simulation of this process is at.
pub fn at_work() -> Part {
    Part::ALL[usize::from(MARK.load(Ordering::Relaxed))]
}

/// A controller that marks its work. Senders alone call it, but for `probe`, which
/// is the recording's.
pub struct Marked(AnyController);

impl From<AnyController> for Marked {
    fn from(controller: AnyController) -> Marked {
        Marked(controller)
    }
}

/// Does `work` as the controller, called from the transport.
#[inline(always)]
fn marked<T>(work: impl FnOnce() -> T) -> T {
    On::enter(Part::Controller);
    let done = work();
    On::enter(Part::Transport);
    done
}

impl Controller for Marked {
    #[inline]
    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        marked(|| self.0.on_sent(now, sent));
    }
    #[inline]
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        marked(|| self.0.on_feedback(now, feedback));
    }
    fn on_timeout(&mut self, now: Instant, in_flight: Bytes) {
        marked(|| self.0.on_timeout(now, in_flight));
    }
    fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        marked(|| self.0.on_handshake(now, rtt));
    }
    fn paces_initial_window(&self) -> bool {
        self.0.paces_initial_window()
    }
    fn on_signal(&mut self, now: Instant, signal: Signal) {
        marked(|| self.0.on_signal(now, signal));
    }
    #[inline]
    fn limits(&self) -> Limits {
        marked(|| self.0.limits())
    }
    fn probe(&self) -> Probe {
        self.0.probe()
    }
}
