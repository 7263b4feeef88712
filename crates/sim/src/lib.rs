//! Simulation in virtual time: event engine, links, paths, hosts, sources, probes.
//!
//! [`Simulation`] takes a validated scenario, one controller and a seed, and returns an
//! [`Outcome`]. It reads no clock and shares no state: the same scenario and seed give the same
//! bytes, on any thread. (A metered simulation shares one mark, which does not influence it: see
//! [`at_work`].)

/// Runs the examples of CONTRIBUTING.md as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Contributing;

mod bounds;
mod capacity;
mod capture;
mod changes;
mod connection;
mod cross;
mod disorder;
mod engine;
mod events;
mod line;
mod link;
mod loops;
mod measure;
mod memory;
mod meter;
mod opening;
mod outcome;
mod overrun;
mod overtaking;
mod packet;
mod ping;
mod record;
mod ring;
mod route;
mod seed;
mod seen;
mod server;
mod setup;
mod signal;
mod source;
mod summary;
mod tap;
mod timeline;
mod waiting;

pub use capture::{Capture, Sink};
pub use engine::Simulation;
pub use memory::{estimate, is_random, kept};
pub use meter::{Metering, Off, On, Part, Tapped, at_work};
pub use outcome::{FlowSummary, LinkSummary, Outcome, RunSummary, SpikeSummary};
pub use overrun::Overrun;
pub use record::series_parquet;
pub use tap::{Carried, Passage, Ping, Tap, Wiring};
