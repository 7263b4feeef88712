"""The marks of layers, drawn on matplotlib's axes."""

from collections.abc import Sequence
from itertools import groupby
from math import nan
from typing import TYPE_CHECKING, Any

from sojourn.picture.chart import Layer, Row, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINT = 0.75
"""The points of a CSS pixel."""
MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "cross": "P",
    "triangle-up": "^",
    "triangle-down": "v",
}


def plain(name: str) -> str:
    """Return a name in a legend: matplotlib leaves out names that begin with an underscore."""
    text = short(name).replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def _columns(points: Sequence[Row]) -> list[list[float]]:
    """Return the columns; a gap is not a number."""
    return [
        [nan if value is None else value for value in column]
        for column in zip(*points, strict=True)
    ]


def dashes(layer: Layer) -> Any:
    """Return the style of a line, whose dashes matplotlib counts in widths of the line."""
    return (0, [part / layer.width for part in layer.dash]) if layer.dash else "-"


def _line(axes: "Axes", layer: Layer, ink: str, order: float) -> None:
    if not layer.points:
        return
    x, y = _columns(layer.points)
    style = {"linear": "default", "step-after": "steps-post", "step-before": "steps-pre"}
    axes.plot(
        x,
        y,
        color=ink,
        lw=layer.width * POINT,
        ls=dashes(layer),
        drawstyle=style[layer.steps],
        solid_joinstyle="round",
        alpha=layer.opacity,
        zorder=order,
    )
    single = [
        (row[0], row[1])
        for is_gap, part in groupby(layer.points, lambda row: row[1] is None)
        if not is_gap and len(rows := list(part)) == 1
        for row in rows
    ]
    if single:
        axes.plot(*_columns(single), "o", color=ink, ms=2.4, alpha=layer.opacity, zorder=order)


def _area(axes: "Axes", layer: Layer, ink: str, order: float) -> None:
    if layer.points:
        x, low, high = _columns(layer.points)
        axes.fill_between(x, low, high, color=ink, alpha=layer.opacity, lw=0, zorder=order)


def _dots(axes: "Axes", layer: Layer, ink: str, order: float) -> None:
    if layer.points:
        x, y = _columns(layer.points)
        size = layer.size * POINT**2
        marker = MARKERS.get(layer.shape, "o")
        axes.scatter(x, y, s=size, c=ink, marker=marker, lw=0, alpha=layer.opacity, zorder=order)


def _text(axes: "Axes", layer: Layer, ink: str, order: float) -> None:
    inside = bool(layer.fills)
    for place, (row, text) in enumerate(zip(layer.points, layer.texts, strict=True)):
        axes.annotate(
            plain(text),
            (row[0], row[1]),
            xytext=(0, 0 if inside else 3),
            textcoords="offset points",
            color=layer.fills[place] if inside else ink,
            ha=layer.align,
            va="center" if inside else "bottom",
            annotation_clip=True,
            zorder=order,
        )


def _boxes(axes: "Axes", layer: Layer, ink: str, order: float) -> None:
    for at, low, q1, middle, q3, high in _columns_rows(layer.points):
        lines = (((low, high), 1.05), ((q1, q3), layer.size * POINT))
        for ends, width in lines:
            pair = (ends, (at, at)) if layer.horizontal else ((at, at), ends)
            axes.plot(*pair, color=ink, lw=width, solid_capstyle="butt", zorder=order)
        mark = (middle, at) if layer.horizontal else (at, middle)
        axes.plot(
            *mark,
            marker="|" if layer.horizontal else "_",
            color=axes.get_facecolor(),
            ms=layer.size * POINT,
            mew=1.5,
            zorder=order + 0.005,
        )


def _columns_rows(points: Sequence[Row]) -> list[tuple[float, ...]]:
    return list(zip(*_columns(points), strict=True))


def _rects(axes: "Axes", layer: Layer, ink: str, order: float) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    rows = _columns_rows(layer.points)
    patches = [Rectangle((a, b), c - a, d - b) for a, b, c, d in rows]
    colours = list(layer.fills) or ink
    axes.add_collection(
        PatchCollection(patches, facecolor=colours, lw=0, alpha=layer.opacity, zorder=order)
    )


def _rules(axes: "Axes", layer: Layer, ink: str, order: float) -> None:
    style: dict[str, Any] = {
        "color": ink,
        "lw": layer.width * POINT,
        "ls": dashes(layer),
        "zorder": order,
    }
    ends = axes.get_xlim()
    for place, (x0, y0, x1, y1) in enumerate(layer.points):
        if y0 is None or y1 is None:
            axes.axvline(x0 or 0.0, **style)
            continue
        begin, end = (ends[0] if x0 is None else x0), (ends[1] if x1 is None else x1)
        axes.plot((begin, end), (y0, y1), **style)
        right = min(end, ends[1])
        if (
            layer.texts
            and layer.texts[place]
            and ends[0] < right
            and begin < ends[1]
            and y1 <= axes.get_ylim()[1]
        ):
            axes.annotate(
                layer.texts[place],
                (right, y1),
                xytext=(-3, 2),
                textcoords="offset points",
                ha="right",
                va="bottom",
                color=ink,
                zorder=order,
            )


DRAW = {
    "line": _line,
    "area": _area,
    "dots": _dots,
    "text": _text,
    "boxes": _boxes,
    "rects": _rects,
    "rules": _rules,
}
