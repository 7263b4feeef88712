"""Figures over repeated runs: medians with exact confidence intervals."""

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

from sojourn.contract import Medians, RunSummary, Spread

CONFIDENCE = 0.95


def quantile(ordered: Sequence[float], p: float) -> float:
    """Quantile with linear interpolation between order statistics (Hyndman and Fan's type 7)."""
    place = p * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def interval_ranks(n: int) -> tuple[int, int] | None:
    """Ranks (from 1) whose values hold the median with 95 % confidence, whatever the distribution.

    The number of values below the median is binomial(n, 1/2), so the interval from rank j to
    n + 1 - j misses it with probability 2 P(B < j) (David and Nagaraja, Order Statistics, 7.1).
    None below six values: even the whole range then holds it with less than 95 %.
    """
    missed, rank = 0.0, 0
    while rank < n // 2:
        missed += 2 * comb(n, rank) / 2**n
        if missed > 1 - CONFIDENCE:
            break
        rank += 1
    return (rank, n + 1 - rank) if rank > 0 else None


def spread(values: Sequence[float]) -> Spread:
    """Median, its 95 % confidence interval, and the 5th and 95th percentile."""
    ordered = sorted(values)
    ranks = interval_ranks(len(ordered))
    return {
        "n": len(ordered),
        "median": quantile(ordered, 0.5),
        "low": ordered[ranks[0] - 1] if ranks else None,
        "high": ordered[ranks[1] - 1] if ranks else None,
        "p5": quantile(ordered, 0.05),
        "p95": quantile(ordered, 0.95),
    }


def medians(runs: Sequence[RunSummary]) -> list[Medians]:
    """One entry a controller, in the order of its first run."""
    by_control: dict[str, list[RunSummary]] = {}
    for run in runs:
        by_control.setdefault(run["control"], []).append(run)
    return [_one_control(control, group) for control, group in by_control.items()]


def _one_control(control: str, runs: list[RunSummary]) -> Medians:
    return {
        "control": control,
        "runs": len(runs),
        "flows": _over([run["flows"] for run in runs], same=("name", "control")),
        "links": _over([run["links"] for run in runs], same=("name",)),
        "spikes": _over([run["spikes"] for run in runs], same=("link", "from_bps", "to_bps")),
    }


def _over(lists: Sequence[Sequence[Any]], same: tuple[str, ...]) -> list[dict[str, Any]]:
    # The nth spike of a link is the nth in every run; one that a spread moved past the end is
    # missing in that run only.
    alike: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for items in lists:
        seen: dict[str, int] = {}
        for item in items:
            name = item[same[0]]
            seen[name] = seen.get(name, 0) + 1
            alike.setdefault((name, seen[name]), []).append(item)
    return [_over_one(items, same) for items in alike.values()]


def _over_one(items: Sequence[Mapping[str, Any]], same: tuple[str, ...]) -> dict[str, Any]:
    merged: dict[str, Any] = {key: items[0][key] for key in same}
    for key in items[0]:
        if key in same:
            continue
        values = [item[key] for item in items if item[key] is not None]
        merged[key] = spread(values) if values else None
    return merged
