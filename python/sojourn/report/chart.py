"""Panels of lines and points with a legend, for figures over any two quantities."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import Any, Literal

from sojourn.report.look import CONFIG

Spec = dict[str, Any]
Point = tuple[float, float]

# Wong's colour-blind-safe palette (Nature Methods 8, 441).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
PUBLISHED = "#000000"
"""The colour of published data, in every figure."""

# A picture is 640 pixels wide; more than four points per pixel are not visible.
_MOST_POINTS = 2400


@dataclass(frozen=True)
class Layer:
    """One line, or one set of points, with its name in the legend."""

    name: str
    points: Sequence[Point]
    mark: Spec
    colour: str | None = None
    texts: Sequence[str] = ()
    """The texts of the points, if the layer draws labels."""


@dataclass(frozen=True)
class Panel:
    """Layers over the same two axes."""

    title: str
    x: str
    y: str
    layers: Sequence[Layer]
    behind: Sequence[Spec] = ()
    """Layers that are drawn first: see `shade`."""
    width: int = 640
    height: int = 200
    x_axis: Spec = field(default_factory=dict)
    """Properties of the axis, such as `{"values": [10, 100]}` to label only these."""
    x_scale: Spec = field(default_factory=dict)
    y_scale: Spec = field(default_factory=dict)
    bare: bool = False
    """Without axes and grid, for drawings whose coordinates are not quantities."""
    columns: int | None = None
    """Number of names per row of the legend; by default one row holds all names."""
    legend: bool = True
    """False if a panel beside it shows the same names."""


def line(
    name: str,
    points: Iterable[Point],
    colour: str | None = None,
    dash: Sequence[int] = (),
    interpolate: Literal["linear", "step-after", "step-before"] = "linear",
    width: float = 1.6,
) -> Layer:
    """Return a line through the points, in their order."""
    mark: Spec = {"type": "line", "strokeWidth": width, "interpolate": interpolate, "clip": True}
    if dash:
        mark["strokeDash"] = list(dash)
    return Layer(name, thin(points), mark, colour)


def dots(
    name: str,
    points: Iterable[Point],
    colour: str | None = None,
    shape: str = "circle",
    size: int = 40,
) -> Layer:
    """Draw the points without a line; `shape` is one of Vega's."""
    mark = {"type": "point", "shape": shape, "size": size, "filled": True, "clip": True}
    return Layer(name, list(points), mark, colour)


def labels(name: str, points: Sequence[Point], texts: Sequence[str], colour: str) -> Layer:
    """Draw a text at each point."""
    mark = {"type": "text", "fontSize": 11, "baseline": "bottom", "dy": -3}
    return Layer(name, list(points), mark, colour, texts)


def boxes(name: str, points: Iterable[Point], colour: str | None = None, size: int = 14) -> Layer:
    """Draw a box for all points at the same x: the quartiles, with whiskers to the extremes."""
    mark = {"type": "boxplot", "orient": "vertical", "extent": "min-max", "size": size}
    return Layer(name, list(points), mark, colour)


def shade(spans: Iterable[tuple[float, float]], colour: str = "#dddddd") -> Spec:
    """Shade intervals of the x axis, behind all layers."""
    return {
        "data": {"values": [{"from": begin, "to": end} for begin, end in spans]},
        "mark": {"type": "rect", "color": colour, "opacity": 0.6, "clip": True},
        "encoding": {
            "x": {"field": "from", "type": "quantitative"},
            "x2": {"field": "to"},
        },
    }


def document(
    title: str, subtitle: str | Sequence[str], rows: Sequence[Panel | Sequence[Panel] | Spec]
) -> Spec:
    """Arrange rows of panels, each with its own legend; views are added unchanged."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {
            "text": title,
            "subtitle": subtitle if isinstance(subtitle, str) else list(subtitle),
            "anchor": "start",
            "fontSize": 18,
            "offset": 12,
        },
        "background": "white",
        "padding": 14,
        "vconcat": [_row(one) for one in rows],
        "resolve": {"scale": {"color": "independent", "strokeDash": "independent"}},
        "config": CONFIG,
    }


def thin(points: Iterable[Point], most: int = _MOST_POINTS) -> list[Point]:
    """Reduce a line to about `most` points, keeping its appearance.

    Each interval keeps its first, last, lowest and highest point. Points that are not finite are
    left out. Only lines whose x increases are thinned.
    """
    kept = [point for point in points if isfinite(point[0]) and isfinite(point[1])]
    if len(kept) <= most or any(b[0] < a[0] for a, b in pairwise(kept)):
        return kept
    step = -(-len(kept) * 4 // most)
    chosen: list[Point] = []
    for begin in range(0, len(kept), step):
        part = kept[begin : begin + step]
        places = {0, len(part) - 1}
        places.add(min(range(len(part)), key=lambda place: part[place][1]))
        places.add(max(range(len(part)), key=lambda place: part[place][1]))
        chosen += [part[place] for place in sorted(places)]
    return chosen


def _row(one: Panel | Sequence[Panel] | Spec) -> Spec:
    if isinstance(one, dict):
        return one
    if isinstance(one, Panel):
        return panel(one)
    resolve = {"scale": {"color": "independent"}}
    return {"hconcat": [panel(part) for part in one], "resolve": resolve}


def panel(one: Panel) -> Spec:
    """Convert a panel to a view of Vega-Lite."""
    colours = _colours(one.layers)
    scale = {"domain": list(colours), "range": list(colours.values())}
    colour: Spec = {"field": "name", "type": "nominal", "title": None, "scale": scale}
    colour["legend"] = _legend(one)
    axes: Spec = {
        "x": {
            "field": "x",
            "type": "quantitative",
            "title": one.x,
            "scale": _scale(one.x_scale),
            "axis": one.x_axis,
        },
        "y": {"field": "y", "type": "quantitative", "title": one.y, "scale": _scale(one.y_scale)},
    }
    if one.bare:
        axes = {name: {**axis, "axis": None} for name, axis in axes.items()}
    return {
        "title": {"text": one.title, "anchor": "start"},
        "width": one.width,
        "height": one.height,
        "layer": [
            *(_behind(spec, axes) for spec in one.behind),
            *(_layer(layer, axes, colour) for layer in one.layers),
        ],
    }


def _behind(spec: Spec, axes: Spec) -> Spec:
    """Apply the panel's own scale to the view; without one, Vega-Lite would round its ends."""
    encoding = spec["encoding"]
    x = {"title": axes["x"]["title"], "scale": axes["x"]["scale"], **encoding["x"]}
    return {**spec, "encoding": {**encoding, "x": x}}


def _legend(one: Panel) -> Spec | None:
    if not one.legend:
        return None
    legend: Spec = {} if one.columns is None else {"columns": one.columns}
    marks = {layer.mark["type"] for layer in one.layers}
    # The legends show strokes, but boxes and filled points have none.
    if "boxplot" in marks:
        legend["symbolType"] = "square"
    elif marks == {"point"}:
        legend["symbolType"] = "circle"
    return legend


def _scale(given: Spec) -> Spec:
    return {"zero": False, **given}


def _layer(layer: Layer, axes: Spec, colour: Spec) -> Spec:
    values = [
        {"x": x, "y": y, "name": layer.name, "place": place}
        for place, (x, y) in enumerate(layer.points)
    ]
    encoding = {**axes, "color": colour}
    if layer.mark["type"] == "line":
        encoding["order"] = {"field": "place"}
    if layer.texts:
        encoding["text"] = {"field": "text"}
        values = [{**value, "text": text} for value, text in zip(values, layer.texts, strict=True)]
    return {"data": {"values": values}, "mark": layer.mark, "encoding": encoding}


def _colours(layers: Sequence[Layer]) -> dict[str, str]:
    """Map each name to its own colour, or to the next one of the palette."""
    colours: dict[str, str] = {}
    taken = {layer.colour for layer in layers}
    free = [colour for colour in COLOURS if colour not in taken] or list(COLOURS)
    for layer in layers:
        if layer.name in colours:
            continue
        if layer.colour is not None:
            colours[layer.name] = layer.colour
        else:
            place = sum(other in COLOURS for other in colours.values())
            colours[layer.name] = free[place % len(free)]
    return colours
