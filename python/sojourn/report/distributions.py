"""Box plots and cumulative distributions over repeated runs and over flows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import altair as alt

from sojourn.formatting import rate_unit
from sojourn.legend import Legend
from sojourn.report import panels
from sojourn.report.canvas import Canvas
from sojourn.report.panels import Frame
from sojourn.report.theme import Spec, chart, layered, table, titled
from sojourn.run_summary import Item, RunSummary, worst_spike

if TYPE_CHECKING:
    from sojourn.record import Record

# With fewer values, a distribution says no more than the table.
_FEWEST = 3
_HEIGHT = 130

Values = dict[str, list[float]]
"""The values of each series."""


@dataclass(frozen=True)
class Distribution:
    """One figure, with its values by series."""

    title: str
    unit: str
    values: Values


def add(canvas: Canvas, run: "Record", frame: Frame, link: str | None) -> None:
    """Add a row for each figure with several values: box plots left, distributions right."""
    for one in _all(run, frame.legend, link):
        if max(map(len, one.values.values()), default=0) >= _FEWEST:
            canvas.views += [_boxes(one, frame), _cumulative(one, frame)]


def _all(run: "Record", legend: Legend, link: str | None) -> Iterator[Distribution]:
    goodputs = _of_flows(run, legend, "goodput_bps")
    largest = max((max(values) for values in goodputs.values()), default=0.0)
    scale, unit = rate_unit(largest)
    several = len(run.runs[0]["flows"]) > 1
    title = "Goodput of each flow" if several else "Goodput"
    yield Distribution(title, unit, _scaled(goodputs, scale))
    spikes = _of_runs(run, legend, _greatest_spikes(run.runs))
    delays = _of_runs(run, legend, _delays(run.runs, link))
    if any(spikes.values()):
        yield Distribution("Greatest spike of a run", "ms", _scaled(spikes, 1e-3))
    elif link is not None:
        title = f"99th percentile of the queueing delay of {link}"
        yield Distribution(title, "ms", _scaled(delays, 1e-3))
    for key, title in (
        ("response_p99_s", "99th percentile of response times"),
        ("completion_s", "Completion time of each flow"),
    ):
        yield Distribution(title, "s", _of_flows(run, legend, key))


def _of_flows(run: "Record", legend: Legend, key: str) -> Values:
    """Return the values of flows by series; flows of one run are one series without a name."""
    is_over_flows = legend.by == "flow" and len(run.runs) == 1
    found: Values = {}
    for one in run.runs:
        for flow in one["flows"]:
            label = "" if is_over_flows else legend.label(one["control"], flow["name"])
            value = cast(Item, flow).get(key)
            is_drawn = is_over_flows or label in legend.colours
            if is_drawn and isinstance(value, (int, float)):
                found.setdefault(label, []).append(float(value))
    return found


def _of_runs(
    run: "Record", legend: Legend, values: Iterable[tuple[RunSummary, float | None]]
) -> Values:
    """Return the values of runs by series, which has no name if there is one controller."""
    found: Values = {}
    for one, value in values:
        label = one["control"] if legend.by == "run" else ""
        if value is not None and (legend.by != "run" or label in legend.colours):
            found.setdefault(label, []).append(value)
    return found


def _greatest_spikes(runs: Sequence[RunSummary]) -> Iterator[tuple[RunSummary, float | None]]:
    for run in runs:
        worst = worst_spike(run["spikes"])
        yield run, worst["spike_s"] if worst else None


def _delays(
    runs: Sequence[RunSummary], link: str | None
) -> Iterator[tuple[RunSummary, float | None]]:
    for run in runs:
        own = [one["queue_delay_p99_s"] for one in run["links"] if one["name"] == link]
        yield run, next(iter(own), None)


def _scaled(values: Values, scale: float) -> Values:
    return {name: [value / scale for value in own] for name, own in values.items()}


def _boxes(one: Distribution, frame: Frame) -> alt.LayerSpec:
    """Draw a box from the 25th to the 75th percentile, and whiskers to the extremes."""
    rows = [{"series": name, "v": value} for name, own in one.values.items() for value in own]
    mark: Spec = {"type": "boxplot", "extent": "min-max", "size": 14, "median": {"color": "white"}}
    order = list(one.values)
    y = alt.Y("series:N", sort=order, title=None, axis=alt.Axis(labelLimit=90))
    box = chart(table(rows, "v"), mark, _x(one), y, panels.colour(frame))
    width = panels.WIDTHS["whole"]
    title = titled(f"{one.title} ({one.unit}): extremes, quartiles, median", offset=5)
    return layered(box, width=width, height=_HEIGHT, title=title)


def _cumulative(one: Distribution, frame: Frame) -> alt.LayerSpec:
    """Draw the share of values up to each value."""
    rows = []
    for name, own in one.values.items():
        ordered = sorted(own)
        rows.append({"series": name, "v": ordered[0], "share": 0.0})
        for place, value in enumerate(ordered, start=1):
            rows.append({"series": name, "v": value, "share": place / len(ordered)})
    mark = alt.MarkDef("line", interpolate="step-after", strokeWidth=1.6, clip=True)
    y = alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=5))
    line = chart(table(rows, "v", "share"), mark, _x(one), y, panels.colour(frame))
    width = panels.WIDTHS["detail"]
    title = titled("Cumulative distribution", offset=5, fontWeight="normal", color=panels.NEUTRAL)
    return layered(line, width=width, height=_HEIGHT, title=title)


def _x(one: Distribution) -> alt.X:
    return alt.X("v:Q", title=one.unit, scale=alt.Scale(zero=False))
