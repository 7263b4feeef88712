//! The event queue: one entry for each thing that waits.

use sojourn_units::Instant;

/// What waits. Of two events at the same moment the one listed first here goes
/// first, and of the same kind the one with the lower index, so that order
/// depends on nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A scheduled change of a link (index: place in the timeline).
    Change,
    /// The packet at the head of a link's delay line arrives.
    Arrival,
    /// A link has sent a packet.
    Departure,
    /// A connection's timer.
    Timer,
    /// A connection's pacer.
    Pace,
    /// A flow's source.
    Source,
    /// Signals from bottlenecks to flows.
    Signal,
    /// A sample is due.
    Sample,
}

const KINDS: [Kind; 8] = [
    Kind::Change,
    Kind::Arrival,
    Kind::Departure,
    Kind::Timer,
    Kind::Pace,
    Kind::Source,
    Kind::Signal,
    Kind::Sample,
];

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) at: Instant,
    pub(crate) kind: Kind,
    pub(crate) index: u32,
}

impl Event {
    fn key(self) -> u128 {
        u128::from(self.at.0) << 64 | (self.kind as u128) << 32 | u128::from(self.index)
    }

    fn from_key(key: u128) -> Event {
        let kind = KINDS[(key >> 32) as usize & 0xff];
        Event { at: Instant((key >> 64) as u64), kind, index: key as u32 }
    }
}

/// A heap of four children a node: shallow, and a node's children share a
/// cache line. `pop` leaves a hole that the next `push` fills, since most
/// events schedule their successor.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: Vec<u128>,
    hole: bool,
}

impl EventQueue {
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, kind: Kind, index: usize) {
        if at == Instant::MAX {
            return;
        }
        let key = Event { at, kind, index: index as u32 }.key();
        if self.hole {
            self.hole = false;
            self.heap[0] = key;
            self.sift_down(0);
        } else {
            self.heap.push(key);
            self.sift_up(self.heap.len() - 1);
        }
    }

    /// Takes the earliest event that is not after `until`.
    #[inline]
    pub(crate) fn pop(&mut self, until: Instant) -> Option<Event> {
        self.close_hole();
        let event = Event::from_key(*self.heap.first()?);
        if event.at > until {
            return None;
        }
        self.hole = true;
        Some(event)
    }

    fn close_hole(&mut self) {
        if self.hole {
            self.hole = false;
            self.heap.swap_remove(0);
            if !self.heap.is_empty() {
                self.sift_down(0);
            }
        }
    }

    fn sift_up(&mut self, mut at: usize) {
        let key = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = key;
    }

    fn sift_down(&mut self, mut at: usize) {
        let (key, len) = (self.heap[at], self.heap.len());
        loop {
            let first = 4 * at + 1;
            let children = first..(first + 4).min(len);
            let Some(least) = children.min_by_key(|c| self.heap[*c]) else { break };
            if key <= self.heap[least] {
                break;
            }
            self.heap[at] = self.heap[least];
            at = least;
        }
        self.heap[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Whatever is pushed comes out once, in order.
        #[test]
        fn pops_in_order(operations in prop::collection::vec(prop::option::of((0_u64..50, 0_usize..9)), 1..300)) {
            let (mut queue, mut model) = (EventQueue::default(), BTreeSet::new());
            for operation in operations {
                match operation {
                    Some((at, index)) => {
                        let event = Event { at: Instant(at), kind: Kind::Timer, index: index as u32 };
                        if model.insert(event.key()) {
                            queue.push(event.at, event.kind, index);
                        }
                    }
                    None => prop_assert_eq!(queue.pop(Instant(40)).map(Event::key), {
                        let first = model.first().copied().filter(|k| Event::from_key(*k).at <= Instant(40));
                        first.inspect(|k| { model.remove(k); })
                    }),
                }
            }
        }
    }
}
