"""Byte ranges and packets in flight, in order, with fast insertion and removal anywhere."""

from bisect import bisect_left, bisect_right, insort

# Longer blocks are split in two. A change moves at most one block of this length, and one entry
# per block.
_MOST = 1024

# A packet is forgotten if one sent this many packet numbers later is acknowledged. RFC 9002
# (section 6.1.1) declares it lost after 3. Later acknowledgements of it are ignored.
_LATEST = 1 << 16


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


class Ranges:
    """The byte ranges of a stream that were seen."""

    def __init__(self) -> None:
        self._starts = Order()
        self._ends: dict[int, int] = {}

    def add(self, start: int, end: int) -> int:
        """Add `start..end`; return the number of new bytes."""
        before = self._starts.before(start)
        low = start if before is None or self._ends[before] < start else before
        high, new = end, end - start
        for one in self._starts.take(low, end):
            one_end = self._ends.pop(one)
            new -= max(0, min(end, one_end) - max(start, one))
            high = max(high, one_end)
        self._starts.add(low)
        self._ends[low] = high
        return new


Sent = tuple[float, list[tuple[str, int, int]]]
"""A packet in flight: its sending time, and its data as stream, offset, length."""


class UnderWay:
    """Packets in flight of one number space, ordered by packet number.

    An acknowledged range may be arbitrarily long, and packets without an outcome stay in flight.
    The cost of a range therefore depends only on the packets found in it.
    """

    def __init__(self) -> None:
        self._sent: dict[int, Sent] = {}
        self._order = Order()

    def __len__(self) -> int:
        return len(self._sent)

    def add(self, place: int, sent: Sent) -> None:
        """Add a sent packet; it replaces one with the same number."""
        if place not in self._sent:
            self._order.add(place)
        self._sent[place] = sent

    def take(self, low: int, high: int) -> list[tuple[int, Sent]]:
        """Remove the packets from `low` to `high`, both included."""
        return [(place, self._sent.pop(place)) for place in self._order.take(low, high)]

    def forget_before(self, acked: int) -> None:
        """Forget packets `_LATEST` or more numbers below an acknowledged one."""
        first = self._order.first()
        if first is not None and first <= acked - _LATEST:
            self.take(0, acked - _LATEST)
