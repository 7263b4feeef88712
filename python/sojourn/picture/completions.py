"""Completion times and slowdowns of transfers by size class."""

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from sojourn.picture.chart import Layer, Panel
from sojourn.picture.rows import NEUTRAL
from sojourn.record import size_classes
from sojourn.record.legend import Legend
from sojourn.record.summary import Item
from sojourn.record.summary_metrics import FEWEST_TRANSFERS

if TYPE_CHECKING:
    from sojourn.record.record import Record

_PERCENTILES = (5, 25, 50, 75, 95)
# Heights of a bar, and of the gap between two classes.
_BAR, _GAP = 14, 16
_FIGURES = (
    ("completion_s", 1e3, "Completion time by size (ms): 5th to 95th percentile, quartiles", 500),
    ("slowdown", 1.0, "Slowdown: completion time over that on the empty path", 420),
)


def rows(run: "Record", legend: Legend) -> list[list[Panel]]:
    """Return a row of two panels, or none without classes of enough completed transfers."""
    found = _rows(run, legend)
    if not found:
        return []
    panels = [_panel(found, legend, *figure) for figure in _FIGURES]
    return [panels if all(row["slowdown"] is not None for row in found) else panels[:1]]


def _panel(
    found: list[dict[str, Any]], legend: Legend, column: str, scale: float, title: str, width: int
) -> Panel:
    names = list(dict.fromkeys(row["name"] for row in found))
    # Series of their own names, such as single flows, need no room for others.
    is_shared = len(found) > len(names)
    series = list(dict.fromkeys(row["series"] if is_shared else "" for row in found))
    lane = _BAR / (_BAR * len(series) + _GAP)
    layers = []
    for row in found:
        if row[column] is None:
            continue
        place = series.index(row["series"]) if is_shared else 0
        y = names.index(row["name"]) + lane * (place - (len(series) - 1) / 2)
        colour = legend.colours.get(row["series"], NEUTRAL)
        box = (y, *(scale * value for value in row[column]))
        layers.append(Layer(row["series"], "boxes", [box], colour, size=_BAR - 5, horizontal=True))
    return Panel(
        title,
        "",
        "",
        layers,
        width=width,
        height=len(names) * (_BAR * len(series) + _GAP),
        x_scale={"type": "log", "nice": False},
        y_axis={"values": range(len(names)), "labels": names},
        y_scale={"domain": (len(names) - 0.5, -0.5)},
        legend=False,
    )


def _rows(run: "Record", legend: Legend) -> list[dict[str, Any]]:
    """Return the percentiles of each class of each series and flow, over all seeds."""
    if "transfers" not in run.series:
        return []
    done = run.transfers.filter(pl.col("completion_s").is_not_null())
    several = done["flow"].n_unique() > 1
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
