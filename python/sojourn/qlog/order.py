"""Sorted whole numbers with fast insertion and removal at any position."""

from bisect import bisect_left, bisect_right, insort

# Longer blocks are split in two. A change moves at most one block of this length, and one entry
# per block.
_MOST = 1024


class Order:
    """Distinct whole numbers in increasing order, as a list of non-empty blocks."""

    def __init__(self) -> None:
        self._blocks: list[list[int]] = []
        self._last: list[int] = []
        """The last number of each block."""

    def add(self, number: int) -> None:
        """Add a number that is not in the list."""
        if not self._blocks:
            self._blocks, self._last = [[number]], [number]
            return
        at = min(bisect_left(self._last, number), len(self._last) - 1)
        block = self._blocks[at]
        insort(block, number)
        self._last[at] = block[-1]
        if len(block) > _MOST:
            self._blocks[at : at + 1] = [block[: _MOST // 2], block[_MOST // 2 :]]
            self._last[at : at + 1] = [block[_MOST // 2 - 1], block[-1]]

    def first(self) -> int | None:
        """Return the smallest number."""
        return self._blocks[0][0] if self._blocks else None

    def before(self, number: int) -> int | None:
        """Return the greatest smaller number."""
        at = bisect_left(self._last, number)
        if at < len(self._blocks) and self._blocks[at][0] < number:
            block = self._blocks[at]
            return block[bisect_left(block, number) - 1]
        return self._last[at - 1] if at else None

    def take(self, low: int, high: int) -> list[int]:
        """Remove the numbers from `low` to `high`, both included."""
        begin, taken = bisect_left(self._last, low), list[int]()
        end = begin
        while end < len(self._blocks) and self._blocks[end][0] <= high:
            block = self._blocks[end]
            first, last = bisect_left(block, low), bisect_right(block, high)
            taken += block[first:last]
            del block[first:last]
            end += 1
        kept = [block for block in self._blocks[begin:end] if block]
        if len(kept) < end - begin:
            self._blocks[begin:end] = kept
        self._last[begin:end] = [block[-1] for block in kept]
        return taken
