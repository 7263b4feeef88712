//! The event queue: one entry for each thing that waits.

use sojourn_scenario::{KIND_BITS, index_bits, longest_run};
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

const KINDS: [Kind; 1 << KIND_BITS] = [
    Kind::Change,
    Kind::Arrival,
    Kind::Departure,
    Kind::Timer,
    Kind::Pace,
    Kind::Source,
    Kind::Signal,
    Kind::Sample,
];

/// The time of the event that is being dealt with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) now: Instant,
    /// Departures before this come before the event in the order of events.
    pub(crate) horizon: Instant,
}

impl Clock {
    /// At the start of a run.
    pub(crate) const START: Clock = Clock { now: Instant::ZERO, horizon: Instant::ZERO };

    /// At the next event. Where departures of the same moment came before, as
    /// they do before whatever arrives at once over a wire without delay, all do.
    #[inline]
    pub(crate) fn at(self, event: Event) -> Clock {
        let after = u64::from(event.kind >= Kind::Departure);
        Clock { now: event.at, horizon: self.horizon.max(Instant(event.at.0 + after)) }
    }

    /// After everything up to `end`.
    pub(crate) fn after(end: Instant) -> Clock {
        Clock { now: end, horizon: Instant(end.0.saturating_add(1)) }
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) at: Instant,
    pub(crate) kind: Kind,
    pub(crate) index: usize,
}

/// The time, the kind and the index of an event as one number, by which events
/// are ordered: one comparison in place of three.
#[derive(Clone, Copy, Debug)]
struct Layout {
    index_bits: u32,
}

impl Layout {
    #[inline]
    fn key(self, at: Instant, kind: Kind, index: usize) -> u64 {
        (at.0 << KIND_BITS | kind as u64) << self.index_bits | index as u64
    }

    #[inline]
    fn time(self, key: u64) -> Instant {
        Instant(key >> (KIND_BITS + self.index_bits))
    }

    #[inline]
    fn event(self, key: u64) -> Event {
        let kind = KINDS[(key >> self.index_bits) as usize & ((1 << KIND_BITS) - 1)];
        Event { at: self.time(key), kind, index: self.index(key) }
    }

    #[inline]
    fn index(self, key: u64) -> usize {
        (key & !(u64::MAX << self.index_bits)) as usize
    }
}

/// Children of a node.
const WIDTH: usize = 4;
/// What stands where no event is.
const NONE: u64 = u64::MAX;

/// The next arrival of each link, as a tournament: nearly all events are arrivals, and
/// each is followed by the next of the same link, so that a heap would only move it down
/// again. Every link has a place, and what is earlier of two goes up.
#[derive(Debug)]
struct Arrivals {
    /// Keys: the earliest is at place 1, those below the one at `at` are at `2 at` and
    /// `2 at + 1`, those of the links behind all others. Place 0 is not used.
    keys: Vec<u64>,
}

impl Arrivals {
    fn new(links: usize) -> Arrivals {
        Arrivals { keys: vec![NONE; 2 * links.next_power_of_two()] }
    }

    #[inline]
    fn first(&self) -> u64 {
        self.keys[1]
    }

    fn of(&self, link: usize) -> u64 {
        self.keys[self.keys.len() / 2 + link]
    }

    #[inline]
    fn set(&mut self, link: usize, mut key: u64) {
        let mut at = self.keys.len() / 2 + link;
        self.keys[at] = key;
        while at > 1 {
            key = key.min(self.keys[at ^ 1]);
            at /= 2;
            self.keys[at] = key;
        }
    }
}

/// Where there was an event that has been taken: one number, since each event asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hole(usize);

impl Hole {
    const NONE: Hole = Hole(usize::MAX);
    /// At the top of the heap.
    const TOP: Hole = Hole(usize::MAX - 1);

    /// The arrival of this link.
    fn of_arrival(link: usize) -> Hole {
        Hole(link)
    }
}

/// The arrivals of links, and a heap of all else with four children a node: shallow, and
/// a node's children share a cache line. `pop` leaves a hole, since most events schedule
/// their successor: the next arrival of the same link fills it, or the next event that is
/// none.
#[derive(Debug)]
pub(crate) struct EventQueue {
    arrivals: Arrivals,
    top: u64,
    /// The children of each node, counted from the top, level by level; filled
    /// up with [`NONE`].
    children: Vec<[u64; WIDTH]>,
    len: usize,
    hole: Hole,
    end: Instant,
    layout: Layout,
}

impl EventQueue {
    /// For events up to `end`, of so many links, and of connections or flows: up to
    /// `things` of each.
    pub(crate) fn new(end: Instant, links: usize, things: usize) -> EventQueue {
        assert!(end.0 <= longest_run(things).0, "the scenario was validated");
        EventQueue {
            arrivals: Arrivals::new(links),
            top: NONE,
            children: Vec::new(),
            len: 0,
            hole: Hole::NONE,
            end,
            layout: Layout { index_bits: index_bits(things) },
        }
    }

    /// Adds the next arrival of a link, of which there is none yet, unless it would be
    /// after the end.
    #[inline]
    pub(crate) fn push_arrival(&mut self, at: Instant, link: usize) {
        if at > self.end {
            return;
        }
        if self.hole == Hole::of_arrival(link) {
            self.hole = Hole::NONE;
        } else {
            debug_assert_eq!(self.arrivals.of(link), NONE, "a link has one next arrival");
        }
        self.arrivals.set(link, self.layout.key(at, Kind::Arrival, link));
    }

    /// The next arrival of a link comes earlier than was known, or there was none. Packets that
    /// overtake do that.
    pub(crate) fn advance_arrival(&mut self, at: Instant, link: usize) {
        if at > self.end {
            return;
        }
        if self.hole == Hole::of_arrival(link) {
            self.hole = Hole::NONE;
        }
        let key = self.layout.key(at, Kind::Arrival, link);
        debug_assert!(key <= self.arrivals.of(link), "the event of another arrival");
        self.arrivals.set(link, key);
    }

    /// Adds an event that is no arrival, unless it would be after the end.
    #[inline(never)]
    pub(crate) fn push(&mut self, at: Instant, kind: Kind, index: usize) {
        debug_assert_ne!(kind, Kind::Arrival, "arrivals have a place of their own");
        if at > self.end {
            return;
        }
        let key = self.layout.key(at, kind, index);
        if self.hole == Hole::TOP {
            self.hole = Hole::NONE;
            self.sift_down(key);
        } else {
            self.append(key);
        }
    }

    /// Forgets all that waits, and takes no more.
    #[cold]
    pub(crate) fn stop(&mut self) {
        self.arrivals.keys.fill(NONE);
        (self.top, self.len, self.hole) = (NONE, 0, Hole::NONE);
        self.children.clear();
        self.end = Instant::ZERO;
    }

    /// Takes the earliest event that is not after `until`.
    #[inline]
    pub(crate) fn pop(&mut self, until: Instant) -> Option<Event> {
        if self.hole != Hole::NONE {
            self.close_hole();
        }
        let arrival = self.arrivals.first();
        let key = arrival.min(self.top);
        if key == NONE || self.layout.time(key) > until {
            return None;
        }
        if key == arrival {
            let (at, index) = (self.layout.time(key), self.layout.index(key));
            self.hole = Hole::of_arrival(index);
            return Some(Event { at, kind: Kind::Arrival, index });
        }
        self.hole = Hole::TOP;
        Some(self.layout.event(key))
    }

    #[inline(never)]
    fn close_hole(&mut self) {
        let hole = std::mem::replace(&mut self.hole, Hole::NONE);
        if hole != Hole::TOP {
            return self.arrivals.set(hole.0, NONE);
        }
        self.len -= 1;
        let last = std::mem::replace(self.node(self.len), NONE);
        if self.len % WIDTH == 1 {
            self.children.pop();
        }
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    /// Apart: most events are arrivals, or fill the hole that the last one left.
    #[inline(never)]
    fn append(&mut self, key: u64) {
        let mut at = self.len;
        self.len += 1;
        if at % WIDTH == 1 {
            self.children.push([NONE; WIDTH]);
        }
        while at > 0 {
            let parent = *self.node((at - 1) / WIDTH);
            if parent <= key {
                break;
            }
            *self.node(at) = parent;
            at = (at - 1) / WIDTH;
        }
        *self.node(at) = key;
    }

    /// Puts `key` at the top, or below what is earlier.
    #[inline]
    fn sift_down(&mut self, key: u64) {
        let mut at = 0;
        while let Some(children) = self.children.get(at) {
            let left = usize::from(children[1] < children[0]);
            let right = 2 + usize::from(children[3] < children[2]);
            let least = if children[right] < children[left] { right } else { left };
            let child = children[least];
            if key <= child {
                break;
            }
            *self.node(at) = child;
            at = WIDTH * at + 1 + least;
        }
        *self.node(at) = key;
    }

    #[inline]
    fn node(&mut self, at: usize) -> &mut u64 {
        match at.checked_sub(1) {
            Some(below) => &mut self.children[below / WIDTH][below % WIDTH],
            None => &mut self.top,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Whatever is pushed comes out once, in order: a link has one arrival at a time.
        #[test]
        fn pops_in_order(
            operations in prop::collection::vec(
                prop::option::of((0_u64..50, 0_usize..9, prop::bool::ANY)),
                1..300,
            ),
        ) {
            let (mut queue, mut model) = (EventQueue::new(Instant(40), 5, 9), BTreeSet::new());
            for operation in operations {
                match operation {
                    Some((at, link, true)) if link < 5 => {
                        let waits = model.iter().any(|(_, kind, l)| (*kind, *l) == (Kind::Arrival, link));
                        if !waits {
                            queue.push_arrival(Instant(at), link);
                            model.extend((at <= 40).then_some((at, Kind::Arrival, link)));
                        }
                    }
                    Some((at, index, _)) => {
                        let fresh = at <= 40 && model.insert((at, Kind::Timer, index));
                        if fresh || at > 40 {
                            queue.push(Instant(at), Kind::Timer, index);
                        }
                    }
                    None => {
                        let first = model.first().copied().filter(|(at, ..)| *at <= 30);
                        first.inspect(|k| { model.remove(k); });
                        let expected = first.map(|(at, kind, index)| Event {
                            at: Instant(at), kind, index,
                        });
                        prop_assert_eq!(queue.pop(Instant(30)), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn kinds_go_in_their_order() {
        let mut queue = EventQueue::new(Instant(10), 3, 3);
        KINDS.iter().rev().for_each(|kind| match kind {
            Kind::Arrival => queue.push_arrival(Instant(7), 2),
            kind => queue.push(Instant(7), *kind, 2),
        });
        queue.push(Instant(7), Kind::Timer, 1);
        let popped: Vec<_> = std::iter::from_fn(|| queue.pop(Instant(10))).collect();
        let kinds: Vec<Kind> = popped.iter().map(|event| event.kind).collect();
        assert!(kinds.is_sorted());
        assert_eq!((popped.len(), popped[3].index, popped[4].index), (9, 1, 2));
    }

    /// The greatest number that stands for an event is not that for none.
    #[test]
    fn the_longest_run_has_events_to_its_end() {
        for things in [1, 1000, 100_000] {
            let end = Instant::ZERO + longest_run(things);
            let last = Event { at: end, kind: Kind::Sample, index: (1 << index_bits(things)) - 1 };
            let mut queue = EventQueue::new(end, 1, things);
            queue.push(last.at, last.kind, last.index);
            assert_eq!(queue.pop(end), Some(last));
        }
    }
}
