//! Marks of the part of the simulation at work, for a sampling profiler.
//!
//! A clock read at each boundary would cost more than the work between two of them. A metered run
//! therefore only stores a mark, and another thread samples it ([`at_work`]): a part's share of the
//! samples is its share of the time. An unmetered run has no marks: [`Off`] compiles to no code.

use std::sync::atomic::{AtomicU8, Ordering};

use sojourn_cc::{AnyController, Controller, Feedback, Limits, Probe, Sent, Signal};
use sojourn_units::{Bytes, Duration, Instant};

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
    /// All other work: events, links, wires, sources, setup, the summary.
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

/// Whether a simulation marks the part at work.
pub trait Metering: 'static {
    /// Type of the controllers.
    type Controller: Controller + From<AnyController>;

    /// `part` begins.
    fn enter(part: Part);

    /// Runs `work` as `part`, called from the engine. For small results only: a large one would be
    /// copied once more, metered or not.
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

    #[inline(always)]
    fn enter(_: Part) {}
}

/// Marks. The process has one mark, so two metered runs at once cannot be distinguished; their
/// outcomes are correct.
#[derive(Clone, Copy, Debug)]
pub enum On {}

/// The part at work, as an index into [`Part::ALL`].
static MARK: AtomicU8 = AtomicU8::new(Part::Engine as u8);

impl Metering for On {
    type Controller = Marked;

    #[inline(always)]
    fn enter(part: Part) {
        // The mark orders no other memory access, so a relaxed store suffices.
        MARK.store(part as u8, Ordering::Relaxed);
    }
}

/// The part at work in this process's metered simulation.
pub fn at_work() -> Part {
    Part::ALL[usize::from(MARK.load(Ordering::Relaxed))]
}

/// A controller that marks its work. Only senders call it, except `probe`, which belongs to the
/// recording.
pub struct Marked(AnyController);

impl From<AnyController> for Marked {
    fn from(controller: AnyController) -> Marked {
        Marked(controller)
    }
}

/// Runs `work` as the controller, called from the transport.
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
    fn on_validation(&mut self, now: Instant, cwnd: Bytes, ends_recovery: bool) {
        marked(|| self.0.on_validation(now, cwnd, ends_recovery));
    }
    fn reduces_at_once(&self) -> bool {
        self.0.reduces_at_once()
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
