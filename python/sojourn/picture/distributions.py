"""Box plots and cumulative distributions over repeated runs and over flows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from sojourn.picture import completions
from sojourn.picture.chart import Layer, Panel, Point, five
from sojourn.picture.rows import NEUTRAL
from sojourn.record.formatting import rate_unit
from sojourn.record.legend import Legend
from sojourn.record.record_types import RunSummary
from sojourn.record.summary import Item, worst_spike

if TYPE_CHECKING:
    from sojourn.record.record import Record

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


def rows(run: "Record", legend: Legend, link: str | None) -> Iterator[list[Panel]]:
    """Yield a row for each figure with several values: box plots left, distributions right."""
    for one in _all(run, legend, link):
        if max(map(len, one.values.values()), default=0) >= _FEWEST:
            yield [_boxes(one, legend), _cumulative(one, legend)]
    yield from completions.rows(run, legend)


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


def _boxes(one: Distribution, legend: Legend) -> Panel:
    """Draw a box from the 25th to the 75th percentile, and whiskers to the extremes."""
    layers = [
        Layer(
            series,
            "boxes",
            [(float(place), *five(own))],
            legend.colours.get(series, NEUTRAL),
            size=14,
            horizontal=True,
        )
        for place, ((series, _), own) in enumerate(one.values.items())
    ]
    names = [name for _, name in one.values]
    return Panel(
        f"{one.title} ({one.unit}): extremes, quartiles, median",
        one.unit,
        "",
        layers,
        width=500,
        height=max(_HEIGHT, _BOX * len(names)),
        y_axis={"values": range(len(names)), "labels": names},
        y_scale={"domain": (len(names) - 0.5, -0.5)},
        legend=False,
    )


def _cumulative(one: Distribution, legend: Legend) -> Panel:
    """Draw the share of values up to each value."""
    layers = []
    for (series, name), own in one.values.items():
        ordered = sorted(own)
        shares = [(value, place / len(own)) for place, value in enumerate(ordered, start=1)]
        points: list[Point] = [(ordered[0], 0.0), *shares]
        colour = legend.colours.get(series, NEUTRAL)
        part = "" if name == series else name
        layers.append(Layer(series, "line", points, colour, steps="step-after", part=part))
    return Panel(
        "Cumulative distribution",
        one.unit,
        "",
        layers,
        width=420,
        height=max(_HEIGHT, _BOX * len(one.values)),
        y_axis={"percent": True},
        y_scale={"domain": (0, 1)},
        legend=False,
    )
