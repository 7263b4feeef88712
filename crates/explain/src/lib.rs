//! From a capture to the path, its twin, the cause of the delay and the cure.
//!
//! - [`observation`]: what was seen of each flow, in one form for every source.
//! - [`path`]: base delay, capacity over time, buffer and losses, from the observation alone.
//! - [`replay`]: the controller of a flow, by what its packets tell of it.
//! - [`twin`]: a scenario that behaves as the observation, by trying controllers and queues.
//! - [`explain()`]: all of it, with the verdicts on the twin and the effect of changes.
//!
//! The crate opens no file and reads no clock: the same observation gives the same bytes.

mod beside;
mod cause;
mod cures;
mod explain;
mod fit;
mod group;
pub mod observation;
pub mod path;
mod quantile;
pub mod replay;
mod result;
mod series;
mod text;
pub mod twin;

pub use explain::{FORMAT, Options, explain, explain_source};
pub use observation::ACCEPTED;
pub use result::{
    CapacityResult, Choice, Cure, CureKind, Explanation, Fit, FlowResult, OtherResult, PathResult,
    Spread,
};
pub use series::{FlowSeries, Series};
