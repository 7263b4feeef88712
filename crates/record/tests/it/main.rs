//! Tests of the crate's behaviour.

mod bounds;
mod format;
mod missing;
mod sentences;
mod stats;
