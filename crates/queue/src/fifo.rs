//! The FIFO with a byte count that most disciplines use, and queues that consist of one FIFO.

use sojourn_units::ring::RingBuffer;
use sojourn_units::{Bytes, Instant};

use crate::contract::{Backlog, DropReason, Drops, Limit, Packet, Queue, Setup};
use crate::slow_path::{SlowPath, drop_full};

/// Packets per block. Most disciplines have one queue per link, and hardware prefetches
/// adjacent packets. A queue that never held a full block allocates only its maximum
/// length, so that FQ-CoDel's thousand queues stay small.
const BLOCK: usize = 512;

/// Packets in order of arrival. Allocates no memory until the first packet.
pub struct Fifo<P> {
    packets: RingBuffer<P, BLOCK>,
    bytes: Bytes,
}

impl<P: Packet> Fifo<P> {
    pub(crate) fn new() -> Fifo<P> {
        Fifo { packets: RingBuffer::default(), bytes: Bytes::ZERO }
    }

    /// Appends `packet` and stamps it with `now`, the start of its sojourn time.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Instant, mut packet: P) {
        self.bytes += packet.size();
        packet.set_enqueued_at(now);
        self.packets.push(packet);
    }

    /// Removes the oldest packet.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop()?;
        self.bytes -= packet.size();
        Some(packet)
    }

    /// The oldest packet.
    #[inline]
    pub(crate) fn first(&self) -> Option<&P> {
        self.packets.first()
    }

    /// Drops the oldest packet as [`DropReason::Full`].
    pub(crate) fn drop_first(&mut self, drops: Drops<'_, P>) {
        if let Some(packet) = self.pop() {
            drops(packet, DropReason::Full);
        }
    }

    /// Size of the oldest packet.
    #[inline]
    pub(crate) fn head_size(&self) -> Option<Bytes> {
        self.packets.first().map(Packet::size)
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}

/// A FIFO with a limit.
pub struct Buffer<P> {
    pub(crate) fifo: Fifo<P>,
    pub(crate) limit: Limit,
}

impl<P: Packet> Buffer<P> {
    /// Whether a packet of `size` fits.
    #[inline(always)]
    pub(crate) fn admits(&self, size: Bytes) -> bool {
        self.limit.admits(self.fifo.backlog(), size)
    }
}

/// A discipline's rules over one FIFO. By default they are those of drop-tail.
pub trait FifoPolicy<P: Packet>: Send {
    /// Reads the queue's parameters.
    fn new(setup: &Setup) -> Self;

    /// See [`Queue::enqueue`].
    #[inline(always)]
    fn enqueue(&mut self, buffer: &mut Buffer<P>, now: Instant, packet: P, drops: Drops<'_, P>) {
        if !buffer.admits(packet.size()) {
            return drop_full(&SlowPath(packet), drops);
        }
        buffer.fifo.push(now, packet);
    }

    /// See [`Queue::dequeue`].
    #[inline(always)]
    fn dequeue(
        &mut self,
        buffer: &mut Buffer<P>,
        _now: Instant,
        _drops: Drops<'_, P>,
    ) -> Option<P> {
        buffer.fifo.pop()
    }

    /// Follows a drop by [`Queue::make_room`], which leaves `backlog`.
    fn after_drop(&mut self, _now: Instant, _backlog: Backlog) {}
}

/// A queue that consists of one FIFO.
pub struct FifoQueue<P, F> {
    buffer: Buffer<P>,
    policy: F,
}

impl<P: Packet, F: FifoPolicy<P>> FifoQueue<P, F> {
    pub(crate) fn new(setup: &Setup) -> FifoQueue<P, F> {
        let buffer = Buffer { fifo: Fifo::new(), limit: setup.limit };
        FifoQueue { buffer, policy: F::new(setup) }
    }
}

impl<P: Packet + Send, F: FifoPolicy<P>> Queue<P> for FifoQueue<P, F> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: P, drops: Drops<'_, P>) {
        self.policy.enqueue(&mut self.buffer, now, packet, drops);
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Instant, drops: Drops<'_, P>) -> Option<P> {
        self.policy.dequeue(&mut self.buffer, now, drops)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.buffer.fifo.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.buffer.limit = limit;
    }

    fn make_room(&mut self, now: Instant, drops: Drops<'_, P>) {
        self.buffer.fifo.drop_first(drops);
        self.policy.after_drop(now, self.buffer.fifo.backlog());
    }

    fn head_size(&self) -> Option<Bytes> {
        self.buffer.fifo.head_size()
    }
}
