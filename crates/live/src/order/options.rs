//! The settings of a live run that a scenario does not have.

use sojourn_udp::io::Departures;

use crate::machine::IpVersion;
use crate::order::readings::Readings;
use crate::order::set_up::SetUp;

/// Settings of a live run that a scenario does not have.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The version of IP.
    pub version: IpVersion,
    /// The hosts of the flows with a congestion controller.
    pub stack: Stack,
    /// The links.
    pub links: Links,
    /// Keeper of the departure times of the flows of [`Stack::Udp`].
    pub departures: Departures,
    /// Prefix of the files for a capture of the packets, as a simulation's.
    pub pcapng: Option<String>,
    /// Prefix of the files for the events of the transports, as a simulation's: of each sender, and
    /// of both ends that a QUIC stack carries.
    pub qlog: Option<String>,
    /// Whether the kernel traces each acknowledgement that arrives at a sender of its TCP.
    pub traces_acks: bool,
    /// Readings of the bottleneck link during the run; see [`bottleneck`](crate::bottleneck).
    pub readings: Option<Readings>,
    /// The part of the run that is set up, for an observer in another thread.
    pub set_up: SetUp,
}

/// The links of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// The simulator's, in real time.
    #[default]
    Sojourn,
    /// The kernel's queue disciplines.
    Kernel,
}

/// A network stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stack {
    /// The kernel's TCP, with its own controllers.
    #[default]
    Kernel,
    /// Sojourn's transport over UDP, with every controller of the scenario.
    Udp,
}
