//! Departure times of paced packets.

use sojourn_units::Duration;

/// Keeper of the departure times of paced packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Departures {
    /// This thread, which sleeps until then.
    #[default]
    Timer,
    /// The kernel (`SO_TXTIME`). The interface must have the queue discipline `fq`, which holds each
    /// packet until its time: other disciplines ignore the time and send at once.
    Kernel,
    /// The kernel, with any queue discipline: for a socket of another network namespace, whose
    /// interfaces this thread does not see.
    KernelAssumed,
}

impl Departures {
    /// The keeper in a record.
    pub fn name(self) -> &'static str {
        if self.are_kernels() { "kernel" } else { "timer" }
    }

    /// Whether the kernel holds the packets.
    pub(crate) fn are_kernels(self) -> bool {
        self != Departures::Timer
    }
}

/// Timing of an endpoint's departures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Keeper of the departure times.
    pub departures: Departures,
    /// The thread spins for this long before a departure, since sleep ends late: for 10 ms at most,
    /// and for at most half of the time. Packets with exact gaps have 50 us at least.
    pub spin: Duration,
    /// A packet that leaves late by up to this does not delay the next ones.
    pub catch_up: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            departures: Departures::Timer,
            spin: Duration::ZERO,
            catch_up: sojourn_cc::CATCH_UP,
        }
    }
}

/// Time from handing a packet to the kernel until its departure.
pub(crate) const LEAD: Duration = Duration::from_micros(500);
