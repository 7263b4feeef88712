//! The event queue, with one entry for each pending event.

use sojourn_scenario::{KIND_BITS, index_bits, longest_run};
use sojourn_units::Instant;

/// The kind of an event. Simultaneous events run in the order of this list, and events of the same
/// kind by index. The order depends on no other state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A scheduled change of a link (index: entry of the timeline).
    Change,
    /// Arrival of the first packet in a link's delay line.
    Arrival,
    /// A link has finished sending a packet.
    Departure,
    /// A connection's timer.
    Timer,
    /// A connection's pacer.
    Pace,
    /// A flow's source.
    Source,
    /// Signals and announcements from bottlenecks to flows.
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

/// The time of the current event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) now: Instant,
    /// Departures before this time precede the current event.
    pub(crate) horizon: Instant,
}

impl Clock {
    /// The start of a run.
    pub(crate) const START: Clock = Clock { now: Instant::ZERO, horizon: Instant::ZERO };

    /// The time of the next event. Departures at the same moment precede it if earlier events of
    /// that moment did, as they do for arrivals over a wire without delay.
    #[inline]
    pub(crate) fn at(self, event: Event) -> Clock {
        debug_assert!(event.at >= self.now, "time goes back");
        let after = u64::from(event.kind >= Kind::Departure);
        Clock { now: event.at, horizon: self.horizon.max(Instant(event.at.0 + after)) }
    }

    /// The time after all events up to `end`.
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

/// Layout of an event's time, kind and index in one number, by which events are ordered. One
/// comparison replaces three.
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
/// Key of an empty slot.
const NONE: u64 = u64::MAX;

/// The next arrival of each link, as a tournament tree. Almost all events are arrivals, and the
/// next arrival of the same link follows each, which a heap would have to sift down again. Every
/// link has a leaf, and the earlier of two moves up.
#[derive(Debug)]
struct Arrivals {
    /// Keys: the earliest is at index 1, and the children of index `at` are at `2 at` and `2 at +
    /// 1`. The leaves are at the end. Index 0 is not used.
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

/// Vacant slot left by the last popped event. One number, since each event reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hole(usize);

impl Hole {
    const NONE: Hole = Hole(usize::MAX);
    /// The top of the heap.
    const TOP: Hole = Hole(usize::MAX - 1);

    /// The slot of this link's arrival.
    fn of_arrival(link: usize) -> Hole {
        Hole(link)
    }
}

/// The arrivals of links, and a heap with four children a node for other events: it is shallow, and
/// a node's children share a cache line. `pop` leaves a vacant slot, since most events schedule
/// their successor, which fills it.
#[derive(Debug)]
pub(crate) struct EventQueue {
    arrivals: Arrivals,
    top: u64,
    /// The children of each node, level by level from the top, padded with [`NONE`].
    children: Vec<[u64; WIDTH]>,
    len: usize,
    hole: Hole,
    end: Instant,
    layout: Layout,
}

impl EventQueue {
    /// An event queue for events up to `end`, for `links` links, and for up to `things` connections
    /// and as many flows.
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

    /// Adds the next arrival of a link, which must not have one yet. Ignores it after the end.
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

    /// Sets or brings forward the next arrival of a link. Needed if packets overtake each other.
    pub(crate) fn advance_arrival(&mut self, at: Instant, link: usize) {
        if at > self.end {
            return;
        }
        let key = self.layout.key(at, Kind::Arrival, link);
        if self.hole == Hole::of_arrival(link) {
            self.hole = Hole::NONE;
        } else {
            debug_assert!(key <= self.arrivals.of(link), "the event of another arrival");
        }
        self.arrivals.set(link, key);
    }

    /// Adds an event other than an arrival. Ignores it after the end.
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

    /// Accepts events up to `end`, later than before.
    pub(crate) fn extend(&mut self, end: Instant) {
        self.end = self.end.max(end);
    }

    /// Removes all events, and accepts no more.
    #[cold]
    pub(crate) fn stop(&mut self) {
        self.arrivals.keys.fill(NONE);
        (self.top, self.len, self.hole) = (NONE, 0, Hole::NONE);
        self.children.clear();
        self.end = Instant::ZERO;
    }

    /// Time of the earliest event; [`Instant::MAX`] without events.
    pub(crate) fn next_at(&mut self) -> Instant {
        if self.hole != Hole::NONE {
            self.close_hole();
        }
        match self.arrivals.first().min(self.top) {
            NONE => Instant::MAX,
            key => self.layout.time(key),
        }
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

    /// Out of line: most events are arrivals, or fill the vacant slot.
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

    /// Inserts `key` at the top and moves it below earlier keys.
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
        /// Every pushed event is popped once, in order. A link has one arrival at a time.
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

    /// The greatest key of an event differs from the key of an empty slot.
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
