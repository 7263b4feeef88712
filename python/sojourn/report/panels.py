"""One row of the figure: the whole run on the left, a part of it on the right."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from sojourn.legend import Legend
from sojourn.report.theme import chart, columns, layered, table, titled

Side = Literal["whole", "detail"]
# Builds layers for a side.
Ground = Callable[[Side], Sequence[alt.Chart]]
# Builds layers for a given time axis of a side.
Guides = Callable[[alt.X, Side], list[alt.Chart]]
Values = Sequence[Mapping[str, Any]]

WIDTHS: dict[Side, int] = {"whole": 500, "detail": 420}
NEUTRAL = "#444444"
BOUND = "#d0006f"
"""The colour of the bound, which no controller has: `ideal`, which meets it, is nearly black."""
UNAVOIDABLE = "#d0006f"
_GUIDE = "#8c8c8c"
Shades = Sequence[tuple[str, str, float]]
"""First and last column of each band, and opacity."""

# The edges of a band stay visible below other bands.
_FLOW_SHADES: Shades = (("p5", "p95", 0.15), ("p25", "p75", 0.25))
SEED_SHADES: Shades = (("p5", "p95", 0.18),)
"""The band of repeated runs."""

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
    behind: Ground,
    before: Guides,
    shades: Shades = (),
) -> list[alt.LayerSpec]:
    """Return both panels of a row: lines over time, with guides behind and in front of them.

    With `shades`, each line is a median, drawn over shaded percentiles.
    """
    panels = []
    for side, width in WIDTHS.items():
        bands = [_shade(one, frame, side, *shade) for shade in shades]
        layers = [*behind(side), _changes(frame), *bands, _lines(one, frame, side, bool(shades))]
        # The time axis of the last layer applies to the panel; all layers in front share it.
        layers += before(_x(one, frame, side), side)
        if frame.interactive:
            layers.append(_hover(one, frame, side, lines))
        title = _title(one, side)
        panels.append(layered(*layers, width=width, height=one.height, title=title))
    return panels


def data_names(one: Panel, frame: Frame) -> list[str]:
    """The data sets of the left and the right side; both are the same if a reader can zoom."""
    return [one.name if frame.interactive else f"{one.name}_{side}" for side in WIDTHS]


def views(panels: list[Panel], side: Side, part: str) -> list[str]:
    """Return names of the layers that hold a selection."""
    return [f"{one.name}_{side}_{part}" for one in panels]


def capacity_step(name: str = "capacity", ink: str = "#d4d4d4") -> alt.Chart:
    """Draw the link's capacity as a step line behind the rates of the flows."""
    mark = alt.MarkDef("line", color=ink, strokeWidth=5, interpolate="step-before", clip=True)
    return chart(_named(name, ["v"]), mark, alt.X("t:Q"), alt.Y("v:Q"))


def levels(values: Values, ink: str, x: alt.X) -> alt.Chart:
    """Draw horizontal guides from values of `t`, `t2`, `v`."""
    mark = alt.MarkDef("rule", color=ink, strokeWidth=1.6, strokeDash=[6, 3], clip=True)
    return chart(table(values, "t", "t2", "v"), mark, x, alt.X2("t2"), alt.Y("v:Q"))


def names(values: Values, ink: str) -> alt.Chart:
    """Write the `text` of each guide above its right end."""
    mark = alt.MarkDef(
        "text", color=ink, align="right", baseline="bottom", dy=-2, fontSize=11, clip=True
    )
    return chart(table(values, "t2", "v"), mark, alt.X("t2:Q"), alt.Y("v:Q"), alt.Text("text:N"))


def floor(name: str, frame: Frame, side: Side) -> alt.Chart:
    """Shade the unavoidable delay, from the data set's `t` and `v`."""
    mark = alt.MarkDef("area", color=UNAVOIDABLE, opacity=0.35, interpolate="linear", clip=True)
    near = _near(frame, side)
    return chart(_named(name, ["v"]), mark, alt.X("t:Q"), alt.Y("v:Q"), transform=near)


def band_text(legend: Legend) -> str:
    """Explain lines and shades of a row with too many flows to distinguish."""
    shades = {"p5": "pale shade: 5th to 95th percentile", "p25": "shade: 25th to 75th percentile"}
    parts = [shades[low] for low, _, _ in flow_shades(legend)]
    return "; ".join([f"lines: medians of {len(legend.flows):,} flows", *parts])


def _named(data: str, numbers: list[str]) -> alt.NamedData:
    return alt.NamedData(data, format=columns("t", *numbers))


def _title(one: Panel, side: Side) -> alt.Title:
    if side == "whole":
        return titled(f"{one.title} ({one.unit})", offset=5)
    # The right side repeats the row's axis; a blank title keeps both sides at the same height.
    return titled(one.key or " ", offset=5, fontWeight="normal", color=NEUTRAL)


def _changes(frame: Frame) -> alt.Chart:
    mark = alt.MarkDef("rule", color=_GUIDE, strokeWidth=1, strokeDash=[2, 2], clip=True)
    return chart(table([{"t": at} for at in frame.changes], "t"), mark, alt.X("t:Q"))


def _lines(one: Panel, frame: Frame, side: Side, banded: bool) -> alt.Chart:
    # A width in the mark itself would override that of a series.
    width = alt.Undefined if frame.widths else 1.1 if side == "whole" else 1.6
    scale, axis = alt.Scale(zero=one.from_zero), alt.Axis(title=None, tickCount=5)
    return chart(
        _named(_data(one, frame, side), _BAND if banded else ["v"]),
        alt.MarkDef("line", strokeJoin="round", strokeWidth=width, clip=True),
        _x(one, frame, side),
        alt.Y("v:Q", scale=scale, axis=axis),
        colour(frame),
        alt.Detail("flow:N"),
        _opacity(frame),
        _width(frame),
        _dash(frame.legend),
        name=f"{one.name}_{side}_lines",
        transform=_near(frame, side),
    )


def flow_shades(legend: Legend) -> Shades:
    """Both shades for one series; only the quartiles of several, because they overlap less."""
    return _FLOW_SHADES[len(legend.colours) > 1 :]


def _shade(one: Panel, frame: Frame, side: Side, low: str, high: str, opacity: float) -> alt.Chart:
    return chart(
        _named(_data(one, frame, side), _BAND),
        alt.MarkDef("area", opacity=opacity, line=False, clip=True),
        _x(one, frame, side),
        alt.Y(f"{low}:Q"),
        alt.Y2(high),
        colour(frame),
        alt.Detail("flow:N"),
        _opacity(frame, opacity, 0.02),
        transform=_near(frame, side),
    )


def _near(frame: Frame, side: Side) -> Any:
    """Keep only the selected range on the right, so that the other axis fits it."""
    if side == "whole" or not frame.interactive:
        return alt.Undefined
    return [alt.FilterTransform({"param": "part"})]


def _data(one: Panel, frame: Frame, side: Side) -> str:
    return data_names(one, frame)[list(WIDTHS).index(side)]


def _dash(key: Legend) -> alt.StrokeDash | None:
    """Dashes distinguish flows of one colour; only a few dash patterns are readable."""
    shared = key.by == "run" or len(key.flows) > len(key.colours)
    if not shared or not 1 < len(key.flows) <= len(_DASHES):
        return None
    # Data without a flow, such as a queue, has an empty name and a solid line.
    dashes = [*_DASHES[: len(key.flows)], _DASHES[0]]
    scale = alt.Scale(domain=[*key.flows, ""], range=dashes)
    return alt.StrokeDash("flow:N", scale=scale, legend=alt.Legend(values=key.flows))


def _width(frame: Frame) -> alt.StrokeWidthValue | None:
    if not frame.widths:
        return None
    # One condition per series, because a scale would interpolate the widths.
    named = zip(frame.legend.colours, frame.widths, strict=True)
    tests = [{"test": {"field": "series", "equal": name}, "value": width} for name, width in named]
    return alt.StrokeWidthValue(frame.widths[-1], condition=tests)


def _opacity(frame: Frame, chosen: float = 1, other: float = 0.05) -> alt.OpacityValue | None:
    """Fade the series that are not chosen in the legend."""
    if not frame.interactive:
        return None
    return alt.OpacityValue(other, condition={"param": "shown", "value": chosen})


def _hover(one: Panel, frame: Frame, side: Side, lines: list[tuple[str, str]]) -> alt.Chart:
    numbers = [f"c{place}" for place in range(len(lines))]
    tooltip = [alt.Tooltip("t:Q", title="time (s)")]
    for column, line in zip(numbers, lines, strict=True):
        title = f"{' '.join(part for part in line if part) or one.title} ({one.unit})"
        tooltip.append(alt.Tooltip(f"{column}:Q", format=".4~g", title=title))
    below = {"param": "hover", "empty": False, "value": 0.5}
    return chart(
        _named(f"{one.name}_at", numbers),
        alt.MarkDef("rule", color=NEUTRAL, clip=True),
        _x(one, frame, side),
        alt.OpacityValue(0, condition=below),
        tooltip,
        name=f"{one.name}_{side}_hover",
    )


def _x(one: Panel, frame: Frame, side: Side) -> alt.X:
    # `zero` too: a layer without its own domain would extend the axis to zero.
    whole = alt.Scale(domain=[frame.begin_s, frame.duration_s], nice=False, zero=False)
    detail = alt.Scale(domain={"param": "part", "encoding": "x"})
    last = one.name == frame.last
    axis = alt.Axis(title="time (s)" if last else None, labels=last, ticks=last, tickCount=10)
    return alt.X("t:Q", scale=whole if side == "whole" else detail, axis=axis)


def colour(frame: Frame) -> alt.Color:
    """Return the colour of each series, with the figure's legend."""
    names = list(frame.legend.colours)
    # A queue without a series has an empty name and needs no entry in the legend.
    scale = alt.Scale(domain=[*names, ""], range=[*frame.legend.colours.values(), NEUTRAL])
    # Symbols in the legend are opaque, unlike the shades.
    legend = alt.Legend(values=names, symbolOpacity=1)
    return alt.Color("series:N", scale=scale, legend=legend)
