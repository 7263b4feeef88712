//! Rapid over a link: alone, beside constant traffic, and beside bursts, against the fluid model of
//! "Impact of Cross Traffic Burstiness on the Packet-scale Paradigm" (UNC TR11-007).
//!
//!     cargo test -p sojourn-sim --test rapid -- --nocapture
//!
//! prints the table of `docs/rapid.md`; with `UPDATE=1` it writes the table there.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/series.rs"]
mod series;
#[path = "../laws/table.rs"]
#[allow(dead_code)]
mod table;

mod alone;
mod available;
mod bursts;
mod dumbbell;
