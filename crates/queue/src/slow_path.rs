//! Avoids store-forwarding stalls on arriving packets.
//!
//! An arriving packet is a few numbers in registers, and the fast path writes it to memory
//! once, into its queue. A function that is not inlined takes the packet by reference. Its
//! few small stores then have to finish before the copy into the queue can load it (store
//! forwarding), which costs 10 ns a packet. The rare slow path therefore gets its own copy.

use crate::contract::{DropReason, Drops, Packet};

/// A copy of a packet in memory, for functions that are not inlined.
pub(crate) struct SlowPath<P>(pub(crate) P);

/// Drops a packet that does not fit into the buffer.
#[cold]
#[inline(never)]
pub(crate) fn drop_full<P: Packet>(packet: &SlowPath<P>, drops: Drops<'_, P>) {
    drops(packet.0, DropReason::Full);
}
