//! Tests of the crate's behaviour.

mod bounds;
mod format;
mod missing;
mod picture;
mod sentences;
mod stats;
