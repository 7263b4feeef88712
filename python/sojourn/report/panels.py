"""One row of the figure as Vega-Lite: the whole run on the left, a part of it on the right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.legend import Legend

Spec = dict[str, Any]

WHOLE_WIDTH = 500
DETAIL_WIDTH = 420
NEUTRAL = "#444444"
# Builds layers for a given time axis.
Guides = Callable[[Spec], list[Spec]]
_GUIDE = "#8c8c8c"
_SIDES = ("whole", "detail")
# First and last column, and opacity; the edges of a band stay visible below other bands.
_SHADES = (("p5", "p95", 0.15), ("p25", "p75", 0.25))
_BAND = ["v", "p5", "p25", "p75", "p95"]
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])


@dataclass(frozen=True)
class Panel:
    """One row: its data and the labels of its axis."""

    name: str
    title: str
    unit: str
    height: int
    from_zero: bool = True
    key: str = ""
    """Key of the guides, shown above the right side, outside the curves."""


@dataclass(frozen=True)
class Frame:
    """The properties that all rows share."""

    duration_s: float
    legend: Legend
    changes: list[float]
    last: str
    interactive: bool
    begin_s: float = 0.0
    """Start of the time axis, which ends at `duration_s`."""
    widths: tuple[float, ...] = ()
    """Line width of each series, if they differ."""


def row(
    one: Panel,
    frame: Frame,
    lines: list[tuple[str, str]],
    behind: list[Spec],
    before: Guides,
    banded: bool = False,
) -> list[Spec]:
    """Return both panels of a row: lines over time, with guides behind and in front of them.

    If `banded` is set, each line is a median, drawn over shaded percentiles.
    """
    panels = []
    for side in _SIDES:
        shades = [_shade(one, frame, side, *shade) for shade in _shades(frame.legend) if banded]
        layers = [*behind, _changes(frame), *shades, _lines(one, frame, side, banded)]
        # The time axis of the last layer applies to the panel; all layers in front share it.
        layers += before(_x(one, frame, side))
        if frame.interactive:
            layers.append(_hover(one, frame, side, lines))
        panels.append(
            {
                "width": WHOLE_WIDTH if side == "whole" else DETAIL_WIDTH,
                "height": one.height,
                "title": _title(one, side),
                "layer": layers,
            }
        )
    return panels


def data_names(one: Panel, frame: Frame) -> list[str]:
    """The data sets of the left and the right side; both are the same if a reader can zoom."""
    return [one.name if frame.interactive else f"{one.name}_{side}" for side in _SIDES]


def views(panels: list[Panel], side: str, part: str) -> list[str]:
    """Return names of the layers that hold a selection."""
    return [f"{one.name}_{side}_{part}" for one in panels]


def capacity_step(name: str = "capacity", colour: str = "#d4d4d4") -> Spec:
    """Draw the link's capacity as a step line behind the rates of the flows."""
    return {
        "data": {"name": name, "format": csv(["v"])},
        "mark": {
            "type": "line",
            "interpolate": "step-before",
            "strokeWidth": 5,
            "color": colour,
            "clip": True,
        },
        "encoding": {
            "x": {"field": "t", "type": "quantitative"},
            "y": {"field": "v", "type": "quantitative"},
        },
    }


def levels(values: list[Spec], colour: str, x: Spec) -> Spec:
    """Draw horizontal guides from values of `t`, `t2`, `v`."""
    rule = {"type": "rule", "strokeDash": [6, 3], "strokeWidth": 1.6, "color": colour}
    y = {"field": "v", "type": "quantitative"}
    return {
        "data": {"values": values},
        "mark": {**rule, "clip": True},
        "encoding": {"x": x, "x2": {"field": "t2"}, "y": y},
    }


def corrected(values: list[Spec], frame: Frame, x: Spec) -> Spec:
    """Draw the bound for the link's carried traffic, from values of `t`, `t2`, `v`, `series`."""
    encoding: Spec = {
        "x": x,
        "x2": {"field": "t2"},
        "y": {"field": "v", "type": "quantitative"},
        "color": _colour(frame),
    }
    if frame.interactive:
        encoding["opacity"] = _shown()
    return {
        "data": {"values": values},
        "mark": {"type": "rule", "strokeDash": [2, 2], "strokeWidth": 1.4, "clip": True},
        "encoding": encoding,
    }


def csv(columns: list[str]) -> Spec:
    """Describe inline data: `t` and these columns are numbers."""
    return {"type": "csv", "parse": dict.fromkeys(["t", *columns], "number")}


def _title(one: Panel, side: str) -> Spec:
    if side == "whole":
        return {"text": f"{one.title} ({one.unit})", "anchor": "start", "offset": 5}
    # The right side repeats the row's axis; a blank title keeps both sides at the same height.
    key = {"text": one.key or " ", "anchor": "start", "offset": 5}
    return {**key, "fontWeight": "normal", "color": NEUTRAL}


def _changes(frame: Frame) -> Spec:
    return {
        "data": {"values": [{"t": at} for at in frame.changes]},
        "mark": {
            "type": "rule",
            "color": _GUIDE,
            "strokeWidth": 1,
            "strokeDash": [2, 2],
            "clip": True,
        },
        "encoding": {"x": {"field": "t", "type": "quantitative"}},
    }


def _lines(one: Panel, frame: Frame, side: str, banded: bool) -> Spec:
    encoding: Spec = {
        "x": _x(one, frame, side),
        "y": {
            "field": "v",
            "type": "quantitative",
            "scale": {"zero": one.from_zero},
            "axis": {"title": None, "tickCount": 5},
        },
        "color": _colour(frame, banded),
        "detail": {"field": "flow"},
    }
    if frame.interactive:
        encoding["opacity"] = _shown()
    mark: Spec = {"type": "line", "strokeJoin": "round", "clip": True}
    if frame.widths:
        # A width in the mark itself would override this one.
        encoding["strokeWidth"] = _width(frame)
    else:
        mark["strokeWidth"] = 1.1 if side == "whole" else 1.6
    if _dashed(frame.legend):
        encoding["strokeDash"] = _dash(frame.legend.flows)
    return {
        "name": f"{one.name}_{side}_lines",
        "data": _data(one, frame, side, _BAND if banded else ["v"]),
        "mark": mark,
        "encoding": encoding,
    }


def _shades(legend: Legend) -> Sequence[tuple[str, str, float]]:
    """Both shades for one series; only the quartiles of several, because they overlap less."""
    return _SHADES[len(legend.colours) > 1 :]


def band_text(legend: Legend) -> str:
    """Explain lines and shades of a row with too many flows to distinguish."""
    shades = {"p5": "pale shade: 5th to 95th percentile", "p25": "shade: 25th to 75th percentile"}
    parts = [shades[low] for low, _, _ in _shades(legend)]
    return "; ".join([f"lines: medians of {len(legend.flows):,} flows", *parts])


def _shade(one: Panel, frame: Frame, side: str, low: str, high: str, opacity: float) -> Spec:
    encoding: Spec = {
        "x": _x(one, frame, side),
        "y": {"field": low, "type": "quantitative"},
        "y2": {"field": high},
        "color": _colour(frame, banded=True),
    }
    if frame.interactive:
        shown = {"condition": {"param": "shown", "value": opacity}, "value": 0.02}
        encoding["opacity"] = shown
    return {
        "data": _data(one, frame, side, _BAND),
        "mark": {"type": "area", "opacity": opacity, "line": False, "clip": True},
        "encoding": encoding,
    }


def _data(one: Panel, frame: Frame, side: str, columns: list[str]) -> Spec:
    return {"name": data_names(one, frame)[_SIDES.index(side)], "format": csv(columns)}


def _dashed(key: Legend) -> bool:
    """Whether dashes distinguish flows of one colour; only a few dash patterns are readable."""
    shared = key.by == "run" or len(key.flows) > len(key.colours)
    return shared and 1 < len(key.flows) <= len(_DASHES)


def _dash(flows: list[str]) -> Spec:
    # Data without a flow, such as a queue, has an empty name and a solid line.
    return {
        "field": "flow",
        "type": "nominal",
        "scale": {"domain": [*flows, ""], "range": [*_DASHES[: len(flows)], _DASHES[0]]},
        "legend": {"values": flows},
    }


def _width(frame: Frame) -> Spec:
    # One condition per series, because a scale would interpolate the widths.
    named = zip(frame.legend.colours, frame.widths, strict=True)
    tests = [{"test": {"field": "series", "equal": name}, "value": width} for name, width in named]
    return {"condition": tests, "value": frame.widths[-1]}


def _shown() -> Spec:
    return {"condition": {"param": "shown", "value": 1}, "value": 0.05}


def _hover(one: Panel, frame: Frame, side: str, lines: list[tuple[str, str]]) -> Spec:
    columns = [f"c{place}" for place in range(len(lines))]
    tooltip: list[Spec] = [{"field": "t", "type": "quantitative", "title": "time (s)"}]
    for column, line in zip(columns, lines, strict=True):
        title = " ".join(part for part in line if part) or one.title
        field = {"field": column, "type": "quantitative", "format": ".4~g"}
        tooltip.append({**field, "title": f"{title} ({one.unit})"})
    there = {"condition": {"param": "hover", "empty": False, "value": 0.5}, "value": 0}
    return {
        "name": f"{one.name}_{side}_hover",
        "data": {"name": f"{one.name}_at", "format": csv(columns)},
        "mark": {"type": "rule", "color": NEUTRAL, "clip": True},
        "encoding": {
            "x": _x(one, frame, side),
            "opacity": there,
            "tooltip": tooltip,
        },
    }


def _x(one: Panel, frame: Frame, side: str) -> Spec:
    # `zero` too: a layer without its own domain would extend the axis to zero.
    whole = {"domain": [frame.begin_s, frame.duration_s], "nice": False, "zero": False}
    last = one.name == frame.last
    return {
        "field": "t",
        "type": "quantitative",
        "scale": whole if side == "whole" else {"domain": {"param": "part", "encoding": "x"}},
        "axis": {
            "title": "time (s)" if last else None,
            "labels": last,
            "ticks": last,
            "tickCount": 10,
        },
    }


def _colour(frame: Frame, banded: bool = False) -> Spec:
    names = list(frame.legend.colours)
    # A queue without a series has an empty name and needs no entry in the legend.
    return {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": [*names, ""], "range": [*frame.legend.colours.values(), NEUTRAL]},
        # Symbols in the legend are opaque, unlike the shades.
        "legend": {"values": names, **({"symbolOpacity": 1} if banded else {})},
    }
