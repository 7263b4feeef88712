"""Panels of `chart` as views of Vega-Lite."""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import altair as alt

from sojourn.report import theme
from sojourn.report.chart import COLOURS, Document, Layer, Panel, Shade
from sojourn.report.theme import Spec, View


def document(one: Document) -> Spec:
    """Convert a figure to Vega-Lite."""
    resolve = {"scale": {"color": "independent", "strokeDash": "independent"}}
    views = [_row(row) for row in one.rows]
    return theme.document(one.title, one.subtitle, title_offset=12, vconcat=views, resolve=resolve)


def _row(one: Panel | Sequence[Panel] | View) -> View:
    if isinstance(one, Panel):
        return _panel(one)
    if isinstance(one, Sequence):
        return theme.beside(map(_panel, one), resolve={"scale": {"color": "independent"}})
    return one


def _panel(one: Panel) -> alt.LayerSpec:
    x_axis = None if one.bare else alt.Axis(**one.x_axis)
    y_axis = None if one.bare else alt.Undefined
    x = alt.X("x:Q", title=one.x, scale=_scale(one.x_scale), axis=x_axis)
    y = alt.Y("y:Q", title=one.y, scale=_scale(one.y_scale), axis=y_axis)
    colours = _colours(one.layers)
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    colour = alt.Color("name:N", title=None, scale=scale, legend=_legend(one))
    return theme.layered(
        *(_shade(shade, one) for shade in one.behind),
        *(_layer(layer, x, y, colour) for layer in one.layers),
        title=theme.titled(one.title),
        width=one.width,
        height=one.height,
    )


def _shade(shade: Shade, one: Panel) -> alt.Chart:
    data = theme.table([{"from": a, "to": b} for a, b in shade.spans], "from", "to")
    mark = alt.MarkDef("rect", color=shade.colour, opacity=0.6, clip=True)
    # With the panel's own scale; without one, Vega-Lite would round its ends.
    x = alt.X("from:Q", title=one.x, scale=_scale(one.x_scale))
    return theme.chart(data, mark, x, alt.X2("to"))


def _layer(layer: Layer, *channels: alt.SchemaBase) -> alt.Chart:
    rows: list[Spec] = [
        {"x": x, "y": y, "name": layer.name, "place": place}
        for place, (x, y) in enumerate(layer.points)
    ]
    more: alt.SchemaBase | None = None
    if layer.mark["type"] == "line":
        more = alt.Order("place:Q")
    if layer.texts:
        rows = [{**row, "text": text} for row, text in zip(rows, layer.texts, strict=True)]
        more = alt.Text("text:N")
    return theme.chart(theme.table(rows, "x", "y", "place"), layer.mark, *channels, more)


def _legend(one: Panel) -> alt.Legend | None:
    if not one.legend:
        return None
    legend: dict[str, Any] = {} if one.columns is None else {"columns": one.columns}
    marks = {layer.mark["type"] for layer in one.layers}
    # The legends show strokes, but boxes and filled points have no strokes.
    if "boxplot" in marks:
        legend["symbolType"] = "square"
    elif marks == {"point"}:
        legend["symbolType"] = "circle"
    return alt.Legend(**legend)


def _scale(given: Spec) -> alt.Scale:
    return alt.Scale(**{"zero": False, **given})


def _colours(layers: Sequence[Layer]) -> dict[str, str]:
    """Map each name to its own colour, or to the next one of the palette that no layer asks for."""
    colours: dict[str, str] = {}
    taken = {layer.colour for layer in layers}
    free = cycle([colour for colour in COLOURS if colour not in taken] or COLOURS)
    for layer in layers:
        if layer.name in colours:
            continue
        colours[layer.name] = next(free) if layer.colour is None else layer.colour
    return colours
