//! The tests of the closed forms, in one program: `cargo test -p sojourn-theory NAME` runs the tests of a
//! module, or one test.

mod capacity;
mod mitigations;
mod process;
mod rapid;
mod shared;
mod spike;
mod waits;
