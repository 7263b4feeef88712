"""Panels of lines and points with a legend, for figures over any two quantities."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sojourn.report.theme import View

Spec = dict[str, Any]
Point = tuple[float, float]

# Wong's colour-blind-safe palette (Nature Methods 8, 441), with grey instead of its yellow.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
PUBLISHED = "#000000"
"""The colour of reference data in the papers' figures: published values, bounds and targets."""

# A panel is 640 pixels wide by default. These are 600 intervals of `thin`, about one per pixel.
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
class Shade:
    """Shaded intervals of the x axis, behind all layers."""

    spans: Sequence[tuple[float, float]]
    colour: str


@dataclass(frozen=True)
class Panel:
    """Layers over the same two axes."""

    title: str
    x: str
    y: str
    layers: Sequence[Layer]
    behind: Sequence[Shade] = ()
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


@dataclass(frozen=True)
class Document:
    """A figure: rows of panels, each with its own legend; views of altair stay as they are."""

    title: str
    subtitle: str | Sequence[str]
    rows: "Sequence[Panel | Sequence[Panel] | View]"


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
    """Return a layer of points without a line; `shape` is one of Vega's."""
    mark = {"type": "point", "shape": shape, "size": size, "filled": True, "clip": True}
    return Layer(name, list(points), mark, colour)


def labels(name: str, points: Sequence[Point], texts: Sequence[str], colour: str) -> Layer:
    """Return a layer with a text at each point."""
    mark = {"type": "text", "fontSize": 11, "baseline": "bottom", "dy": -3}
    return Layer(name, list(points), mark, colour, texts)


def boxes(name: str, points: Iterable[Point], colour: str | None = None, size: int = 14) -> Layer:
    """Return a layer with a box for each x: the quartiles, with whiskers to the extremes."""
    mark = {"type": "boxplot", "orient": "vertical", "extent": "min-max", "size": size}
    return Layer(name, list(points), mark, colour)


def shade(spans: Iterable[tuple[float, float]], colour: str = "#dddddd") -> Shade:
    """Return shaded intervals of the x axis."""
    return Shade(list(spans), colour)


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
