"""Box plots and cumulative distributions over repeated runs and over flows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import altair as alt

from sojourn.formatting import rate_unit
from sojourn.legend import Legend
from sojourn.record_types import RunSummary
from sojourn.report import completions, panels
from sojourn.report.canvas import Canvas
from sojourn.report.panels import Frame
from sojourn.report.theme import Spec, chart, layered, table, titled
from sojourn.run_summary import Item, worst_spike

if TYPE_CHECKING:
    from sojourn.record import Record

# With fewer values, a distribution says no more than the table.
_FEWEST = 3
_HEIGHT = 130

# With more boxes of single flows, flows whose names differ in a number only share one.
_MOST_BOXES = 12
_BOX = 18

Values = dict[tuple[str, str], list[float]]
"""The values of each box, by its series and its name."""


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
    canvas.views += completions.views(run, frame)


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
    """Return the values of flows: a box for each flow of repeated runs, or each group of flows.

    The names of a group's flows differ in a number only, as those of `count` have.
    """
    first = run.runs[0]
    seeds = len({one["seed"] for one in run.runs})
    labels = {(one["control"], flow["name"]) for one in run.runs for flow in one["flows"]}
    is_single = seeds > 1 and len(labels) <= _MOST_BOXES
    groups = {flow["name"]: _group(flow["name"], is_single) for flow in first["flows"]}
    several = len(set(groups.values())) > 1
    found: Values = {}
    for one in run.runs:
        for flow in one["flows"]:
            label = legend.label(one["control"], flow["name"])
            group = groups.get(flow["name"], flow["name"])
            if legend.by == "flow" and not is_single:
                label = ""
            elif label not in legend.colours:
                continue
            name = group if legend.by == "flow" else f"{label} {group}" if several else label
            value = cast(Item, flow).get(key)
            if isinstance(value, (int, float)):
                found.setdefault((label, name), []).append(float(value))
    return found


def _group(name: str, is_single: bool) -> str:
    return name if is_single else name.rstrip("0123456789").rstrip("-_") or name


def _of_runs(
    run: "Record", legend: Legend, values: Iterable[tuple[RunSummary, float | None]]
) -> Values:
    """Return the values of runs by series, which has no name if there is one controller."""
    found: Values = {}
    for one, value in values:
        label = one["control"] if legend.by == "run" else ""
        if value is not None and (legend.by != "run" or label in legend.colours):
            found.setdefault((label, label), []).append(value)
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
    rows = [
        {"series": series, "name": name, "v": value}
        for (series, name), own in one.values.items()
        for value in own
    ]
    mark: Spec = {"type": "boxplot", "extent": "min-max", "size": 14, "median": {"color": "white"}}
    order = [name for _, name in one.values]
    y = alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=130))
    box = chart(table(rows, "v"), mark, _x(one), y, panels.colour(frame))
    width = panels.WIDTHS["whole"]
    title = titled(f"{one.title} ({one.unit}): extremes, quartiles, median", offset=5)
    return layered(box, width=width, height=_height(one), title=title)


def _height(one: Distribution) -> int:
    return max(_HEIGHT, _BOX * len(one.values))


def _cumulative(one: Distribution, frame: Frame) -> alt.LayerSpec:
    """Draw the share of values up to each value."""
    rows = []
    for (series, name), own in one.values.items():
        ordered = sorted(own)
        base = {"series": series, "name": name}
        rows.append({**base, "v": ordered[0], "share": 0.0})
        for place, value in enumerate(ordered, start=1):
            rows.append({**base, "v": value, "share": place / len(ordered)})
    mark = alt.MarkDef("line", interpolate="step-after", strokeWidth=1.6, clip=True)
    y = alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=5))
    each = alt.Detail("name:N")
    line = chart(table(rows, "v", "share"), mark, _x(one), y, panels.colour(frame), each)
    width = panels.WIDTHS["detail"]
    title = titled("Cumulative distribution", offset=5, fontWeight="normal", color=panels.NEUTRAL)
    return layered(line, width=width, height=_height(one), title=title)


def _x(one: Distribution) -> alt.X:
    return alt.X("v:Q", title=one.unit, scale=alt.Scale(zero=False))
