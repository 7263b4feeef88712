"""Rates and queue over time, simulated and modelled, for figures 3 to 8."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Any

import polars as pl
from sojourn.picture import chart
from sojourn.picture.chart import Layer, Panel, Point
from sojourn.run.results import Run
from sojourn_papers import Lab

from .fluid import course
from .setting import (
    CAPACITY_MBIT,
    SCENARIO,
    WIRE,
    Kind,
    Setting,
    assignments,
    settling,
    start,
)

STEP_MS = 1.0
"""Time between samples."""
CROSS = "#999999"
MODEL = "model"


@dataclass(frozen=True)
class Timeline:
    """Some steady-state periods: ms since the start of a burst, rates in Mbit/s, delays in ms.

    Rates include headers, as the bottleneck counts them.
    """

    rate: Sequence[Point]
    wait: Sequence[Point]
    estimate: Sequence[Point] = ()

    def crossings(self, level: float) -> list[tuple[float, bool]]:
        """Return times at which the rate crosses a level, and whether it rises."""
        return [
            (b[0], b[1] > a[1]) for a, b in pairwise(self.rate) if (a[1] < level) != (b[1] < level)
        ]


def simulated(lab: Lab, setting: Setting, kind: Kind, periods: int) -> Timeline:
    """Simulate a timeline."""
    settled = ceil((start(setting, kind) + settling(setting)) / setting.period)
    begin_s, end_s = (1e-3 * n * setting.period for n in (settled, settled + periods))
    run = lab.run(
        SCENARIO,
        set={
            **assignments(setting, kind),
            "duration": f"{round(1e3 * end_s)}ms",
            "record.interval": f"{round(1e3 * STEP_MS)}us",
        },
    )
    return timeline(run, begin_s)


def timeline(run: Run, begin_s: float, capacity_mbit: float = CAPACITY_MBIT) -> Timeline:
    """Return the timeline of a run from this time on. Rates are scaled to the paper's capacity."""
    flow = run.flow("rapid").series
    link = run.link("bottleneck").series
    at = (1e3 * (pl.col("t_s") - begin_s)).round(3).alias("at")
    wait = pl.col("queue_bytes") * 8 / (1e3 * capacity_mbit)
    megabit = WIRE / 1e6 * CAPACITY_MBIT / capacity_mbit
    return Timeline(
        _points(flow, at, megabit * pl.col("pacing_bps")),
        _points(link, at, wait),
        _points(flow, at, megabit * pl.col("bandwidth_bps")),
    )


def _points(frame: pl.DataFrame, at: pl.Expr, value: pl.Expr) -> list[Point]:
    chosen: Any = frame.select(at, value.alias("value")).filter(pl.col("at") >= 0).drop_nulls()
    return [(float(x), float(y)) for x, y in chosen.iter_rows()]


def modelled(setting: Setting, periods: int) -> Timeline:
    """Compute the timeline of the fluid system at the setting's own round trip."""
    settled = ceil(settling(setting) / setting.period)
    begin = settled * setting.period
    moments = [one for one in course(setting, settled + periods) if one.at >= begin - 1e-6]
    # Ten steps of the fluid system equal one sample of the run.
    moments = moments[::10]
    return Timeline(
        [(one.at - begin, one.rate) for one in moments],
        [(one.at - begin, one.wait) for one in moments],
    )


def available(setting: Setting, periods: int) -> list[Point]:
    """Return the capacity without the cross traffic, at the time of its arrival."""
    return [(at, CAPACITY_MBIT - rate) for at, rate in cross(setting, periods)]


def cross(setting: Setting, periods: int) -> list[Point]:
    """Return the corners of the cross traffic's rate."""
    corners: list[Point] = []
    for place in range(periods):
        begin = place * setting.period
        corners += [(begin, 0), (begin, setting.burst)]
        corners += [(begin + setting.on, setting.burst), (begin + setting.on, 0)]
    return [*corners, (periods * setting.period, 0)]


def rates_panel(
    title: str, setting: Setting, periods: int, lines: Sequence[Layer], **kwargs: Any
) -> Panel:
    """Draw rates over time, on top of the cross traffic."""
    layers = [chart.line("cross traffic", cross(setting, periods), CROSS), *lines]
    scale: chart.Scale = {"nice": False}
    return Panel(title, "ms after a burst begins", "Mbit/s", layers, x_scale=scale, **kwargs)


def wait_panel(title: str, lines: Sequence[Layer], **kwargs: Any) -> Panel:
    """Draw the queue over time, as its delay."""
    axes = ("ms after a burst begins", "queueing delay, ms")
    return Panel(title, *axes, lines, x_scale={"nice": False}, **kwargs)


def model_line(points: Sequence[Point]) -> Layer:
    """Draw the model as a dashed line on top."""
    return chart.line(MODEL, points, chart.PUBLISHED, dash=(6, 4))
