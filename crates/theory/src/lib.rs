//! Bounds and fluid models, without simulation.
//!
//! - [`spike`]: the minimum queueing delay that one drop of capacity causes, in the
//!   equations of Teigen et al., "A Lower Bound on Latency Spikes for Capacity-Seeking
//!   Network Traffic".
//! - [`shared`]: several flows with different loop delays on one FIFO.
//! - [`mitigations`]: the effect of each of the paper's remedies on that bound.
//! - [`capacity`]: the same bound for capacity that changes any number of times, by any
//!   amount, faster or slower than the control loop.
//! - [`waits`]: the distribution of waiting times over all traffic.
//! - [`unavoidable`]: all of these in one result.
//! - [`process`]: random capacity of WiFi and cellular links, and chains fitted to a
//!   measured capacity.
//! - [`rapid`]: the cost of periodic bursts of cross traffic for the packet-scale paradigm,
//!   in the fluid model of the paper on it.
//! - [`quality`]: estimated quality of video and voice.
//!
//! The models treat traffic as a fluid and simulate no packets. Times come from integer
//! arithmetic and are rounded down to the nanosecond once, at the end, so that rounding
//! never raises a bound above the true one. (Exceptions are the shares of
//! [`spike::weighted`] and all of [`rapid`] and [`quality`], which use floats; the latter
//! two compute no bounds.)

pub mod capacity;
mod fluid;
pub mod mitigations;
pub mod process;
pub mod quality;
pub mod rapid;
pub mod shared;
pub mod spike;
pub mod unavoidable;
pub mod waits;

/// Runs the example of README.md as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
