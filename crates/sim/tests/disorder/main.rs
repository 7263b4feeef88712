//! Links that reorder and duplicate: what the wire does, and what the hosts make of it.

#[path = "../common/mod.rs"]
mod common;
mod hosts;
mod observer;
mod wire;
