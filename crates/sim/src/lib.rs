//! Simulation in virtual time: event engine, links, paths, endpoints, sources, probes.
//!
//! [`Simulation`] takes a validated scenario, one controller and a seed, and returns an
//! [`Outcome`]. It reads no clock and shares no state: the same scenario and seed give the same
//! bytes, on any thread. (A metered simulation shares one mark, which does not influence it: see
//! [`at_work`].)
//!
//! Each file or folder of `src` is a room, and uses only rooms before it in this order: `seed`,
//! `arrivals`, `events`, `meter`, `swings`, `timeline`, `loops`, `run`, `peak`, `link`, `tap`,
//! `endpoint`, `oracle`, `record`, `capture`, `estimate`, `setup`, `engine`, `emulation`.

/// Runs the example of the guide as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/controllers.md")]
struct Guide;

mod arrivals;
mod capture;
mod emulation;
mod endpoint;
mod engine;
mod estimate;
mod events;
mod link;
mod loops;
mod meter;
mod oracle;
mod peak;
mod record;
mod run;
mod seed;
mod setup;
mod swings;
mod tap;
mod timeline;

pub use capture::{Capture, Names, SenderLog, Sink, StackLog, connection_name, sqlog_name};
pub use emulation::{LinkChange, LinkReading, LinkValue, flow_source, link_changes};
pub use endpoint::outside::{Remote, RemoteState};
pub use endpoint::transport::Overrun;
pub use engine::Simulation;
pub use estimate::{estimate, is_random, kept};
pub use link::observed::LinkObservation;
pub use meter::{Metering, Off, On, Part, at_work};
pub use record::outcome::{
    FlowSummary, LinkSummary, MediaSummary, Outcome, RunSummary, SizeClass, SpikeSummary,
};
#[cfg(not(target_family = "wasm"))]
pub use record::parquet_files::{frames_parquet, series_parquet, transfers_parquet};
pub use tap::{Carried, Datagram, OutsidePacket, Passage, Tap, Wiring};
