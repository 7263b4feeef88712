"""Figures over repeated runs: medians and means with confidence intervals."""

import json
from collections.abc import Sequence
from typing import cast

from sojourn import _core
from sojourn.record.record_types import RunSummary, Spread
from sojourn.record.summary import Medians


def interval_ranks(n: int) -> tuple[int, int] | None:
    """Return the ranks (from 1) of the values that bound the median with 95 % confidence.

    None below six values: even the whole range then holds the median with less.
    """
    return _core.interval_ranks(n)


def median_interval(ordered: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % confidence interval of the median of ordered values; None below six."""
    ranks = interval_ranks(len(ordered))
    return (ordered[ranks[0] - 1], ordered[ranks[1] - 1]) if ranks else None


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean."""
    return sum(values) / len(values)


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Compute Student's 95 % confidence interval of the mean; None for a single value."""
    return _core.mean_interval(list(values))


def spread(values: Sequence[float]) -> Spread:
    """Compute median and mean with 95 % confidence intervals, and 5th and 95th percentiles."""
    return cast(Spread, json.loads(_core.spread(list(values))))


def medians(runs: Sequence[RunSummary]) -> list[Medians]:
    """Return one entry per controller, in the order of first runs."""
    return cast(list[Medians], json.loads(_core.medians(json.dumps(runs))))
