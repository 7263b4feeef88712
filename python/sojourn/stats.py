"""Figures over repeated runs: medians and means with confidence intervals."""

from collections.abc import Sequence
from functools import cache
from math import atan, cos, pi, sin, sqrt

from sojourn.run_summary import Item, Medians, RunSummary, Spread

CONFIDENCE = 0.95


def quantile(ordered: Sequence[float], p: float) -> float:
    """Interpolate a quantile between order statistics (Hyndman and Fan's type 7)."""
    place = p * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


@cache
def interval_ranks(n: int) -> tuple[int, int] | None:
    """Return the ranks (from 1) of the values that bound the median with 95 % confidence.

    The interval is valid for any distribution. The number of values below the median is
    binomial(n, 1/2), so the interval from rank j to n + 1 - j misses it with probability
    2 P(B < j) (David and Nagaraja, Order Statistics, 7.1). Return None below six values: even the
    whole range then holds the median with less than 95 %.
    """
    missed, ways, rank = 0, 1, 0
    while rank < n // 2:
        missed += 2 * ways
        if missed / 2**n > 1 - CONFIDENCE:
            break
        ways = ways * (n - rank) // (rank + 1)
        rank += 1
    return (rank, n + 1 - rank) if rank > 0 else None


def median_interval(ordered: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % confidence interval of the median of ordered values; None below six."""
    ranks = interval_ranks(len(ordered))
    return (ordered[ranks[0] - 1], ordered[ranks[1] - 1]) if ranks else None


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean."""
    return sum(values) / len(values)


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Compute Student's 95 % confidence interval of the mean; None for a single value.

    It is exact for normal values, and close for means of long runs (central limit theorem).
    """
    n = len(values)
    if n < 2:
        return None
    middle = mean(values)
    variance = sum((value - middle) ** 2 for value in values) / (n - 1)
    half = student_t(n - 1) * sqrt(variance / n)
    return middle - half, middle + half


@cache
def student_t(degrees: int) -> float:
    """Return the t for which Student's distribution lies within -t and t with 95 % probability."""
    low, high = 0.0, 1000.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if _student_within(middle, degrees) < CONFIDENCE:
            low = middle
        else:
            high = middle
    return high


def _student_within(t: float, degrees: int) -> float:
    """Compute P(-t < T < t) for whole degrees of freedom (Abramowitz and Stegun, 26.7.3-4)."""
    angle = atan(t / sqrt(degrees))
    odd = degrees % 2
    term = cos(angle) if odd else 1.0
    total = 0.0
    for place in range(1 + odd, degrees, 2):
        total += term
        term *= cos(angle) ** 2 * place / (place + 1)
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


def spread(values: Sequence[float]) -> Spread:
    """Compute median and mean with 95 % confidence intervals, and 5th and 95th percentiles."""
    ordered = sorted(values)
    interval = median_interval(ordered)
    around = mean_interval(ordered)
    return {
        "n": len(ordered),
        "distinct": len(set(ordered)),
        "median": quantile(ordered, 0.5),
        "low": interval[0] if interval else None,
        "high": interval[1] if interval else None,
        "p5": quantile(ordered, 0.05),
        "p95": quantile(ordered, 0.95),
        "mean": mean(ordered),
        "mean_low": around[0] if around else None,
        "mean_high": around[1] if around else None,
    }


def medians(runs: Sequence[RunSummary]) -> list[Medians]:
    """Return one entry per controller, in the order of first runs."""
    by_control: dict[str, list[RunSummary]] = {}
    for run in runs:
        by_control.setdefault(run["control"], []).append(run)
    return [_one_control(control, group) for control, group in by_control.items()]


def distinct(runs: Sequence[RunSummary]) -> int:
    """Count the distinct runs: two runs differ in the goodput of a flow or in a spike."""
    return len({_outcome(run) for run in runs})


def _outcome(run: RunSummary) -> tuple[float | None, ...]:
    goodputs = [flow["goodput_bps"] for flow in run["flows"]]
    return (*goodputs, *(spike["spike_s"] for spike in run["spikes"]))


def _one_control(control: str, runs: list[RunSummary]) -> Medians:
    return {
        "control": control,
        "runs": len(runs),
        "distinct": distinct(runs),
        "flows": _merge_lists([run["flows"] for run in runs], same=("name", "control")),
        "links": _merge_lists([run["links"] for run in runs], same=("name",)),
        "spikes": _merge_lists(
            [run["spikes"] for run in runs], same=("link", "from_bps", "to_bps")
        ),
    }


def _merge_lists(lists: Sequence[Sequence[Item]], same: tuple[str, ...]) -> list[Item]:
    # Spikes are matched across runs by their position: the nth spike of a link is the same change
    # in every run. A spike that the spread moved past the end is missing only in that run.
    alike: dict[tuple[str, int], list[Item]] = {}
    for items in lists:
        seen: dict[str, int] = {}
        for item in items:
            name = item[same[0]]
            seen[name] = seen.get(name, 0) + 1
            alike.setdefault((name, seen[name]), []).append(item)
    return [_merge(items, same) for items in alike.values()]


def _merge(items: Sequence[Item], same: tuple[str, ...]) -> Item:
    merged: dict[str, object] = {key: items[0][key] for key in same}
    for key in items[0]:
        if key in same:
            continue
        if key == "transfers_by_size":
            lists = [item[key] for item in items if item.get(key)]
            merged[key] = _merge_lists(lists, same=("from_bytes", "to_bytes"))
            continue
        if key in ("closed", "ecn_failure", "quality_model", "warning"):
            merged[key] = items[0][key]
            continue
        if key == "media":
            merged[key] = _merge([item[key] for item in items if item.get(key)], same=())
            continue
        values = [item[key] for item in items if item.get(key) is not None]
        merged[key] = spread(values) if values else None
    return merged
