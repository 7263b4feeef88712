//! Queueing delay and coupling of AQMs, for `docs/queues.md`.
//!
//! Each module computes the tables of one section, asserts the claims of the AQM's source, and
//! asserts that the document contains the same rows.
//!
//!     cargo test -p sojourn-sim --test aqm -- --nocapture
//!
//! prints them all; with `UPDATE=1` it writes them into the document, for review.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../queue/tests/common/mod.rs"]
mod rig;
#[path = "../laws/series.rs"]
mod series;
#[allow(dead_code, reason = "the laws use more of it")]
#[path = "../laws/table.rs"]
mod table;

mod coupling;
mod delays;
