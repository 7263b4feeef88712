"""The recent past of a link and of its flows, by columns of equal time."""

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Column = float | None
"""A value of a column; None if it is unknown."""

# Time over which the latest rates are computed.
_RECENT_S = 1.0


@dataclass(frozen=True)
class Columns:
    """The values of each column, from the oldest to the newest."""

    start_s: float
    end_s: float
    rate_bps: list[Column]
    capacity_bps: list[Column]
    queue_delay_s: list[Column]
    """Greatest queueing delay of the packets that left the queue."""
    marks: list[Column]
    drops: list[Column]
    goodput_bps: list[list[Column]]
    """By flow."""


@dataclass(frozen=True)
class Latest:
    """The values of the last second, and the counts of the whole run."""

    t_s: float
    rate_bps: float
    capacity_bps: Column
    queue_delay_s: Column
    marks: int
    drops: int
    goodput_bps: list[float]


class LinkHistory:
    """The readings of one run (`LiveRun.readings_json`) over a span of time."""

    def __init__(self, flows: int, span_s: float) -> None:
        self.span_s = span_s
        self._flows = flows
        self._times = [0.0]
        self._readings: list[dict[str, Any]] = [
            {
                "sent_bits": 0.0,
                "could_send_bits": 0.0,
                "queue_delay_s": None,
                "marked_packets": 0,
                "dropped_packets": 0,
                "received_bytes": [0] * flows,
            }
        ]

    def add(self, readings_json: str) -> None:
        """Add new readings, and forget those before the span."""
        for reading in json.loads(readings_json):
            if reading["t_s"] > self._times[-1]:
                self._times.append(reading["t_s"])
                self._readings.append(reading)
        # Columns end up to one column before the latest reading.
        old = bisect_left(self._times, self._times[-1] - 2 * self.span_s) - 1
        if old > 0:
            del self._times[:old], self._readings[:old]

    def latest(self) -> Latest:
        """Return the current values."""
        end = self._times[-1]
        edges = [max(self._times[0], end - _RECENT_S), end]

        def rate(sums: list[float]) -> float:
            (value,) = _rates(edges, self._at(edges, sums))
            return value or 0.0

        (delay,) = self._delays(edges)
        last = self._readings[-1]
        return Latest(
            t_s=end,
            rate_bps=rate(self._sums("sent_bits")),
            capacity_bps=rate(self._sums("could_send_bits")) if self._has_rate() else None,
            queue_delay_s=delay,
            marks=last["marked_packets"],
            drops=last["dropped_packets"],
            goodput_bps=[rate(self._received_bits(flow)) for flow in range(self._flows)],
        )

    def columns(self, count: int) -> Columns:
        """Return the last columns of `span_s / count` seconds each.

        A column keeps its times, so that it moves as a whole. The first ones begin at 0.
        """
        width = self.span_s / count
        end = max(count, math.floor(self._times[-1] / width))
        edges = [width * place for place in range(end - count, end + 1)]

        def rates(sums: list[float]) -> list[Column]:
            return _rates(edges, self._at(edges, sums))

        def counts(key: str) -> list[Column]:
            return _differences(self._at(edges, self._sums(key)))

        return Columns(
            start_s=edges[0],
            end_s=edges[-1],
            rate_bps=rates(self._sums("sent_bits")),
            capacity_bps=rates(self._sums("could_send_bits"))
            if self._has_rate()
            else [None] * count,
            queue_delay_s=self._delays(edges),
            marks=counts("marked_packets"),
            drops=counts("dropped_packets"),
            goodput_bps=[rates(self._received_bits(flow)) for flow in range(self._flows)],
        )

    def _has_rate(self) -> bool:
        return self._readings[-1]["could_send_bits"] is not None

    def _sums(self, key: str) -> list[float]:
        return [reading[key] for reading in self._readings]

    def _received_bits(self, flow: int) -> list[float]:
        return [8.0 * reading["received_bytes"][flow] for reading in self._readings]

    def _at(self, edges: Sequence[float], sums: list[float]) -> list[Column]:
        """Interpolate sums since the start; None after the latest reading."""
        return [self._between(edge, sums) for edge in edges]

    def _between(self, edge: float, sums: list[float]) -> Column:
        place = bisect_left(self._times, edge)
        if place == len(self._times):
            return None
        after = self._times[place]
        if place == 0 or after == edge:
            return sums[place]
        before = self._times[place - 1]
        share = (edge - before) / (after - before)
        return sums[place - 1] + share * (sums[place] - sums[place - 1])

    def _delays(self, edges: Sequence[float]) -> list[Column]:
        """Return the greatest delay of the readings that overlap each column."""
        found: list[Column] = []
        for begin, end in pairwise(edges):
            # A reading covers the time since the one before it.
            first, last = bisect_right(self._times, begin), bisect_left(self._times, end)
            delays = [one["queue_delay_s"] for one in self._readings[first : last + 1]]
            is_past = end <= self._times[-1]
            known = [one for one in delays if one is not None]
            found.append(max(known, default=None) if is_past else None)
        return found


def _differences(sums: Sequence[Column]) -> list[Column]:
    return [
        None if before is None or after is None else after - before
        for before, after in pairwise(sums)
    ]


def _rates(edges: Sequence[float], sums: Sequence[Column]) -> list[Column]:
    spans = (end - begin for begin, end in pairwise(edges))
    return [
        None if bits is None or span <= 0 else bits / span
        for bits, span in zip(_differences(sums), spans, strict=True)
    ]
