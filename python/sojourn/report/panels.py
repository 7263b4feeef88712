"""One row of the figure, as Vega-Lite: the whole run on the left, a part of it on the right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.legend import Legend

Spec = dict[str, Any]

WHOLE_WIDTH = 500
DETAIL_WIDTH = 420
NEUTRAL = "#444444"
# Layers that are made for a time axis.
Guides = Callable[[Spec], list[Spec]]
_GUIDE = "#8c8c8c"
_SIDES = ("whole", "detail")
# From which column to which, how opaque: a band's edges stay visible under others.
_SHADES = (("p5", "p95", 0.15), ("p25", "p75", 0.25))
_BAND = ["v", "p5", "p25", "p75", "p95"]
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])


@dataclass(frozen=True)
class Panel:
    """One row: which data it draws and how its axis reads."""

    name: str
    title: str
    unit: str
    height: int
    from_zero: bool = True
    key: str = ""
    """What its guides are, said above the right side, where no curve is."""


@dataclass(frozen=True)
class Frame:
    """What all rows share."""

    duration_s: float
    legend: Legend
    changes: list[float]
    last: str
    interactive: bool
    begin_s: float = 0.0
    """When the time axis begins; it ends at `duration_s`."""
    widths: tuple[float, ...] = ()
    """The width of each series' lines, where they differ."""


def row(
    one: Panel,
    frame: Frame,
    lines: list[tuple[str, str]],
    behind: list[Spec],
    before: Guides,
    banded: bool = False,
) -> list[Spec]:
    """Both panels of a row: lines over time, with guides behind and before them.

    Where it is `banded`, each line is a median, over the shades of its percentiles.
    """
    panels = []
    for side in _SIDES:
        shades = [_shade(one, frame, side, *shade) for shade in _shades(frame.legend) if banded]
        layers = [*behind, _changes(frame), *shades, _lines(one, frame, side, banded)]
        # Of all layers, the last one's time axis counts: all in front have the same.
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
    """The data sets of the left and the right side: the same where a reader can zoom."""
    return [one.name if frame.interactive else f"{one.name}_{side}" for side in _SIDES]


def views(panels: list[Panel], side: str, part: str) -> list[str]:
    """Names of the layers that a selection lives in."""
    return [f"{one.name}_{side}_{part}" for one in panels]


def capacity_step(name: str = "capacity", colour: str = "#d4d4d4") -> Spec:
    """The link's capacity as a step line behind the flows' rates."""
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
    """Horizontal guides: values of `t`, `t2`, `v`."""
    rule = {"type": "rule", "strokeDash": [6, 3], "strokeWidth": 1.6, "color": colour}
    y = {"field": "v", "type": "quantitative"}
    return {
        "data": {"values": values},
        "mark": {**rule, "clip": True},
        "encoding": {"x": x, "x2": {"field": "t2"}, "y": y},
    }


def corrected(values: list[Spec], frame: Frame, x: Spec) -> Spec:
    """The bound for what the link really carried: values of `t`, `t2`, `v`, `series`."""
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
    """How inline data is read: `t` and these columns are numbers."""
    return {"type": "csv", "parse": dict.fromkeys(["t", *columns], "number")}


def _title(one: Panel, side: str) -> Spec:
    if side == "whole":
        return {"text": f"{one.title} ({one.unit})", "anchor": "start", "offset": 5}
    # The right side repeats the row's axis; an invisible title keeps both at one height.
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
        # Beside a width of the mark itself, this one would not count.
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
    """Both for one series; the quartiles of several, which overlap less."""
    return _SHADES[len(legend.colours) > 1 :]


def band_text(legend: Legend) -> str:
    """What lines and shades are where a row has more flows than can be told apart."""
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
    """Whether flows that share a colour are told apart by their dashes; few can be."""
    shared = key.by == "run" or len(key.flows) > len(key.colours)
    return shared and 1 < len(key.flows) <= len(_DASHES)


def _dash(flows: list[str]) -> Spec:
    # What belongs to no flow, a queue, has the empty name and a whole line.
    return {
        "field": "flow",
        "type": "nominal",
        "scale": {"domain": [*flows, ""], "range": [*_DASHES[: len(flows)], _DASHES[0]]},
        "legend": {"values": flows},
    }


def _width(frame: Frame) -> Spec:
    # A condition a series: a scale of widths would lie evenly between the first and the last.
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
    # Said of zero too: layers without a domain of their own would bring it in.
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
    # A queue that belongs to no series has the empty name; it needs no entry in the legend.
    return {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": [*names, ""], "range": [*frame.legend.colours.values(), NEUTRAL]},
        # In a legend, no symbol is as pale as a shade.
        "legend": {"values": names, **({"symbolOpacity": 1} if banded else {})},
    }
