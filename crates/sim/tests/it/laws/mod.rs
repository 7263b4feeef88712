//! The simulator against published closed forms.
//!
//! Each module computes the tables of one section of `docs/fidelity.md`, asserts how far the
//! published and the simulated figures may differ, and asserts that the document contains the same
//! rows.
//!
//!     cargo test -p sojourn-sim laws -- --nocapture
//!
//! prints them all; with `UPDATE=1` it writes them into the document, for review.

mod codel;
mod cubic;
mod dctcp;
mod fluid;
mod fq_codel;
mod one_flow;
mod reno;
