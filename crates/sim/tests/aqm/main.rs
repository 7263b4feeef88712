//! How AQMs hold their queues, for `docs/queues.md`.
//!
//! Each module computes one section's tables, asserts what the AQM's source
//! promises, and that the document shows these very rows.
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
