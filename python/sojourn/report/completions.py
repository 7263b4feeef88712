"""Completion times and slowdowns of transfers by size class."""

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from sojourn import size_classes
from sojourn.report import panels
from sojourn.report.panels import Frame, Side
from sojourn.report.theme import chart, layered, table, titled
from sojourn.run_summary import Item
from sojourn.summary_metrics import FEWEST_TRANSFERS

if TYPE_CHECKING:
    from sojourn.record import Record

_PERCENTILES = (5, 25, 50, 75, 95)
_NUMBERS = tuple(f"p{p}" for p in _PERCENTILES)
# Heights of a bar, and of the gap between two classes.
_BAR, _GAP = 14, 16
# Height of a line of a label.
_LINE = 13
# Pixels between the extremes and the panel's edges.
_PADDING = 10
_FIGURES: tuple[tuple[Side, str, float, str], ...] = (
    (
        "whole",
        "completion_s",
        1e3,
        "Completion time by size (ms): 5th to 95th percentile, quartiles",
    ),
    ("detail", "slowdown", 1.0, "Slowdown: completion time over that on the empty path"),
)


def views(run: "Record", frame: Frame) -> list[alt.LayerSpec]:
    """Return a row of two panels, or none without classes of enough completed transfers."""
    rows = _rows(run, frame)
    if not rows:
        return []
    names = list(dict.fromkeys(row["name"] for row in rows))
    # Series of their own names, such as single flows, need no room for others.
    is_shared = len(rows) > len(names)
    series = list(dict.fromkeys(row["series"] if is_shared else "" for row in rows))
    height = len(names) * (_BAR * len(series) + _GAP)
    found = []
    for side, column, scale, title in _FIGURES:
        own = [
            {"name": row["name"], "series": row["series"], **_scaled(row[column], scale)}
            for row in rows
            if row[column] is not None
        ]
        found.append(_panel(own, frame, side, title, (names, series), height))
    return found if all(row["slowdown"] is not None for row in rows) else found[:1]


def _panel(
    rows: list[dict[str, Any]],
    frame: Frame,
    side: Side,
    title: str,
    order: tuple[list[str], list[str]],
    height: int,
) -> alt.LayerSpec:
    names, series = order
    # A line for the flow and one for the class, so that the panels have room.
    is_first = side == "whole"
    lines = "split(datum.label, ': ')"
    up = -_LINE / 2 if any(": " in name for name in names) else 0
    axis = alt.Axis(
        labelLimit=170, labelExpr=lines, labelOffset=up, labels=is_first, ticks=is_first
    )
    y = alt.Y("name:N", sort=names, title=None, axis=axis)
    offset = alt.YOffset("series:N", sort=series) if len(series) > 1 else None
    scale = alt.Scale(type="log", nice=False, padding=_PADDING)
    data = table(rows, *_NUMBERS)
    colour = panels.colour(frame)

    def line(low: str, high: str, width: float) -> alt.Chart:
        mark = alt.MarkDef("rule", strokeWidth=width)
        x = alt.X(f"{low}:Q", title=None, scale=scale)
        return chart(data, mark, x, alt.X2(high), y, offset, colour)

    x = alt.X("p50:Q", title=None, scale=scale)
    middle = alt.MarkDef("tick", color="white", thickness=2, size=_BAR - 4)
    plain = chart(data, middle, x, y, offset)
    layers = line("p5", "p95", 1.4), line("p25", "p75", _BAR - 5), plain
    heading = titled(title, offset=5) if side == "whole" else _faint(title)
    return layered(*layers, width=panels.WIDTHS[side], height=height, title=heading)


def _faint(title: str) -> alt.Title:
    return titled(title, offset=5, fontWeight="normal", color=panels.NEUTRAL)


def _scaled(percentiles: list[float], scale: float) -> dict[str, float]:
    return {name: scale * value for name, value in zip(_NUMBERS, percentiles, strict=True)}


def _rows(run: "Record", frame: Frame) -> list[dict[str, Any]]:
    """Return the percentiles of each class of each series and flow, over all seeds."""
    if "transfers" not in run.series:
        return []
    done = run.transfers.filter(pl.col("completion_s").is_not_null())
    several = done["flow"].n_unique() > 1
    legend = frame.legend
    begins = {one["control"]: one.get("measured_from_s") or 0.0 for one in run.runs}
    rows = []
    for entry, flow, size in size_classes.of(run.summary):
        if _is_all(size) and len(flow["transfers_by_size"]) > 2:
            continue
        label = legend.label(entry["control"], flow["name"])
        mine = done.filter(
            pl.col("start_s") >= begins[entry["control"]],
            control=entry["control"],
            flow=flow["name"],
        )
        own = mine.filter(
            pl.col("size_bytes") > size["from_bytes"],
            pl.col("size_bytes") <= (size["to_bytes"] or 2**63),
        )
        if own.height < FEWEST_TRANSFERS or label not in legend.colours:
            continue
        name = size_classes.name_of(size)
        rows.append(
            {
                "name": f"{flow['name']}: {name}" if several else name,
                "series": label,
                **{column: _percentiles(own[column]) for column in ("completion_s", "slowdown")},
            }
        )
    return rows


def _is_all(size: Item) -> bool:
    return size["from_bytes"] == 0 and size["to_bytes"] is None


def _percentiles(values: pl.Series) -> list[float] | None:
    known = values.drop_nulls().sort().to_list()
    # By nearest rank, as in the summary.
    ranks = [math.ceil(len(known) * p / 100) for p in _PERCENTILES]
    return [known[rank - 1] for rank in ranks] if known else None
