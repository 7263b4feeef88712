//! Rapid over a link: alone, beside constant traffic, and beside bursts, against the fluid model of
//! "Impact of Cross Traffic Burstiness on the Packet-scale Paradigm" (UNC TR11-007).

mod alone;
mod available;
mod bursts;
mod dumbbell;
