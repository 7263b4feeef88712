//! Tests of the crate's behaviour.

mod bounds;
mod format;
mod sentences;
mod stats;
