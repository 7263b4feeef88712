//! Departure times of paced packets.

use sojourn_units::Duration;

/// Who keeps the departure times of paced packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Departures {
    /// This thread, which sleeps until then.
    #[default]
    Timer,
    /// The kernel (`SO_TXTIME`): the queue discipline `fq` or `etf` of the interface holds each
    /// packet until its time. Any other discipline ignores the time and sends at once.
    Kernel,
}

/// How an endpoint keeps time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Who keeps the departure times.
    pub departures: Departures,
    /// The thread spins for this long before a departure, since sleep ends late.
    pub spin: Duration,
    /// A packet that leaves late by up to this does not delay the next ones.
    pub catch_up: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            departures: Departures::Timer,
            spin: Duration::ZERO,
            catch_up: Duration::from_millis(1),
        }
    }
}

/// How long before its departure the kernel gets a packet.
pub(super) const LEAD: Duration = Duration::from_micros(500);
