"""The figures of a pair: A, B, what lies between them, and how their windows went apart."""

from collections.abc import Callable
from typing import Any

import polars as pl

from sojourn.comparison.align import Grid
from sojourn.comparison.matching import NS, Pair
from sojourn.contract import Compared, FlowComparison, LinkComparison, WindowComparison

_Measure = Callable[[pl.DataFrame], float | None]


def flow(pair: Pair, grid: Grid, cells: pl.DataFrame) -> FlowComparison:
    """Goodput, round-trip times and the window of one flow."""
    rtt = _rtt_column(cells)
    return {
        "control": pair.control,
        "name": pair.name,
        "seeds_a": sorted(pair.a),
        "seeds_b": sorted(pair.b),
        "from_s": grid.start_ns / NS,
        "until_s": grid.end_ns / NS,
        "interval_s": grid.step_ns / NS,
        "goodput_bps": _compared(cells, _mean("goodput_bps")),
        "rtt_column": rtt,
        "rtt_p50_s": _compared(cells, _quantile(rtt, 0.50)),
        "rtt_p95_s": _compared(cells, _quantile(rtt, 0.95)),
        "rtt_p99_s": _compared(cells, _quantile(rtt, 0.99)),
        "window": window(trajectories(cells, "cwnd_bytes")),
    }


def link(pair: Pair, grid: Grid, cells: pl.DataFrame) -> LinkComparison:
    """Queueing delay, utilisation, drops and marks of one link."""
    delay = "queue_delay_s"
    return {
        "control": pair.control,
        "name": pair.name,
        "seeds_a": sorted(pair.a),
        "seeds_b": sorted(pair.b),
        "from_s": grid.start_ns / NS,
        "until_s": grid.end_ns / NS,
        "interval_s": grid.step_ns / NS,
        "queue_delay_p50_s": _compared(cells, _quantile(delay, 0.50)),
        "queue_delay_p95_s": _compared(cells, _quantile(delay, 0.95)),
        "queue_delay_p99_s": _compared(cells, _quantile(delay, 0.99)),
        "queue_delay_max_s": _compared(cells, _quantile(delay, 1.0)),
        "utilisation": _compared(cells, _utilisation),
        "dropped_packets": _compared(cells, _per_run("dropped_packets")),
        "marked_packets": _compared(cells, _per_run("marked_packets")),
    }


def trajectories(cells: pl.DataFrame, column: str) -> pl.DataFrame:
    """Columns `t_s`, `a`, `b`: the median over the seeds of each side, cell by cell."""
    sides = []
    for side in ("a", "b"):
        own = cells.filter(pl.col("side") == side)
        sides.append(own.group_by("t_s").agg(pl.col(column).median().alias(side)))
    return sides[0].join(sides[1], on="t_s").sort("t_s")


def window(both: pl.DataFrame) -> WindowComparison | None:
    """How far two windows lie apart; None where one of them has none."""
    known = both.drop_nulls().filter(pl.col("a") > 0)
    if known.is_empty():
        return None
    difference = known["b"] - known["a"]
    relative = difference / known["a"]
    largest = int(difference.abs().arg_max() or 0)
    return {
        "mean_relative_difference": _number(relative.abs().mean()),
        "largest_difference_bytes": float(difference[largest]),
        "largest_difference_ratio": float(relative[largest]),
        "largest_difference_at_s": float(known["t_s"][largest]),
        "correlation": _correlation(known),
    }


def _correlation(known: pl.DataFrame) -> float | None:
    """Pearson's; None where a window never moves, which correlates with nothing."""
    if known["a"].n_unique() < 2 or known["b"].n_unique() < 2:
        return None
    return _number(known.select(pl.corr("a", "b")).item())


def _rtt_column(cells: pl.DataFrame) -> str | None:
    """The longest of each interval where both have it, else the smoothed one."""
    for column in ("rtt_s", "srtt_s"):
        known = cells.group_by("side").agg(pl.col(column).count())
        if known[column].min():
            return column
    return None


def _compared(cells: pl.DataFrame, measure: _Measure) -> Compared:
    a, b = (measure(cells.filter(pl.col("side") == side)) for side in ("a", "b"))
    if a is None or b is None:
        return {"a": a, "b": b, "difference": None, "ratio": None}
    return {"a": a, "b": b, "difference": b - a, "ratio": b / a if a else None}


def _mean(column: str) -> _Measure:
    return lambda side: _number(side[column].mean())


def _quantile(column: str | None, q: float) -> _Measure:
    """Over the cells of every seed, interpolated as all of Sojourn's medians are."""
    if column is None:
        return lambda side: None
    return lambda side: _number(side[column].quantile(q, interpolation="linear"))


def _per_run(column: str) -> _Measure:
    """A count over the whole time, the mean of the seeds."""

    def measure(side: pl.DataFrame) -> float | None:
        known = side[column].count() > 0
        return float(side[column].sum()) / side["seed"].n_unique() if known else None

    return measure


def _utilisation(side: pl.DataFrame) -> float | None:
    known = side.select("carried_bps", "capacity_bps").drop_nulls()
    capacity = float(known["capacity_bps"].sum())
    return float(known["carried_bps"].sum()) / capacity if capacity else None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
