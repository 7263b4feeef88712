//! Links that reorder and duplicate: the wire's behaviour and the hosts' reactions.

#[path = "../common/mod.rs"]
mod common;
mod hosts;
mod observer;
mod wire;
