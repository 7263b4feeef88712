//! Tests of the stacks in virtual time.
#![cfg(all(feature = "host", feature = "noq", feature = "quinn"))]

mod common;
mod downloads;
mod faults;
mod hostile;
mod programs;
mod refused;
mod variants;
