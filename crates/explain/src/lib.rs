//! From a capture to the path, its twin, the cause of the delay and the cure.
//!
//! - [`observation`]: what was seen of each flow, in one form for every source.
pub mod observation;
pub mod path;
pub mod twin;
