//! Bounds and fluid models in closed form.
//!
//! - [`spike`]: the least queueing delay that one drop of capacity causes, in
//!   the equations of Teigen et al., "A Lower Bound on Latency Spikes for
//!   Capacity-Seeking Network Traffic".
//! - [`shared`]: several flows with different loop delays on one FIFO.
//! - [`mitigations`]: what each of the paper's remedies makes of that bound.
//! - [`capacity`]: the same bound for capacity that changes any number of
//!   times, by any amount, faster or slower than the control loop.
//! - [`waits`]: what share of the traffic waits how long in it.
//! - [`unavoidable`]: all of that as one answer.
//! - [`process`]: capacity of WiFi and cellular links at random, and chains
//!   fitted to a measured one.
//! - [`rapid`]: what periodic bursts of cross traffic cost the packet-scale
//!   paradigm, in the fluid model of the paper on that.
//!
//! Nothing here simulates packets: traffic is a fluid. Times come from integer
//! arithmetic, rounded down to the nanosecond once, at the end, so that a bound
//! is not above the true one by rounding either. (Only the shares of
//! [`spike::weighted`] are floats, and all of [`rapid`], which bounds nothing.)

pub mod capacity;
mod fluid;
pub mod mitigations;
pub mod process;
pub mod rapid;
pub mod shared;
pub mod spike;
pub mod unavoidable;
pub mod waits;
