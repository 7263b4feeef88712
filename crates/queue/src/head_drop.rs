//! Head-drop: one FIFO that makes room by dropping its oldest packets.
//!
//! The sender detects a drop at the head sooner than one at the tail, by the queueing
//! delay.

use sojourn_units::Instant;

use crate::contract::{Backlog, DropReason, Drops, Info, Packet, Setup};
use crate::fifo::{Buffer, FifoPolicy, FifoQueue};
use crate::slow_path::{SlowPath, drop_full};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "head_drop",
    title: "Head-drop: one FIFO that drops its oldest packets to make room for new ones",
    source: "Lakshman, Neidhardt, Ott: The drop from front strategy in TCP and in TCP over \
             ATM, INFOCOM 1996; pfifo_head_drop in Linux",
    // Linux's default transmit queue length.
    default_packets: 1000,
    ..Info::BASE
};

/// A FIFO that drops from its head.
pub(crate) type HeadDrop<P> = FifoQueue<P, HeadDropPolicy>;

/// Drops at the head.
pub struct HeadDropPolicy;

/// Drops from the head until `packet` fits.
#[cold]
#[inline(never)]
fn make_room_for<P: Packet>(buffer: &mut Buffer<P>, packet: &SlowPath<P>, drops: Drops<'_, P>) {
    while !buffer.admits(packet.0.size())
        && let Some(oldest) = buffer.fifo.pop()
    {
        drops(oldest, DropReason::Full);
    }
}

impl<P: Packet> FifoPolicy<P> for HeadDropPolicy {
    fn new(_setup: &Setup) -> HeadDropPolicy {
        HeadDropPolicy
    }

    #[inline(always)]
    fn enqueue(&mut self, buffer: &mut Buffer<P>, now: Instant, packet: P, drops: Drops<'_, P>) {
        if !buffer.admits(packet.size()) {
            // A packet larger than the whole buffer must not drop other packets.
            if !buffer.limit.admits(Backlog::default(), packet.size()) {
                return drop_full(&SlowPath(packet), drops);
            }
            make_room_for(buffer, &SlowPath(packet), drops);
        }
        buffer.fifo.push(now, packet);
    }
}
