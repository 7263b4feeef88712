//! First-in-first-out rings in blocks: for packets that wait, that are on a
//! wire, or that are not acknowledged yet.
//!
//! `VecDeque` doubles: a million packets in flight may hold memory for two
//! million, and all of it is touched in turn. A ring in blocks holds what it
//! needs and up to three blocks more: what has left of the first, what is free of
//! the last, and a spare one. Blocks never move, but for the very first, which
//! grows to its size. The ends, where all the work is, are plain vectors.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// Small plain values, first in first out, each at its place behind the first, in
/// blocks of `BLOCK`: large ones where there are few rings, since what lies side by
/// side is fetched ahead; small ones where there are many, for the memory.
///
/// ```
/// let mut ring = sojourn_ring::Ring::<u64, 64>::default();
/// (0..200).for_each(|value| ring.push(value));
/// assert_eq!((ring.pop(), ring.len(), ring.get(99)), (Some(0), 199, Some(&100)));
/// ```
#[derive(Clone, Debug)]
pub struct Ring<T, const BLOCK: usize> {
    /// The oldest values, of which `gone` have left.
    front: Vec<T>,
    gone: usize,
    /// Full blocks between.
    middle: VecDeque<Vec<T>>,
    /// The newest values.
    back: Vec<T>,
    spare: Vec<T>,
    len: usize,
}

impl<T, const BLOCK: usize> Default for Ring<T, BLOCK> {
    fn default() -> Ring<T, BLOCK> {
        const { assert!(BLOCK > 0, "a block holds something") };
        Ring {
            front: Vec::new(),
            gone: 0,
            middle: VecDeque::new(),
            back: Vec::new(),
            spare: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Copy, const BLOCK: usize> Ring<T, BLOCK> {
    /// How many values there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a value behind all others. Let it be complete: what changes it there a moment
    /// later, or copies it from a place where it was just written in pieces, has to wait
    /// for these (store forwarding).
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if self.back.len() == BLOCK {
            self.begin_block();
        }
        self.len += 1;
        self.back.push(value);
    }

    /// Takes the first value.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        if self.gone == self.front.len() {
            self.next_block();
        }
        let value = *self.front.get(self.gone)?;
        (self.gone, self.len) = (self.gone + 1, self.len - 1);
        Some(value)
    }

    /// The first value.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        match self.front.get(self.gone) {
            Some(first) => Some(first),
            None => self.get(0),
        }
    }

    /// The last value.
    #[inline]
    pub fn last(&self) -> Option<&T> {
        self.back.last().or_else(|| self.get(self.len.checked_sub(1)?))
    }

    /// Takes the last value.
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

    /// The value at `place` behind the first.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&T> {
        let left = self.front.len() - self.gone;
        if place < left {
            return self.front.get(self.gone + place);
        }
        let place = place - left;
        match self.middle.get(place / BLOCK) {
            Some(block) => block.get(place % BLOCK),
            None => self.back.get(place - self.middle.len() * BLOCK),
        }
    }

    /// The value at `place` behind the first, to change it.
    #[inline]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        let left = self.front.len() - self.gone;
        if place < left {
            return self.front.get_mut(self.gone + place);
        }
        let place = place - left;
        let full = self.middle.len() * BLOCK;
        match self.middle.get_mut(place / BLOCK) {
            Some(block) => block.get_mut(place % BLOCK),
            None => self.back.get_mut(place - full),
        }
    }

    /// Lets the first `count` values go, or all where there are fewer.
    #[inline]
    pub fn skip(&mut self, mut count: usize) {
        count = count.min(self.len);
        self.len -= count;
        while count > self.front.len() - self.gone {
            count -= self.front.len() - self.gone;
            self.next_block();
        }
        self.gone += count;
    }

    /// The block at the back is full.
    #[cold]
    fn begin_block(&mut self) {
        let mut next = std::mem::take(&mut self.spare);
        next.reserve_exact(BLOCK);
        self.middle.push_back(std::mem::replace(&mut self.back, next));
    }

    /// The block in front has nothing left.
    #[cold]
    fn next_block(&mut self) {
        self.front.clear();
        self.gone = 0;
        match self.middle.pop_front() {
            Some(next) => self.spare = std::mem::replace(&mut self.front, next),
            None => std::mem::swap(&mut self.front, &mut self.back),
        }
    }
}

impl<T: Copy, const BLOCK: usize> Index<usize> for Ring<T, BLOCK> {
    type Output = T;
    #[inline]
    fn index(&self, place: usize) -> &T {
        self.get(place).expect("a place in the ring")
    }
}

impl<T: Copy, const BLOCK: usize> IndexMut<usize> for Ring<T, BLOCK> {
    #[inline]
    fn index_mut(&mut self, place: usize) -> &mut T {
        self.get_mut(place).expect("a place in the ring")
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// What is done, and how often.
    type Operation = (u8, usize);

    fn check<const BLOCK: usize>(operations: &[Operation]) -> Result<(), TestCaseError> {
        let (mut ring, mut model) = (Ring::<u64, BLOCK>::default(), VecDeque::new());
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
        /// It does what the standard library's does, whatever the blocks.
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
