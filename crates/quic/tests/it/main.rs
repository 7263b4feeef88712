//! Tests of the stacks in virtual time.
#![cfg(all(feature = "endpoint", feature = "noq", feature = "quinn"))]

mod common;
mod downloads;
mod faults;
mod gaps;
mod hostile;
mod limited;
mod programs;
mod refused;
mod variants;
#[path = "../../../sim/tests/it/watched.rs"]
#[allow(dead_code, reason = "the simulator's tests use more of it")]
mod watched;
