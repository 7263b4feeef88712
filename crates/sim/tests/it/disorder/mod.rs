//! Links that reorder and duplicate: the wire's behaviour and the hosts' reactions.

mod hosts;
mod observer;
mod wire;
