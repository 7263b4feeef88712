//! Tests of the stacks in virtual time.
#![cfg(feature = "host")]

mod common;
mod downloads;
mod faults;
#[path = "../../../scenario/tests/it/generated.rs"]
mod generated;
mod refused;
#[path = "../../../sim/tests/it/table.rs"]
#[allow(dead_code, reason = "the simulator's tests use more of it")]
mod table;
