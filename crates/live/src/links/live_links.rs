//! The links of a run, of whatever kind: they join the namespaces of senders and receivers.

use sojourn_sim::{Off, Simulation};

use crate::error::Error;
use crate::links::record::{Accounts, Timing};
use crate::machine::Namespace;
use crate::machine::memory::LockedMemory;
use crate::observers::all::OfLinks;
use crate::observers::capture::Counts;
use crate::order::signals::Signals;
use crate::packets::port::Port;
use sojourn_udp::io::Clock;

/// Links between the hosts of both sides, set up before the flows open their sockets.
pub(crate) trait LiveLinks {
    /// Name of the hosts' device in the namespace of each side.
    fn device(&self) -> &'static str;

    /// Whether this process passes the packets: its memory is then locked.
    fn are_in_process(&self) -> bool;

    /// The work of the links' thread, from the clock's zero to the end of the scenario.
    fn begin<'a>(
        self: Box<Self>,
        sides: [&Namespace; 2],
        course: Course,
        signals: &'a Signals<'a>,
    ) -> Result<Work<'a>, Error>;
}

/// The namespaces of senders and receivers, and the links between them.
pub(crate) struct Network {
    pub(crate) sides: [Namespace; 2],
    pub(crate) links: Box<dyn LiveLinks>,
}

impl Network {
    /// The namespaces of senders and receivers.
    pub(crate) fn sides(&self) -> [&Namespace; 2] {
        self.sides.each_ref()
    }
}

/// The simulation that the links follow or record, their clock, and their observers.
pub(crate) struct Course {
    pub(crate) simulation: Simulation<Off, Port>,
    pub(crate) clock: Clock,
    /// Locked until the links end.
    pub(crate) memory: Option<LockedMemory>,
    pub(crate) observers: OfLinks,
}

/// The work of the links' thread.
pub(crate) type Work<'a> = Box<dyn FnOnce() -> Result<Finished, Error> + Send + 'a>;

/// Links that have reached their end.
pub(crate) struct Finished {
    pub(crate) simulation: Simulation<Off, Port>,
    pub(crate) timing: Timing,
    pub(crate) accounts: Accounts,
    /// The counts of the capture, if there is one.
    pub(crate) captured: Option<Counts>,
    /// Kept open until the flows have ended: without their devices, the hosts would have no network.
    pub(crate) _devices: Option<Box<dyn Send>>,
}
