//! Queueing delay and coupling of AQMs, for `docs/queues.md`.
//!
//! Each module computes the tables of one section, asserts the claims of the AQM's source, and
//! asserts that the document contains the same rows.
//!
//!     cargo test -p sojourn-sim aqm -- --nocapture
//!
//! prints them all; with `UPDATE=1` it writes them into the document, for review.

mod coupling;
mod delays;
