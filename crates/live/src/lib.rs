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

mod endpoints;
mod error;
mod links;
mod machine;
mod observers;
mod order;
mod packets;
mod run;
mod shell;

pub use error::Error;
pub use links::kernel::script::commands;
pub use links::record::{Accounts, Timing};
pub use machine::addresses::IpVersion;
pub use machine::namespace::{Namespace, enter_user_namespace, gain_privilege};
pub use machine::sys::realtime::Realtime;
pub use observers::acks::Acks;
pub use observers::capture::Captured;
pub use observers::logs::{Recorded, Recorder, Recording};
pub use observers::watch::bottleneck;
pub use order::options::{Links, Options, Stack};
pub use order::readings::{LinkState, Readings, WATCHED_FLOWS};
pub use order::set_up::SetUp;
pub use run::{Report, run};
pub use shell::{LinkTotals, Shell, ShellOptions, ShellReport};
pub use sojourn_udp::io::Departures;
