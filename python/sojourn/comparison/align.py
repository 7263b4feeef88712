"""Two series on one grid of time: what each had in the same cells.

A cell ends at an edge of the grid and begins after the edge before. A sample is about the time
that ends with it, so it belongs to the cell that its time lies in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from sojourn.comparison.matching import NS, Pair
from sojourn.layout import What


@dataclass(frozen=True)
class Grid:
    """Cells of equal length on the time that all series share."""

    start_ns: int
    step_ns: int
    cells: int

    @property
    def end_ns(self) -> int:
        """The last edge."""
        return self.start_ns + self.cells * self.step_ns

    def edges(self) -> pl.DataFrame:
        """Column `ns`: every edge, the first one included."""
        end = self.end_ns + 1
        return pl.select(ns=pl.int_range(self.start_ns, end, self.step_ns, dtype=pl.Int64))

    def ends(self) -> pl.DataFrame:
        """Column `ns`: the edge at which each cell ends."""
        return self.edges().slice(1)


def grid_of(pair: Pair) -> Grid | str:
    """The cells in which a pair is compared, or why there are none.

    From the latest first sample to the earliest last one, in steps of the longest of the
    intervals: nothing is made up between samples of the coarser run.
    """
    parts = [*pair.a.values(), *pair.b.values()]
    for letter, side in (("A", pair.a), ("B", pair.b)):
        if not side:
            return f"{letter} has no samples of it"
        if min(part.height for part in side.values()) < 2:
            return f"{letter} has a single sample of it"
    start = max(_first(part) for part in parts)
    end = min(_last(part) for part in parts)
    step = max(_interval(part) for part in parts)
    if end - start < step:
        return f"no time in common: {_span('A', pair.a)}, {_span('B', pair.b)}"
    return Grid(start, step, (end - start) // step)


def aligned(pair: Pair, grid: Grid) -> pl.DataFrame:
    """One row a side, a seed and a cell; its time is the cell's end."""
    sides: tuple[tuple[str, Mapping[int, pl.DataFrame]], ...] = (("a", pair.a), ("b", pair.b))
    frames = [
        _cells(part, pair.what, grid).with_columns(
            pl.lit(pair.control).alias("control"),
            pl.lit(pair.name).alias(pair.what.removesuffix("s")),
            pl.lit(side).alias("side"),
            pl.lit(seed, pl.UInt64).alias("seed"),
        )
        for side, seeds in sides
        for seed, part in seeds.items()
    ]
    return pl.concat(frames)


def _cells(part: pl.DataFrame, what: What, grid: Grid) -> pl.DataFrame:
    frame = grid.ends().with_columns((pl.col("ns") / NS).alias("t_s"))
    if what == "flows":
        return frame.with_columns(
            _carried(part, "cwnd_bytes", grid),
            _greatest(part, "rtt_s", grid),
            _carried(part, "srtt_s", grid),
            _rate(part, _delivered(part), grid).alias("goodput_bps"),
        )
    return frame.with_columns(
        _greatest(part, "queue_delay_s", grid),
        _rate(part, _bits("carried_bps"), grid).alias("carried_bps"),
        _rate(part, _bits("capacity_bps"), grid).alias("capacity_bps"),
        _counted(part, "dropped_packets", grid),
        _counted(part, "marked_packets", grid),
    )


def _carried(part: pl.DataFrame, column: str, grid: Grid) -> pl.Series:
    """State, such as a window: the last value at or before the end of each cell."""
    return _before(part, column, grid.ends())


def _before(part: pl.DataFrame, column: str, times: pl.DataFrame) -> pl.Series:
    known = part.select("ns", column).drop_nulls()
    return times.join_asof(known, on="ns", strategy="backward")[column]


def _greatest(part: pl.DataFrame, column: str, grid: Grid) -> pl.Series:
    """What may peak, such as a delay: the greatest value in each cell."""
    cell_end = (pl.col("ns") - grid.start_ns - 1) // grid.step_ns + 1
    end = (grid.start_ns + cell_end * grid.step_ns).alias("ns")
    peaks = part.select(end, pl.col(column)).group_by("ns").agg(pl.col(column).max())
    return grid.ends().join(peaks, on="ns", how="left", maintain_order="left")[column]


def _counted(part: pl.DataFrame, column: str, grid: Grid) -> pl.Series:
    """What was counted in each cell; whole, and told with the sample that has it."""
    counts = grid.edges().with_columns(_before(part, column, grid.edges()))
    return counts.select(pl.col(column).cast(pl.Int64).diff().slice(1))[column]


def _rate(part: pl.DataFrame, total: pl.Expr, grid: Grid) -> pl.Series:
    """The mean rate in each cell, of a total that grows evenly from sample to sample."""
    known = part.select("ns", total.cast(pl.Float64).alias("total")).drop_nulls()
    both = grid.edges().join(known, on="ns", how="full", coalesce=True).sort("ns")
    filled = both.with_columns(pl.col("total").interpolate_by("ns"))
    edges = grid.edges().join(filled, on="ns", how="left", maintain_order="left")
    return edges.select(pl.col("total").diff().slice(1) / (grid.step_ns / NS)).to_series()


def _delivered(part: pl.DataFrame) -> pl.Expr:
    """Bits delivered since the start: counted, or else the sum of the goodput."""
    counted = part["delivered_bytes"].count() > 0
    return 8 * pl.col("delivered_bytes").cast(pl.Float64) if counted else _bits("goodput_bps")


def _bits(column: str) -> pl.Expr:
    """What a rate adds up to; null where there is no rate at all."""
    span_s = pl.col("ns").diff().fill_null(0) / NS
    known = pl.col(column).count() > 0
    return pl.when(known).then((pl.col(column).fill_null(0.0) * span_s).cum_sum())


def _first(part: pl.DataFrame) -> int:
    return int(part["ns"][0])


def _last(part: pl.DataFrame) -> int:
    return int(part["ns"][-1])


def _interval(part: pl.DataFrame) -> int:
    """The usual time between samples; a gap does not change it."""
    spans = sorted(part["ns"].diff().drop_nulls())
    return int(spans[len(spans) // 2])


def _span(letter: str, seeds: Mapping[int, pl.DataFrame]) -> str:
    first, last = _over(map(_first, seeds.values())), _over(map(_last, seeds.values()))
    return f"{letter} has {first[0] / NS:g} s to {last[1] / NS:g} s"


def _over(values: Iterable[int]) -> tuple[int, int]:
    listed = list(values)
    return min(listed), max(listed)
