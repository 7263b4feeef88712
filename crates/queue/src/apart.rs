//! Keeping packets out of memory until they wait.
//!
//! A packet that comes in is made of a few numbers, in registers. It should be
//! written once: where it waits. But what may be handed to a function that stands
//! apart must be in memory before, in small pieces, and the copy to where it waits
//! would have to wait for them (store forwarding): ten nanoseconds a packet. So
//! what goes such a way, which is rare, gets a copy of its own.

use crate::contract::{DropReason, Packet};

/// A packet in a place of its own.
pub(crate) struct Apart<P>(pub(crate) P);

/// Drops what does not fit.
#[cold]
#[inline(never)]
pub(crate) fn refuse<P: Packet>(packet: &Apart<P>, drops: &mut dyn FnMut(P, DropReason)) {
    drops(packet.0, DropReason::Full);
}
