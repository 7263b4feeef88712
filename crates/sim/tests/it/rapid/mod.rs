//! Rapid over a link: alone, beside constant traffic, and beside bursts, against the fluid model of
//! "Impact of Cross Traffic Burstiness on the Packet-scale Paradigm" (UNC TR11-007).
//!
//!     cargo test -p sojourn-sim rapid -- --nocapture
//!
//! prints the table of `docs/rapid.md`; with `UPDATE=1` it writes the table there.

mod alone;
mod available;
mod bursts;
mod dumbbell;
