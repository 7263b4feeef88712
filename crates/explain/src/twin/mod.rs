//! The twin: a scenario that behaves as the observation.

pub mod distance;
pub mod features;
pub mod plan;
pub mod run;
pub mod synthesis;
mod tap;
