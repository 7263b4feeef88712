"""Alignment of two series on one grid of time.

A cell ends at an edge of the grid and begins after the previous edge. A sample describes the
interval that it ends, so it belongs to the cell that contains its time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from sojourn.record.comparison.matching import NS, Pair
from sojourn.record.run_directory import What


@dataclass(frozen=True)
class Grid:
    """Cells of equal length over the time that all series share."""

    start_ns: int
    step_ns: int
    cells: int

    @property
    def end_ns(self) -> int:
        """The last edge."""
        return self.start_ns + self.cells * self.step_ns

    def edges(self) -> pl.DataFrame:
        """Column `ns`: every edge, including the first one."""
        end = self.end_ns + 1
        return pl.select(ns=pl.int_range(self.start_ns, end, self.step_ns, dtype=pl.Int64))

    def ends(self) -> pl.DataFrame:
        """Column `ns`: the edge at which each cell ends."""
        return self.edges().slice(1)


def grid_of(pair: Pair) -> Grid | str:
    """Choose the cells in which a pair is compared, or explain why there are none.

    The grid extends from the latest first sample to the earliest last one. Its step is the longest
    of the sampling intervals, so that no values are invented between samples of the coarser run.
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
    """Build one row per side, seed and cell; its time is the end of the cell."""
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
    """Sample a state, such as a window: the last value at or before the end of each cell."""
    return _before(part, column, grid.ends(), grid.step_ns)


def _before(part: pl.DataFrame, column: str, times: pl.DataFrame, longest_ns: int) -> pl.Series:
    """Take the last value; null if it is older than the interval of the coarser run."""
    known = part.select("ns", column).drop_nulls()
    return times.join_asof(known, on="ns", strategy="backward", tolerance=longest_ns)[column]


def _greatest(part: pl.DataFrame, column: str, grid: Grid) -> pl.Series:
    """Sample a quantity with peaks, such as a delay: the greatest value in each cell."""
    cell_end = (pl.col("ns") - grid.start_ns - 1) // grid.step_ns + 1
    end = (grid.start_ns + cell_end * grid.step_ns).alias("ns")
    peaks = part.select(end, pl.col(column)).group_by("ns").agg(pl.col(column).max())
    return grid.ends().join(peaks, on="ns", how="left", maintain_order="left")[column]


def _counted(part: pl.DataFrame, column: str, grid: Grid) -> pl.Series:
    """Compute the increase of a counter in each cell.

    Counts are whole numbers; each is valid from its sample on. After a gap, the next sample has
    the whole increase since the previous one.
    """
    counts = _before(part, column, grid.edges(), grid.step_ns).cast(pl.Int64)
    grown: pl.Series = counts - counts.fill_null(strategy="forward").shift(1)
    return grown.slice(1)


def _rate(part: pl.DataFrame, bits: pl.Expr, grid: Grid) -> pl.Series:
    """Compute the mean rate in each cell, with bits spread evenly between samples.

    Null if the bits of any part of the cell are unknown, because null differs from zero.
    """
    span_ns = pl.col("ns").diff().fill_null(0)
    sums = part.select(
        "ns",
        bits.fill_null(0.0).cum_sum().alias("bits"),
        pl.when(bits.is_null()).then(span_ns).otherwise(0).cum_sum().alias("unknown_ns"),
    )
    both = grid.edges().join(sums, on="ns", how="full", coalesce=True).sort("ns")
    filled = both.with_columns(pl.col("bits", "unknown_ns").interpolate_by("ns"))
    edges = grid.edges().join(filled, on="ns", how="left", maintain_order="left")
    # Times are whole nanoseconds; smaller differences come from interpolation.
    known = pl.col("unknown_ns").diff() < 0.5
    rate = pl.when(known).then(pl.col("bits").diff() / (grid.step_ns / NS))
    return edges.select(rate.slice(1)).to_series()


def _delivered(part: pl.DataFrame) -> pl.Expr:
    """Return bits since the previous sample, from the counter or else from the goodput."""
    counted = part["delivered_bytes"].count() > 0
    if counted:
        return 8 * pl.col("delivered_bytes").cast(pl.Float64).diff()
    return _bits("goodput_bps")


def _bits(column: str) -> pl.Expr:
    """Return the bits of a rate since the previous sample; null if it is unknown."""
    return pl.col(column).cast(pl.Float64) * (pl.col("ns").diff() / NS)


def _first(part: pl.DataFrame) -> int:
    return int(part["ns"][0])


def _last(part: pl.DataFrame) -> int:
    return int(part["ns"][-1])


def _interval(part: pl.DataFrame) -> int:
    """Return the usual time between samples; the median is robust against gaps."""
    spans = sorted(part["ns"].diff().drop_nulls())
    return int(spans[len(spans) // 2])


def _span(letter: str, seeds: Mapping[int, pl.DataFrame]) -> str:
    first, last = _over(map(_first, seeds.values())), _over(map(_last, seeds.values()))
    return f"{letter} has {first[0] / NS:g} s to {last[1] / NS:g} s"


def _over(values: Iterable[int]) -> tuple[int, int]:
    listed = list(values)
    return min(listed), max(listed)
