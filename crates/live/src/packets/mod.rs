//! Packets between the hosts' devices and the links: their headers, super-packets and bytes.

pub(crate) mod checksum;
pub(crate) mod coalesce;
pub(crate) mod offload;
pub(crate) mod packet;
pub(crate) mod port;
pub(crate) mod segment;
pub(crate) mod slab;
