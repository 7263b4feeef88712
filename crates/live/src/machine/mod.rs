//! The machine of a run: its namespaces, addresses, clock, memory and threads.

pub(crate) mod addresses;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod namespace;
pub(crate) mod netlink;
pub(crate) mod stolen;
pub(crate) mod sys;
pub(crate) mod threads;

pub(crate) use addresses::{IpVersion, Side};
pub(crate) use namespace::Namespace;
pub(crate) use netlink::Netlink;
