"""One part of figure 9: lines of the model, and simulated dots, for several kinds of Rapid.

Lines are the paper's model at its worst phase; dots are simulations at the same phase. Each row
has one kind of Rapid and of bursts. The paper has one row, without dots.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite, nan
from statistics import median

from sojourn.picture import chart
from sojourn.picture.chart import Panel, Point
from sojourn_papers import Claim, Lab

from .setting import (
    AS_PRINTED,
    CAPACITY_MBIT,
    MODEL_SENDER,
    Job,
    Kind,
    Setting,
    measure,
)

_PERFECT_EXPONENTIAL = replace(MODEL_SENDER, filter="exponential")
_PROBING = replace(AS_PRINTED, filter="linear")
_KINDS = (
    MODEL_SENDER,
    _PERFECT_EXPONENTIAL,
    _PROBING,
    AS_PRINTED,
    replace(MODEL_SENDER, distribution="exponential"),
    replace(AS_PRINTED, distribution="exponential"),
)
_QUICK_KINDS = (_KINDS[0], _KINDS[3], _KINDS[4])


@dataclass(frozen=True)
class Curve:
    """A line of a panel: the positions of its dots, and its range."""

    column: str
    name: str
    at: Mapping[float, Setting]
    drawn: Mapping[float, Setting]


@dataclass(frozen=True)
class Sheet:
    """One of the three parts of the figure."""

    name: str
    title: str
    axis: str
    curves: Sequence[Curve]
    width: int


Dots = Mapping[tuple[str, str], Sequence[Point]]


def used(setting: Setting) -> float:
    """The model's utilisation; NaN if the model refuses, because the queue would never empty."""
    try:
        return setting.model()["utilisation"]
    except ValueError:
        return nan


def run(lab: Lab, sheet: Sheet) -> dict[Kind, Dots]:
    """Simulate every dot, and draw the figure."""
    kinds = lab.pick(_KINDS, _QUICK_KINDS)
    found: dict[Kind, Dots] = {}
    for kind in kinds:
        is_random = kind.distribution == "exponential"
        seconds = lab.pick(12.0, 5.0) if is_random else lab.pick(3.0, 1.0)
        places = [(curve, x) for curve in sheet.curves for x in curve.at]
        jobs = [Job(curve.at[x], kind, seconds) for curve, x in places]
        dots: dict[tuple[str, str], list[Point]] = {}
        for (curve, x), one in zip(places, measure(lab, jobs), strict=True):
            dots.setdefault((curve.column, curve.name), []).append((x, one.used))
        found[kind] = dots
    _draw(lab, sheet, found)
    return found


def _draw(lab: Lab, sheet: Sheet, found: Mapping[Kind, Dots]) -> None:
    rows = []
    columns = list(dict.fromkeys(curve.column for curve in sheet.curves))
    names = list(dict.fromkeys(curve.name for curve in sheet.curves))
    colours = dict(zip(names, chart.COLOURS, strict=False))
    for place, (kind, dots) in enumerate(found.items()):
        row = []
        for column in columns:
            curves = [one for one in sheet.curves if one.column == column]
            # Show the legend once, in the panel at which it does not shift the others.
            legend = place == 0 and column == columns[-1]
            title = kind.short if column == columns[0] else column
            row.append(_panel(sheet, title, curves, dots, colours, legend))
        rows.append(row)
    subtitle = [
        "lines: the paper's model at its worst phase; dots: simulations there",
        f"columns: {'; '.join(columns)}",
    ]
    lab.draw(f"figure-{sheet.name}", chart.Document(sheet.title, subtitle, rows))


def _panel(
    sheet: Sheet,
    title: str,
    curves: Sequence[Curve],
    dots: Dots,
    colours: Mapping[str, str],
    legend: bool,
) -> Panel:
    layers = []
    for curve in curves:
        line = [(x, used(setting)) for x, setting in curve.drawn.items()]
        colour = colours[curve.name]
        layers.append(chart.line(curve.name, line, colour))
        layers.append(chart.dots(curve.name, dots[curve.column, curve.name], colour, size=30))
    return Panel(
        title,
        sheet.axis,
        "utilisation",
        layers,
        width=sheet.width,
        height=130,
        x_scale={"nice": False},
        y_scale={"domain": [0.6, 1.01]},
        legend=legend,
    )


def near(sheet: Sheet, found: Mapping[Kind, Dots]) -> list[Claim]:
    """Measure the distance of each kind's dots from the model's lines.

    Beyond the paper: its figure 9 draws only the model and gives no numbers.
    """
    return [_near(sheet, kind, dots) for kind, dots in found.items()]


def _near(sheet: Sheet, kind: Kind, dots: Dots) -> Claim:
    small: list[float] = []
    great: list[float] = []
    refused = 0
    for curve in sheet.curves:
        for x, ours in dots[curve.column, curve.name]:
            setting = curve.at[x]
            model = used(setting)
            if not isfinite(model):
                refused += 1
                continue
            part = small if setting.burst <= _HALF * CAPACITY_MBIT else great
            part.append(ours - model)
    parts = [f"bursts of at most half of C: {_apart(small)}", f"larger bursts: {_apart(great)}"]
    if refused:
        parts.append(f"{refused} more without a model value, because the queue never empties")
    return Claim(
        f"beyond the paper: {kind.name}: deviation from the model",
        None,
        _apart([*small, *great]),
        "",
        None,
        f"{'; '.join(parts)}; {_why(kind)}",
    )


# Larger bursts exceed the range of a stream of 30 packets, which extends to 0.57 of its rate.
_HALF = 0.5


def _apart(signed: Sequence[float]) -> str:
    """Format the size of departures in percentage points, and their range with signs."""
    if not signed:
        return "none"
    points = sorted(100 * abs(one) for one in signed)
    high = points[ceil(0.95 * len(points)) - 1]
    least, most = (f"{100 * one:+.1f}" for one in (min(signed), max(signed)))
    return (
        f"median {median(points):.2f}, p95 {high:.1f}, maximum {points[-1]:.1f} points "
        f"({least} to {most}) over {len(points)}"
    )


def _why(kind: Kind) -> str:
    """List the differences between this kind and the model."""
    reasons = []
    if kind.distribution == "exponential":
        reasons.append("random bursts have no phase, and so no worst phase")
    if kind.filter == "exponential":
        reasons.append("after tau, the filter has made 63 % of a change, the model all of it")
    if kind.estimator == "probe":
        reasons.append(
            "the rates of a stream are 4.5 % apart, and its estimate is the lower of two; a stream "
            "probes from 0.57 of its mean rate to twice it, so larger changes take several streams"
        )
    return "; ".join(reasons or ["packets are not fluid"])
