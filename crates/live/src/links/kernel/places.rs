//! The namespaces of a run over the kernel's links, and the devices of its router.

use crate::machine::Side;

/// The hosts' device, in the namespaces of senders and receivers.
pub(crate) const HOST: &str = "host0";
/// The router's device towards the senders.
pub(crate) const TO_SENDERS: &str = "senders0";
/// The router's device towards the receivers.
pub(crate) const TO_RECEIVERS: &str = "receivers0";

/// A namespace of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Senders,
    Router,
    Receivers,
}

impl Place {
    pub(crate) const ALL: [Place; 3] = [Place::Senders, Place::Router, Place::Receivers];

    /// Its name in commands. A run's namespaces have no names: it puts a path in their place.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Place::Senders => "sojourn-senders",
            Place::Router => "sojourn-router",
            Place::Receivers => "sojourn-receivers",
        }
    }
}

/// The two directions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Path,
    Back,
}

impl Direction {
    /// The side to which packets of this direction go.
    pub(crate) fn to(self) -> Side {
        match self {
            Direction::Path => Side::Receivers,
            Direction::Back => Side::Senders,
        }
    }

    /// The router's device at which packets of this direction arrive.
    pub(crate) fn ingress(self) -> &'static str {
        match self {
            Direction::Path => TO_SENDERS,
            Direction::Back => TO_RECEIVERS,
        }
    }

    /// The router's device at which they leave.
    pub(crate) fn egress(self) -> &'static str {
        match self {
            Direction::Path => Direction::Back.ingress(),
            Direction::Back => Direction::Path.ingress(),
        }
    }

    /// The device that shapes them.
    pub(crate) fn shaper(self) -> &'static str {
        match self {
            Direction::Path => "path0",
            Direction::Back => "back0",
        }
    }

    /// The other end of the shaper's veth pair, at which they arrive after the queue.
    pub(crate) fn shaped(self) -> &'static str {
        match self {
            Direction::Path => "path1",
            Direction::Back => "back1",
        }
    }
}
