//! The tests of the scenario document, in one program: `cargo test -p sojourn-scenario NAME` runs the tests of a
//! module, or one test.

mod capacity_file;
mod changes;
mod escapes;
mod generated;
mod groups;
mod hosts;
mod mutations;
mod noise;
mod pieces;
mod ranges;
mod refusals;
mod resolved;
mod schema;
mod size;
mod sources;
