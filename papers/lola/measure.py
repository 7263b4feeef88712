"""Measurements for LoLa's figures: rounds of fair flow balancing, shares, the queue."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import polars as pl
from sojourn.run.results import Run

BALANCING, HOLD = "fair_flow_balancing", "cwnd_hold"
MSS = 1448
# An IP packet with its Ethernet overhead.
WIRE = 1500 + 38
Q_TARGET_MS, T_MEASURE_MS, PHI = 5.0, 40.0, 35.0
"""Section V-A."""


@dataclass(frozen=True)
class Round:
    """The time from the start of a flow's balancing to the end of its window reduction."""

    begin_s: float
    leave_s: float
    """The time at which it stops balancing and holds its window: the end of the paper's round."""
    end_s: float

    def of(self, series: pl.DataFrame) -> pl.DataFrame:
        """Return the samples of the round."""
        return between(series, self.begin_s, self.end_s)


def between(series: pl.DataFrame, begin_s: float, end_s: float) -> pl.DataFrame:
    """Return the samples of a time interval."""
    return series.filter(pl.col("t_s").is_between(begin_s, end_s, closed="left"))


def rounds(series: pl.DataFrame, from_s: float = 0.0) -> list[Round]:
    """Return all rounds of a flow that begin after a given time and end within the run."""
    parts = list(_phases(series))
    return [
        Round(begin_s, leave_s, end_s)
        for (phase, begin_s, leave_s), (after, _, end_s), _ in zip(
            parts, parts[1:], parts[2:], strict=False
        )
        if phase == BALANCING and after == HOLD and begin_s >= from_s
    ]


def _phases(series: pl.DataFrame) -> Iterator[tuple[str, float, float]]:
    """A flow's phases in order, each from its first sample to the first one of the next phase."""
    rows = series.select("phase", "t_s").rows()
    last_s = rows[-1][1] if rows else 0.0
    starts = [(phase, next(same)[1]) for phase, same in groupby(rows, key=lambda row: row[0])]
    ends = [at_s for _, at_s in starts[1:]] + [last_s]
    for (phase, begin_s), end_s in zip(starts, ends, strict=True):
        yield phase, begin_s, end_s


def queue_ms(run: Run, begin_s: float, end_s: float, control: str | None = None) -> float:
    """Return the longest queueing delay of the switch in a time interval."""
    waits = between(run.link("switch", control).series, begin_s, end_s)["queue_delay_s"]
    return 1e3 * largest(waits)


def used(run: Run, begin_s: float, end_s: float, control: str | None = None) -> float:
    """Return the utilisation of the switch in a time interval."""
    part = between(run.link("switch", control).series, begin_s, end_s)
    return float(part["carried_bps"].sum()) / float(part["capacity_bps"].sum())


def goodput_bps(series: pl.DataFrame, begin_s: float, end_s: float) -> float:
    """Return a flow's mean goodput in a time interval."""
    part = between(series, begin_s, end_s).select("t_s", "delivered_bytes")
    (first_s, first), (last_s, last) = part.row(0), part.row(-1)
    return float(8 * (last - first) / (last_s - first_s))


def largest(values: pl.Series) -> float:
    """Return the maximum of a column, ignoring nulls."""
    return float(values.max())  # type: ignore[arg-type]


def peak_bound_ms(
    rate_bps: float, rtt_ms: float, share: float, flows: int = 2, lagging: bool = True
) -> float:
    """Return the maximum queueing delay of a round: Q_target plus the growth until flows detect it.

    studies/lola has the derivation. A flow detects that the queue exceeds Q_target after T: a round
    trip at Q_target, the filter's `t_measure`, and the time until its next acknowledgement. `share`
    is the smallest flow's share of the rate. If only that flow grows, its data in the queue lag
    behind X(t) by X'(t) T (1/s - 1). Equal `flows` do not lag.
    """
    bytes_a_ms = rate_bps / 8e3
    capacity, pair_ms = bytes_a_ms * MSS / WIRE, 2 * WIRE / bytes_a_ms
    span = rtt_ms + Q_TARGET_MS + T_MEASURE_MS + pair_ms / share

    def queued(t: float) -> float:
        lag = 3 * t**2 / PHI**3 * span * (1 / share - 1) if lagging else 0.0
        return (t / PHI) ** 3 - lag

    low, high = 0.0, 1e6
    while high - low > 1e-6:
        middle = (low + high) / 2
        if queued(middle) >= share * capacity * Q_TARGET_MS:
            high = middle
        else:
            low = middle
    grown = (((high + span) / PHI) ** 3 - (high / PHI) ** 3) / share / capacity
    return Q_TARGET_MS + grown + flows * pair_ms
