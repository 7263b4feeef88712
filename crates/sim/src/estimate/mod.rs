//! Estimates before a run: memory, and whether it draws at random.

pub(crate) mod capacity;
mod memory;

pub use memory::{estimate, is_random, kept};
