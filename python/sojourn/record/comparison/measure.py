"""The figures of a pair: A, B, their difference, and the difference of their windows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, TypeVar, cast, get_type_hints

import polars as pl

from sojourn.record.comparison.align import Grid
from sojourn.record.comparison.matching import NS, Pair
from sojourn.record.comparison.summary import (
    Compared,
    ComparedSteps,
    FlowComparison,
    LinkComparison,
    PairComparison,
    WindowComparison,
)
from sojourn.record.record import Record
from sojourn.record.summary import Item

T = TypeVar("T", FlowComparison, LinkComparison)
WholeRuns = Callable[[str], Compared]
"""Compares the figures of both summaries for a key."""


def flow(pair: Pair, grid: Grid, cells: pl.DataFrame, whole: WholeRuns) -> FlowComparison:
    """Compare goodput, round-trip times and the window of one flow."""
    rtt = _rtt_column(cells)
    steps = {"goodput_bps": _compared(cells, "goodput_bps", _mean), **_peaks(cells, "rtt", rtt)}
    own = {"rtt_column": rtt, "window": window(trajectories(cells, "cwnd_bytes"))}
    return _item(FlowComparison, {**_compared_over(pair, grid), **own, **steps}, whole)


def link(pair: Pair, grid: Grid, cells: pl.DataFrame, whole: WholeRuns) -> LinkComparison:
    """Compare queueing delay, utilisation, drops and marks of one link."""
    steps = {
        **_peaks(cells, "queue_delay", "queue_delay_s"),
        "queue_delay_peak_max_s": _compared(cells, "queue_delay_s", _quantile(1.0)),
        "utilisation": _utilisation(cells),
        **{key: _per_run(cells, key) for key in ("dropped_packets", "marked_packets")},
    }
    return _item(LinkComparison, {**_compared_over(pair, grid), **steps}, whole)


def _peaks(cells: pl.DataFrame, name: str, column: str | None) -> dict[str, ComparedSteps]:
    return {
        f"{name}_peak_p{percent}_s": _compared(cells, column, _quantile(percent / 100))
        for percent in (50, 95, 99)
    }


def _item(form: type[T], known: Mapping[str, Any], whole: WholeRuns) -> T:
    """Build a table in the order of its keys; those that are not known are of whole runs."""
    keys = get_type_hints(form)
    return cast(
        T, {key: known[key] if key in known else whole(key.removeprefix("run_")) for key in keys}
    )


def _compared_over(pair: Pair, grid: Grid) -> PairComparison:
    """Describe the compared pair: its names, seeds and steps."""
    return {
        "control": pair.control,
        "name": pair.name,
        "seeds_a": sorted(pair.a),
        "seeds_b": sorted(pair.b),
        "from_s": grid.start_ns / NS,
        "until_s": grid.end_ns / NS,
        "interval_s": grid.step_ns / NS,
        "cells": grid.cells,
    }


def trajectories(cells: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return columns `t_s`, `a`, `b`: the median over the seeds of each side, per cell."""
    sides = []
    for side in ("a", "b"):
        own = cells.filter(pl.col("side") == side)
        sides.append(own.group_by("t_s").agg(pl.col(column).median().alias(side)))
    return sides[0].join(sides[1], on="t_s").sort("t_s")


def window(both: pl.DataFrame) -> WindowComparison | None:
    """Compute the difference between two windows; None if one side recorded no window."""
    known = both.drop_nulls().filter(pl.col("a") > 0)
    if known.is_empty():
        return None
    difference = known["b"] - known["a"]
    relative = difference / known["a"]
    largest = int(difference.abs().arg_max() or 0)
    return {
        "cells": known.height,
        "mean_relative_difference": _number(relative.abs().mean()),
        "largest_difference_bytes": float(difference[largest]),
        "largest_difference_ratio": float(relative[largest]),
        "largest_difference_at_s": float(known["t_s"][largest]),
        "correlation": _correlation(known),
    }


def _correlation(known: pl.DataFrame) -> float | None:
    """Compute Pearson's correlation; None if a window is constant, which leaves it undefined."""
    if known["a"].n_unique() < 2 or known["b"].n_unique() < 2:
        return None
    return _number(known.select(pl.corr("a", "b")).item())


def _rtt_column(cells: pl.DataFrame) -> str | None:
    """Choose the longest RTT of each step if both runs have it, else the smoothed RTT."""
    for column in ("rtt_s", "srtt_s"):
        known = cells.group_by("side").agg(pl.col(column).count())
        if known[column].min():
            return column
    return None


def between(a: float | None, b: float | None) -> Compared:
    """Combine a figure of both runs with their difference and ratio."""
    if a is None or b is None:
        return {"a": a, "b": b, "difference": None, "ratio": None}
    return {"a": a, "b": b, "difference": b - a, "ratio": b / a if a else None}


def of_whole_runs(pair: Pair, a: Record, b: Record) -> WholeRuns:
    """Compare the figures of both summaries: the median over the seeds, as in `medians`.

    They cover whole runs, so the steps of the comparison do not affect them.
    """
    return lambda key: between(
        _summary_median(a, pair, pair.a, key), _summary_median(b, pair, pair.b, key)
    )


def _summary_median(run: Record, pair: Pair, seeds: Iterable[int], key: str) -> float | None:
    values = [_summary_value(run, pair, seed, key) for seed in seeds]
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None


def _summary_value(run: Record, pair: Pair, seed: int, key: str) -> float | None:
    (own,) = (one for one in run.runs if one["control"] == pair.control and one["seed"] == seed)
    items: Sequence[Item] = own[pair.what]
    found: float | None = next(item for item in items if item["name"] == pair.name).get(key)
    return found


_Measure = Callable[[pl.Series], float | None]


def _compared(cells: pl.DataFrame, column: str | None, measure: _Measure) -> ComparedSteps:
    """Compare a figure over the cells with a value, of all seeds."""
    if column is None:
        return _with_counts((None, None), (0, 0))
    a, b = (cells.filter(pl.col("side") == side)[column] for side in ("a", "b"))
    return _with_counts((measure(a), measure(b)), (a.count(), b.count()))


def _with_counts(
    figures: tuple[float | None, float | None], counts: tuple[int, int]
) -> ComparedSteps:
    return {**between(*figures), "cells_a": counts[0], "cells_b": counts[1]}


def _mean(values: pl.Series) -> float | None:
    return _number(values.mean())


def _quantile(q: float) -> _Measure:
    """Build a quantile with the same interpolation as all of Sojourn's medians."""
    return lambda values: _number(values.quantile(q, interpolation="linear"))


def _per_run(cells: pl.DataFrame, column: str) -> ComparedSteps:
    """Compare a count over the whole time, as the mean over the seeds."""
    seeds = {side: cells.filter(pl.col("side") == side)["seed"].n_unique() for side in ("a", "b")}
    totals = _compared(cells, column, _sum)
    a, b = totals["a"], totals["b"]
    each = (None if a is None else a / seeds["a"], None if b is None else b / seeds["b"])
    return _with_counts(each, (totals["cells_a"], totals["cells_b"]))


def _sum(counts: pl.Series) -> float | None:
    return float(counts.sum()) if counts.count() else None


def _utilisation(cells: pl.DataFrame) -> ComparedSteps:
    """Compare carried bits over capacity, in the cells where both are known."""
    known = cells.select("side", "carried_bps", "capacity_bps").drop_nulls()
    a, b = (known.filter(pl.col("side") == side) for side in ("a", "b"))
    return _with_counts((_used(a), _used(b)), (a.height, b.height))


def _used(known: pl.DataFrame) -> float | None:
    capacity = float(known["capacity_bps"].sum())
    return float(known["carried_bps"].sum()) / capacity if capacity else None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
