"""A part of figure 9: lines of the model, and simulated dots on them, for several kinds of Rapid.

Lines are the paper's model at its worst phase, dots are simulations there. A row is a kind of
Rapid, and of bursts; the paper has one row, of lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from statistics import median

from packet_scale_setting import (
    AS_PRINTED,
    CAPACITY_MBIT,
    MODEL_SENDER,
    Job,
    Kind,
    Setting,
    measure,
)
from sojourn.papers import Claim, Lab
from sojourn.report import chart
from sojourn.report.chart import Panel, Point

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

_GRAIN = "the rates of a stream are 4.5 % apart, and the lower of two counts"
# Where dots must lie for "match very well", as a share of C, with the reason.
_NEAR = {
    MODEL_SENDER: (0.003, "what the model assumes; packets are not fluid"),
    _PERFECT_EXPONENTIAL: (0.03, "63 % of the way after tau, where the model arrives"),
    _PROBING: (
        0.03,
        f"{_GRAIN}; most with an eta of ms: one low estimate counts at once",
    ),
    AS_PRINTED: (0.04, "both of these"),
    _KINDS[4]: (0.04, "random bursts have no phase, so they are not in the worst"),
    _KINDS[5]: (0.04, "no phase, which gains, and the two above, which lose"),
}


@dataclass(frozen=True)
class Curve:
    """A line of a panel: where its dots are, and where it is drawn."""

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
    """The model's utilisation; not a number where it refuses: the queue would never empty."""
    try:
        return setting.model()["utilisation"]
    except ValueError:
        return nan


def run(lab: Lab, sheet: Sheet) -> dict[Kind, Dots]:
    """Simulates every dot, and draws."""
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
            # One legend, where it moves no other panel.
            legend = place == 0 and column == columns[-1]
            title = kind.short if column == columns[0] else column
            row.append(_panel(sheet, title, curves, dots, colours, legend))
        rows.append(row)
    subtitle = [
        "lines: the paper's model at its worst phase; dots: simulations there",
        f"columns: {'; '.join(columns)}",
    ]
    lab.draw(f"figure-{sheet.name}", chart.document(sheet.title, subtitle, rows))


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
        x_scale={"nice": False, "padding": 6},
        y_scale={"domain": [0.6, 1.01]},
        legend=legend,
    )


def near(sheet: Sheet, found: Mapping[Kind, Dots]) -> list[Claim]:
    """How far the dots of each kind lie from the model's lines."""
    claims = []
    for kind, dots in found.items():
        apart: list[float] = []
        beyond: list[float] = []
        for curve in sheet.curves:
            for x, ours in dots[curve.column, curve.name]:
                model, setting = used(curve.at[x]), curve.at[x]
                is_seen = kind.estimator == "ideal" or setting.burst <= _SEEN * CAPACITY_MBIT
                if isfinite(model):
                    (apart if is_seen else beyond).append(ours - model)
        if beyond:
            claims.append(_beyond(kind, beyond))
        middle, most = median(abs(one) for one in apart), _range(apart)
        within, why = _NEAR[kind]
        text = f"{100 * middle:.2f} points ({most}) over {len(apart)}"
        claims.append(
            Claim(
                f"{kind.name}: median departure from the model",
                "matches very well",
                text,
                "",
                middle < within,
                f"within {100 * within:g} points: {why}",
            )
        )
    return claims


# Streams look down to 0.57 of their rate: less is not told apart.
_SEEN = 0.5


def _beyond(kind: Kind, apart: Sequence[float]) -> Claim:
    text = f"{100 * median(map(abs, apart)):.1f} points ({_range(apart)}) over {len(apart)}"
    return Claim(
        f"{kind.name}: the same where bursts take more than half of C",
        None,
        text,
        "",
        None,
        "streams look down to 0.57 of their rate and up to twice it: the rate falls less far in a "
        "burst, which carries more and queues more, or rises more slowly after it",
    )


def _range(apart: Sequence[float]) -> str:
    return f"{100 * min(apart):+.1f} to {100 * max(apart):+.1f}"
