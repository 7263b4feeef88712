//! Tests of the stacks in virtual time.
#![cfg(all(feature = "host", feature = "noq", feature = "quinn"))]

mod common;
mod courses;
mod downloads;
mod faults;
#[path = "../../../scenario/tests/it/generated.rs"]
mod generated;
mod hostile;
mod limited;
mod programs;
mod refused;
#[path = "../../../sim/tests/it/table.rs"]
#[allow(dead_code, reason = "the simulator's tests use more of it")]
mod table;
mod variants;
#[path = "../../../sim/tests/it/watched.rs"]
#[allow(dead_code, reason = "the simulator's tests use more of it")]
mod watched;
