//! A ring buffer in blocks, for packets that are queued, on a wire, or unacknowledged. This is a
//! data structure. A network device's transmit ring is part of the simulator.
//!
//! `VecDeque` doubles its buffer: a million packets in flight may occupy memory for two
//! million, and the program touches all of it in turn. A ring buffer in blocks needs at most three
//! blocks more than its contents: the used part of the first, the free part of the last,
//! and a spare one. Blocks never move, except the very first, which grows to its size. Both
//! ends are plain vectors, because almost all operations happen there.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// A FIFO of small plain values in blocks of `BLOCK`, with access by position. Use large
/// blocks if there are few buffers, since hardware prefetches adjacent values. Use small
/// blocks if there are many buffers, to save memory.
///
/// ```
/// let mut ring = sojourn_units::ring::RingBuffer::<u64, 64>::default();
/// (0..200).for_each(|value| ring.push(value));
/// assert_eq!((ring.pop(), ring.len(), ring.get(99)), (Some(0), 199, Some(&100)));
/// ```
#[derive(Clone, Debug)]
pub struct RingBuffer<T, const BLOCK: usize> {
    /// The oldest block, whose first `taken` values have left.
    front: Vec<T>,
    taken: usize,
    /// Full blocks between `front` and `back`.
    middle: VecDeque<Vec<T>>,
    /// The newest block.
    back: Vec<T>,
    spare: Vec<T>,
    len: usize,
}

impl<T, const BLOCK: usize> Default for RingBuffer<T, BLOCK> {
    fn default() -> RingBuffer<T, BLOCK> {
        const { assert!(BLOCK > 0, "a block holds something") };
        RingBuffer {
            front: Vec::new(),
            taken: 0,
            middle: VecDeque::new(),
            back: Vec::new(),
            spare: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Copy, const BLOCK: usize> RingBuffer<T, BLOCK> {
    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a value. Do not modify a value right after pushing it, nor push one that was
    /// just written to memory in pieces: that stalls on store forwarding.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if self.back.len() == BLOCK {
            self.begin_block();
        }
        self.len += 1;
        self.back.push(value);
    }

    /// Removes the first value.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        if self.taken == self.front.len() {
            self.next_block();
        }
        let value = *self.front.get(self.taken)?;
        (self.taken, self.len) = (self.taken + 1, self.len - 1);
        Some(value)
    }

    /// The first value.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        match self.front.get(self.taken) {
            Some(first) => Some(first),
            None => self.get(0),
        }
    }

    /// The last value.
    #[inline]
    pub fn last(&self) -> Option<&T> {
        self.back.last().or_else(|| self.get(self.len.checked_sub(1)?))
    }

    /// Removes the last value.
    pub fn pop_last(&mut self) -> Option<T> {
        let value = *self.last()?;
        self.len -= 1;
        if self.back.is_empty()
            && let Some(block) = self.middle.pop_back()
        {
            self.spare = std::mem::replace(&mut self.back, block);
        }
        let block = if self.back.is_empty() { &mut self.front } else { &mut self.back };
        block.pop();
        Some(value)
    }

    /// The value at `place`, counted from the first.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&T> {
        let left = self.front.len() - self.taken;
        if place < left {
            return self.front.get(self.taken + place);
        }
        let place = place - left;
        match self.middle.get(place / BLOCK) {
            Some(block) => block.get(place % BLOCK),
            None => self.back.get(place - self.middle.len() * BLOCK),
        }
    }

    /// The value at `place`, counted from the first, for modification.
    #[inline]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        let left = self.front.len() - self.taken;
        if place < left {
            return self.front.get_mut(self.taken + place);
        }
        let place = place - left;
        let full = self.middle.len() * BLOCK;
        match self.middle.get_mut(place / BLOCK) {
            Some(block) => block.get_mut(place % BLOCK),
            None => self.back.get_mut(place - full),
        }
    }

    /// Removes the first `count` values, or all if there are fewer.
    #[inline]
    pub fn skip(&mut self, mut count: usize) {
        count = count.min(self.len);
        self.len -= count;
        while count > self.front.len() - self.taken {
            count -= self.front.len() - self.taken;
            self.next_block();
        }
        self.taken += count;
    }

    /// Starts a new block when the one at the back is full.
    #[cold]
    fn begin_block(&mut self) {
        let mut next = std::mem::take(&mut self.spare);
        next.reserve_exact(BLOCK);
        self.middle.push_back(std::mem::replace(&mut self.back, next));
    }

    /// Moves to the next block when the front one is used up.
    #[cold]
    fn next_block(&mut self) {
        self.front.clear();
        self.taken = 0;
        match self.middle.pop_front() {
            Some(next) => self.spare = std::mem::replace(&mut self.front, next),
            None => std::mem::swap(&mut self.front, &mut self.back),
        }
    }
}

impl<T: Copy, const BLOCK: usize> Index<usize> for RingBuffer<T, BLOCK> {
    type Output = T;
    #[inline]
    fn index(&self, place: usize) -> &T {
        self.get(place).expect("a place in the ring")
    }
}

impl<T: Copy, const BLOCK: usize> IndexMut<usize> for RingBuffer<T, BLOCK> {
    #[inline]
    fn index_mut(&mut self, place: usize) -> &mut T {
        self.get_mut(place).expect("a place in the ring")
    }
}

/// Runs the example of README.md as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::RingBuffer;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// An operation, and its repetitions.
    type Operation = (u8, usize);

    fn check<const BLOCK: usize>(operations: &[Operation]) -> Result<(), TestCaseError> {
        let (mut ring, mut model) = (RingBuffer::<u64, BLOCK>::default(), VecDeque::new());
        let mut next = 0;
        for &(what, count) in operations {
            match what {
                0..=2 => (0..count).for_each(|_| {
                    ring.push(next);
                    model.push_back(next);
                    next += 1;
                }),
                3 => (0..count).for_each(|_| assert_eq!(ring.pop(), model.pop_front())),
                4 => (0..count).for_each(|_| assert_eq!(ring.pop_last(), model.pop_back())),
                _ => {
                    ring.skip(count);
                    model.drain(..count.min(model.len()));
                }
            }
            prop_assert_eq!((ring.len(), ring.is_empty()), (model.len(), model.is_empty()));
            prop_assert_eq!((ring.first(), ring.last()), (model.front(), model.back()));
            prop_assert_eq!(ring.get(count), model.get(count));
            if let Some(value) = ring.get_mut(count / 2) {
                *value += 1000;
                model[count / 2] += 1000;
            }
        }
        prop_assert_eq!(std::iter::from_fn(|| ring.pop()).collect::<VecDeque<_>>(), model);
        Ok(())
    }

    proptest! {
        /// The ring agrees with the standard library's deque for any block size.
        #[test]
        fn agrees_with_a_deque(
            operations in prop::collection::vec((0_u8..6, 1_usize..300), 1..200),
        ) {
            check::<1>(&operations)?;
            check::<3>(&operations)?;
            check::<64>(&operations)?;
        }
    }
}
