//! Live runs: the kernel's TCP in network namespaces, over the simulator's links in real time.
//!
//! [`run`] takes a scenario and returns the same [`Outcome`](sojourn_sim::Outcome) as the
//! simulator, with the timing of the bottleneck. Two namespaces hold the senders and the receivers
//! of all flows. One thread reads their packets from TUN devices, or from veth pairs, passes each
//! through the links of a [`Simulation`](sojourn_sim::Simulation) in step with the clock, and writes
//! it to the other namespace at its time of arrival.
//!
//! [`Shell`] runs any program between the same namespaces, over the links of one flow.
//!
//! Only Linux has the parts. On other systems this crate is empty.
#![cfg(target_os = "linux")]

mod acks;
mod addresses;
mod application;
mod bottleneck;
mod capture;
mod checksum;
mod clock;
mod coalesce;
mod controllers;
mod device;
mod echo;
mod ecn;
mod end_of_run;
mod endpoint;
mod error;
mod flow_threads;
mod kernel;
mod logs;
mod memory;
mod namespace;
mod netlink;
mod offload;
mod packet;
mod port;
mod quic;
mod refusals;
mod round_trip;
mod run;
mod segment;
mod shell;
mod slab;
mod stolen;
mod sys;
mod tcp;
mod tun;
mod udp;
mod udp_transfers;
mod veth;
mod watch;

pub use acks::Acks;
pub use bottleneck::{Accounts, Timing};
pub use capture::Captured;
pub use error::Error;
pub use kernel::commands;
pub use logs::{Recorded, Recorder, Recording};
pub use namespace::{Namespace, enter_user_namespace, gain_privilege};
pub use run::{IpVersion, Links, Options, Report, Stack, run};
pub use shell::{LinkTotals, Shell, ShellOptions, ShellReport};
pub use sojourn_udp::io::Departures;
pub use sys::realtime::Realtime;
pub use watch::{LinkState, Readings, WATCHED_FLOWS, bottleneck};
