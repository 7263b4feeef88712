//! The simulator's links in real time, between devices that this process reads and writes.

pub(crate) mod bottleneck;
pub(crate) mod device;
pub(crate) mod links;
mod tun;
pub(crate) mod veth;
