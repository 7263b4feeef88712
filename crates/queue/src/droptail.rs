//! Drop-tail: one FIFO that drops packets that do not fit.

use crate::contract::{Info, Packet, Setup};
use crate::fifo::{FifoPolicy, FifoQueue};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "droptail",
    title: "Drop-tail: one FIFO that drops packets that do not fit",
    source: "RFC 7567 section 1",
    // Linux's default transmit queue length.
    default_packets: 1000,
    ..Info::BASE
};

/// A drop-tail FIFO.
pub(crate) type DropTail<P> = FifoQueue<P, DropTailPolicy>;

/// The rules of any [`FifoPolicy`].
pub struct DropTailPolicy;

impl<P: Packet> FifoPolicy<P> for DropTailPolicy {
    fn new(_setup: &Setup) -> DropTailPolicy {
        DropTailPolicy
    }
}
