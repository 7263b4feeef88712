//! The event queue: a binary heap with one entry for each pending event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A pending event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The FIFO has sent the packet at its head.
    Departure,
    /// The first packet on the wire arrives.
    Data,
    /// The first acknowledgement on its way back arrives.
    Ack,
}

const EVENTS: [Event; 3] = [Event::Departure, Event::Data, Event::Ack];
/// Low bits of a key that hold the event.
const BITS: u32 = 2;

/// Events in order of time, and at the same time in the order of [`Event`]. A key packs both into
/// one number, which compares in one instruction: 2^62 ns are 146 years.
#[derive(Default)]
pub(crate) struct Heap(BinaryHeap<Reverse<u64>>);

impl Heap {
    pub(crate) fn push(&mut self, at: u64, event: Event) {
        self.0.push(Reverse(at << BITS | event as u64));
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, Event)> {
        let Reverse(key) = self.0.pop()?;
        Some((key >> BITS, EVENTS[(key & ((1 << BITS) - 1)) as usize]))
    }
}
