//! The simulator against published closed forms.
//!
//! Each module computes the tables of one section of `docs/fidelity.md`, asserts how far the
//! published and the simulated figures may differ, and asserts that the document contains the same
//! rows.
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
