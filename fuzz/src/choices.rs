//! Choices that the bytes of an input make.

/// The bytes that no choice has used.
pub(crate) struct Choices<'a>(pub(crate) &'a [u8]);

impl Choices<'_> {
    /// All bytes are used; every further choice is the first.
    pub(crate) fn are_over(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> u64 {
        self.0.split_off_first().copied().unwrap_or(0).into()
    }

    /// A number below `end`, which is above zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let bytes = if end > 256 { 3 } else { 1 };
        let number = (0..bytes).fold(0, |number, _| number << 8 | self.byte());
        (number % end as u64) as usize
    }

    /// A number of 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        (0..8).fold(0, |bits, _| bits << 8 | self.byte())
    }

    /// One of `times` cases.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) + 1 == times
    }

    /// One of `items`, which must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
