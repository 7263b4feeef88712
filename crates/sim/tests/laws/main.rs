//! Closed forms that others derived, held against the simulator.
//!
//! Each module computes one section's tables of `docs/fidelity.md`, asserts how
//! far theirs and ours may differ, and that the document shows these very rows.
//!
//!     cargo test -p sojourn-sim --test laws -- --nocapture
//!
//! prints them all; with `UPDATE=1` it writes them into the document, for review.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../queue/tests/common/mod.rs"]
mod rig;

mod codel;
mod cubic;
mod dctcp;
mod fluid;
mod fq_codel;
mod one_flow;
mod reno;
mod series;
mod table;
