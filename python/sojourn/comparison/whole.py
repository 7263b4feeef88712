"""Figures of whole runs over all packets, from the summaries of both runs.

The steps of the comparison do not affect these figures.
"""

from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

from sojourn.comparison.matching import Pair
from sojourn.comparison.measure import between
from sojourn.comparison.summary import Compared
from sojourn.record import Record

Whole = Callable[[str], Compared]
"""Compares the values of both summaries for a key."""


def of(pair: Pair, a: Record, b: Record) -> Whole:
    """Compare one pair by the median over the seeds, as in `medians` of a summary."""
    return lambda key: between(_median(a, pair, pair.a, key), _median(b, pair, pair.b, key))


def _median(run: Record, pair: Pair, seeds: Iterable[int], key: str) -> float | None:
    values = [_value(run, pair, seed, key) for seed in seeds]
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None


def _value(run: Record, pair: Pair, seed: int, key: str) -> float | None:
    (own,) = (one for one in run.runs if one["control"] == pair.control and one["seed"] == seed)
    items: Any = own[pair.what]
    found: float | None = next(item for item in items if item["name"] == pair.name).get(key)
    return found
