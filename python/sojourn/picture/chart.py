"""Pictures as data: panels of layers over two axes, which the page and matplotlib both draw.

A picture is described once, here. `web/src/figure` draws it in a report, and `static` for papers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import cycle, pairwise
from math import isfinite
from statistics import quantiles
from typing import Any, Literal, TypedDict

from sojourn.record.formatting import carried
from sojourn.record.legend import INKS, OTHERS, PARTS, Ink
from sojourn.record.record_types import VerdictPicture, VerdictRow

Spec = dict[str, Any]
Point = tuple[float, float]
Row = Sequence[float | None]
Kind = Literal["line", "area", "dots", "text", "boxes", "rects", "rules"]
Steps = Literal["linear", "step-after", "step-before"]

# Wong's colour-blind-safe palette (Nature Methods 8, 441), with grey instead of its yellow.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
PUBLISHED = "#000000"
"""The colour of reference data in the papers' pictures: published values, bounds and targets."""
TEXT = "#222222"

# A panel is 640 pixels wide by default. These are 600 intervals of `thin`, about one per pixel.
_MOST_POINTS = 2400
# A longer text would make a picture as wide as itself.
_LONGEST = 300


class Scale(TypedDict, total=False):
    """The scale of an axis: by default linear, around the data."""

    type: Literal["linear", "log", "sqrt"]
    domain: Sequence[float]
    """Both ends."""
    domainMin: float
    zero: bool
    """Whether the scale reaches to zero."""
    nice: bool
    """False if the scale ends at the data; otherwise, without `domain`, it ends at a tick."""


class Ticks(TypedDict, total=False):
    """The ticks of an axis: by default at round numbers."""

    values: Sequence[float]
    labels: Sequence[str]
    """The texts of `values`, by default the numbers."""
    percent: bool
    tilted: bool


@dataclass(frozen=True)
class Layer:
    """Marks of one kind, with their name in the legend.

    The columns of `points` depend on the kind: x and y of a line, dots and texts; x, lower and
    upper y of an area; the position of a box and its five figures; two corners of a rectangle; two
    ends of a rule, whose missing coordinates are those of the panel. A missing y is a gap.
    """

    name: str
    kind: Kind
    points: Sequence[Row]
    colour: str | None = None
    """A colour such as #0072b2; by default a controller's own, or the next of `COLOURS`."""
    texts: Sequence[str] = ()
    fills: Sequence[str] = ()
    """The colour of each rectangle or text, instead of `colour`."""
    width: float = 1.6
    """The width of lines, in pixels."""
    dash: Sequence[float] = ()
    steps: Steps = "linear"
    shape: str = "circle"
    size: float = 40
    """The area of dots, in square pixels; the thickness of boxes, in pixels."""
    opacity: float = 1
    horizontal: bool = False
    """Whether the figures of boxes are along x."""
    align: Literal["left", "center", "right"] = "center"
    listed: bool = True
    """Whether the name is in the legend of the panel."""
    link: str = ""
    """The link of the picture's `links` to which the layer belongs."""
    part: str = ""
    """The part of its name that the layer shows, such as a flow, in the figures at the pointer."""


@dataclass(frozen=True)
class Shade:
    """Shaded intervals of the x axis, behind all layers."""

    spans: Sequence[tuple[float, float]]
    colour: str


@dataclass(frozen=True)
class Panel:
    """Layers over the same two axes; their colours are complete after `coloured`."""

    title: str
    x: str
    y: str
    layers: Sequence[Layer]
    behind: Sequence[Shade] = ()
    width: int = 640
    height: int = 200
    x_axis: Ticks = field(default_factory=Ticks)
    y_axis: Ticks = field(default_factory=Ticks)
    x_scale: Scale = field(default_factory=Scale)
    y_scale: Scale = field(default_factory=Scale)
    bare: bool = False
    """Without axes and grid, for drawings whose coordinates are not quantities."""
    columns: int | None = None
    """Number of names per row of the legend; by default one row holds all names."""
    legend: bool = True
    """False if a panel beside it, or the picture, shows the same names."""
    zoom: tuple[float, float] | None = None
    """The part of the x axis that a second panel beside this one shows at first."""
    key: str = ""
    """Explains the guides, above the second panel."""


@dataclass(frozen=True)
class Bars:
    """The picture of a verdict, with the colour of each row's controller, if it has one."""

    picture: VerdictPicture
    colours: Sequence[str | None]

    @property
    def rows(self) -> Sequence[VerdictRow]:
        """A bar for each controller."""
        return self.picture["rows"]


@dataclass(frozen=True)
class Document:
    """A picture: the verdict, then rows of panels."""

    title: str
    subtitle: str | Sequence[str]
    rows: Sequence[Panel | Sequence[Panel]]
    keys: Sequence[Layer] = ()
    """The legend of all rows: layers without points."""
    links: Sequence[str] = ()
    """The links that a reader can select; the first is shown. `{link}` in a title is its name."""
    windows: Sequence[tuple[float, float, str]] = ()
    """Parts of the x axis that a reader can select: begin, end, name."""
    bars: Bars | None = None

    @property
    def lines(self) -> list[str]:
        """The lines of the subtitle."""
        lines = [self.subtitle] if isinstance(self.subtitle, str) else self.subtitle
        return [line for line in lines if line]

    @property
    def panels(self) -> list[list[Panel]]:
        """The panels by row, each with its colours."""
        rows = ([row] if isinstance(row, Panel) else row for row in self.rows)
        return [[coloured(one) for one in row] for row in rows]

    @property
    def colours(self) -> set[str]:
        """Every colour of the picture."""
        panels = [panel for row in self.panels for panel in row]
        layers = [*self.keys, *(layer for panel in panels for layer in panel.layers)]
        own = {colour for layer in layers for colour in (layer.colour, *layer.fills) if colour}
        own |= {shade.colour for panel in panels for shade in panel.behind}
        if self.bars:
            own |= {one.colour for one in PARTS.values()} | set(filter(None, self.bars.colours))
        return own


def line(
    name: str,
    points: Iterable[Point],
    colour: str | None = None,
    dash: Sequence[float] = (),
    interpolate: Steps = "linear",
    width: float = 1.6,
) -> Layer:
    """Return a line through the points, in their order."""
    return Layer(name, "line", thin(points), colour, dash=dash, steps=interpolate, width=width)


def dots(
    name: str,
    points: Iterable[Point],
    colour: str | None = None,
    shape: str = "circle",
    size: int = 40,
) -> Layer:
    """Return dots: a circle, square, diamond, cross, triangle-up or triangle-down each."""
    return Layer(name, "dots", list(points), colour, shape=shape, size=size)


def labels(name: str, points: Sequence[Point], texts: Sequence[str], colour: str) -> Layer:
    """Return a text above each point."""
    return Layer(name, "text", list(points), colour, texts)


def boxes(name: str, points: Iterable[Point], colour: str | None = None, size: int = 14) -> Layer:
    """Return a box for each x: the quartiles, with whiskers to the extremes."""
    groups: dict[float, list[float]] = {}
    for x, value in points:
        groups.setdefault(x, []).append(value)
    rows = [(x, *five(values)) for x, values in groups.items()]
    return Layer(name, "boxes", rows, colour, size=size)


def five(values: Sequence[float]) -> tuple[float, float, float, float, float]:
    """Return minimum, quartiles and maximum."""
    if len(values) == 1:
        return (values[0],) * 5
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return min(values), low, middle, high, max(values)


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


def coloured(panel: Panel) -> Panel:
    """Give each name its own look: a controller's, or the next colour that no layer asks for.

    Beside controllers, other names have looks that no controller has.
    """
    known: dict[str, Ink] = {}
    taken = {layer.colour for layer in panel.layers}
    beside = any(layer.name in INKS for layer in panel.layers)
    own_colours = [ink.colour for ink in OTHERS] if beside else COLOURS
    free = cycle([colour for colour in own_colours if colour not in taken] or COLOURS)
    for layer in panel.layers:
        if layer.name not in known:
            own = INKS.get(layer.name) if layer.colour is None else Ink(layer.colour)
            known[layer.name] = own or Ink(next(free))
    looks = ((one, known[one.name]) for one in panel.layers)
    layers = [
        replace(one, colour=one.colour or ink.colour, dash=one.dash or ink.dash)
        for one, ink in looks
    ]
    return replace(panel, layers=layers)


def legend(layers: Iterable[Layer]) -> list[Layer]:
    """Return the first layer of each name that the legend has."""
    first: dict[str, Layer] = {}
    for one in layers:
        if one.listed and one.name and one.kind != "text":
            first.setdefault(one.name, one)
    return list(first.values())


def as_data(figure: Document) -> Spec:
    """Return a picture as data that JSON can carry; keys with their default are left out."""
    return {
        "keys": [_fields(key) for key in figure.keys],
        "links": _shortened(figure.links),
        "windows": _shortened(figure.windows),
        "bars": figure.bars and _shortened(vars(figure.bars)),
        "rows": [[_panel(panel) for panel in row] for row in figure.panels],
    }


def _panel(panel: Panel) -> Spec:
    behind = [{"spans": one.spans, "colour": one.colour} for one in panel.behind]
    return {**_fields(panel), "behind": behind, "layers": [_fields(one) for one in panel.layers]}


def _fields(one: Layer | Panel) -> Spec:
    kept: Spec = {}
    for each in fields(one):
        value = getattr(one, each.name)
        if each.name == "points":
            kept["columns"] = list(zip(*value, strict=True))
        elif value != each.default and not (isinstance(value, (tuple, dict, list)) and not value):
            kept[each.name] = _shortened(value)
    return kept


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return short(value)
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, range)):
        return [_shortened(item) for item in value]
    return value


def short(text: str) -> str:
    """Return a text that fits into a picture, and that SVG and HTML can carry."""
    text = carried(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
