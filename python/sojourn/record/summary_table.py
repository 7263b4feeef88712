"""The summary table as data, for the terminal, the report and notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.record import legend, size_classes
from sojourn.record.formatting import MISSING, change_text, digits_of, scale_of
from sojourn.record.record_types import Spread
from sojourn.record.remarks import (
    ecn,
    identical_runs,
    links,
    missing_rtts,
    receive_windows,
    timing,
    unequal_runs,
)
from sojourn.record.stats import interval_ranks, spread
from sojourn.record.summary import Item, Summary, entries, focus_link, value_of, worst_spike
from sojourn.record.summary_metrics import (
    AFTER,
    AT_REST,
    BEFORE,
    CHANGING,
    COMPLETION,
    COMPLETIONS,
    FEWEST_OF,
    GOODPUT,
    LINKS,
    MEDIA,
    NOTES,
    RESPONSE_P50,
    RESPONSES,
    RTT_P50,
    RTTS,
    SPIKES,
    Metric,
    Subject,
)

# More flows, or changes of capacity, than this have too many rows to read. The verdict has
# sentences for as many changes.
_MOST_FLOWS = 24
_MOST_CHANGES = 5

Row = Mapping[Subject, Any]
"""The entries of a summary that a row shows: a flow, a link, a change of capacity."""


@dataclass(frozen=True)
class Cell:
    """One figure, with the confidence interval of its median if it summarises several runs."""

    text: str
    interval: str = ""


@dataclass(frozen=True)
class Column:
    """One metric for every row."""

    metric: Metric
    unit: str
    cells: list[Cell]


@dataclass(frozen=True)
class Name:
    """The name of a row."""

    control: str
    """A controller, or the run that is named after it; empty for a flow without a controller."""
    detail: str
    """The flow, the link or the change of capacity, if there are several."""
    colour: str
    is_head: bool = False
    """Whether this row only heads a run: it has no figures, and the following rows belong to it."""


@dataclass(frozen=True)
class Table:
    """Figures with one row per name."""

    caption: str
    names: list[Name]
    detail: str
    """The kind of the names' details ("flow", "link"); empty without details."""
    columns: list[Column]
    remarks: list[str] = field(default_factory=list)
    """Remarks about single rows."""


def build(summary: Summary) -> Table:
    """Build one row per controller; with several flows, one row per flow under each run."""
    several = _has_several_flows(summary)
    focus, key = focus_link(summary), legend.of(summary)
    if len(summary["runs"][0]["flows"]) > _MOST_FLOWS:
        return _build_groups(summary, key)
    names: list[Name] = []
    rows: list[Row] = []
    for entry in entries(summary):
        link_figures = {} if several else _link_figures(entry, focus)
        if several and key.by == "run":
            colour = key.colours[entry["control"]]
            names.append(Name(f"run {entry['control']}", "", colour, is_head=True))
            rows.append({})
        for flow in entry["flows"]:
            own = entry["control"] if key.by == "run" and not several else flow["control"]
            control = "" if own == legend.UNCONTROLLED else own
            colour = key.colours[key.label(entry["control"], flow["name"])]
            detail = flow["name"] if several or not control else ""
            names.append(Name(control, detail, colour))
            rows.append({"flow": _without_rate_of_ping(flow), **link_figures})
    metrics = _metrics(summary, rows, several)
    detail = "flow" if any(name.detail for name in names) else ""
    caption = _caption(summary, focus, several)
    return Table(caption, names, detail, _columns(metrics, rows), _of_runs(summary))


def _build_groups(summary: Summary, key: legend.Legend) -> Table:
    """Build one row per run and controller: medians over its flows, and their percentiles."""
    names: list[Name] = []
    rows: list[Row] = []
    for entry in entries(summary):
        groups: dict[str, list[Item]] = {}
        for flow in entry["flows"]:
            groups.setdefault(flow["control"], []).append(flow)
        for control, flows in groups.items():
            own = "" if control == legend.UNCONTROLLED else control
            is_mixed = len(groups) > 1 and key.by == "run"
            name = f"{own} in run {entry['control']}" if is_mixed else own
            colour = key.colours.get(key.label(entry["control"], flows[0]["name"]), "")
            names.append(Name(name, f"{len(flows):,} flows", colour))
            rows.append({"flow": _over_flows([*map(_without_rate_of_ping, flows)])})
    metrics = _metrics(summary, rows, several=True)
    caption = "Flows by controller: medians over the flows, and their 5th to 95th percentile"
    caption = "; ".join(filter(None, (caption, _hosts(summary))))
    remarks = _of_runs(summary)
    return Table(caption, names, "flows", _columns(metrics, rows), remarks)


def _without_rate_of_ping(flow: Item) -> Item:
    """Leave out the goodput of a ping, which measures round trips and would round to zero."""
    is_ping = flow["control"] == legend.UNCONTROLLED and flow.get(RTT_P50.key) is not None
    return {**flow, GOODPUT.key: None} if is_ping else flow


def _of_runs(summary: Summary) -> list[str]:
    flows = [*ecn(summary), *receive_windows(summary)]
    return [*timing(summary), *_of_repeats(summary), *flows, *links(summary)]


def _of_repeats(summary: Summary) -> list[str]:
    return [*unequal_runs(summary), *identical_runs(summary)]


def _over_flows(flows: Sequence[Item]) -> Item:
    """Return each figure's median over flows, with its percentiles as the interval."""
    merged: dict[str, Any] = {"control": flows[0]["control"]}
    for key in (one for one in flows[0] if one != "media"):
        every = [value_of(flow[key]) for flow in flows if not isinstance(flow[key], str)]
        known = [value for value in every if value is not None]
        merged[key] = _percentiles(spread(known)) if known else merged.get(key)
    return merged


def _percentiles(of: Spread) -> dict[str, float]:
    return {"median": of["median"], "low": of["p5"], "high": of["p95"]}


def _metrics(summary: Summary, rows: Sequence[Row], several: bool) -> Sequence[Metric]:
    """Choose the metrics of flows; with a single flow, also those of its link."""
    metrics = CHANGING if any(row.get("spike") for row in rows) else AT_REST
    if several:
        metrics = [one for one in AT_REST if one.subject == "flow"]
    own: list[Metric] = []
    flows = [row["flow"] for row in rows if "flow" in row]
    has_links = any(entry["links"] for entry in entries(summary))
    if not has_links:
        # A recording of the endpoints alone, such as qlog, has no figures of links.
        metrics = [one for one in metrics if any(flow.get(one.key) for flow in flows)]
    # Flows without a controller measure no round trips, except for pings.
    pings = (flow for flow in flows if flow["control"] == legend.UNCONTROLLED)
    if not has_links or any(flow[RTT_P50.key] is not None for flow in pings):
        own += RTTS
    if any(flow[RESPONSE_P50.key] is not None for flow in flows):
        own += RESPONSES
    if several and any(flow.get(COMPLETION.key) is not None for flow in flows):
        own.append(COMPLETION)
    # Delays come after the goodput, and counts last.
    place = metrics.index(GOODPUT) + 1 if GOODPUT in metrics else 0
    return [*metrics[:place], *own, *metrics[place:]]


def _has_several_flows(summary: Summary) -> bool:
    return any(len(entry["flows"]) > 1 for entry in entries(summary))


def _link_figures(entry: Item, focus: str | None) -> Row:
    return {
        "link": next((one for one in entry["links"] if one["name"] == focus), None),
        "spike": worst_spike(entry["spikes"]),
    }


def build_changes(summary: Summary) -> Table | None:
    """Build one row per change of capacity, if a run has several or flows share the link.

    Of many changes, such as a trace's, only the falls with the greatest spikes have rows.
    """
    count = len(summary["runs"][0]["spikes"])
    if count == 0 or (count < 2 and not _has_several_flows(summary)):
        return None
    key = legend.of(summary)
    shown = set(range(count)) if count <= _MOST_CHANGES else _greatest_falls(summary)
    names: list[Name] = []
    rows: list[Row] = []
    for entry in entries(summary):
        for spike in (one for place, one in enumerate(entry["spikes"]) if place in shown):
            names.append(_run_name(summary, key, entry, change_text(spike)))
            rows.append({"spike": spike})
    columns = _columns([BEFORE, AFTER, *SPIKES], rows)
    caption = "Every change of capacity"
    if len(shown) < count:
        caption = f"Of {count} changes of capacity, the {len(shown)} falls with the greatest spikes"
    return Table(caption, names, "change", columns) if rows else None


def _greatest_falls(summary: Summary) -> set[int]:
    """Return the places of the falls of capacity with the greatest spikes of any run."""
    greatest: dict[int, float] = {}
    for entry in entries(summary):
        for place, spike in enumerate(entry["spikes"]):
            if spike["to_bps"] < spike["from_bps"]:
                size = value_of(spike["spike_s"]) or 0.0
                greatest[place] = max(greatest.get(place, 0.0), size)
    return set(sorted(greatest, key=lambda place: -greatest[place])[:_MOST_CHANGES])


def build_links(summary: Summary) -> Table | None:
    """Build one row per link with a rate, if there are several or flows share them."""
    shown = [one["name"] for one in summary["runs"][0]["links"] if one["capacity_bps"] is not None]
    if len(shown) < 2 and not _has_several_flows(summary):
        return None
    caption = "Every link with a rate"
    if not shown:
        focus = focus_link(summary)
        shown, caption = [focus] if focus else [], "The first link, because none has a rate"
    key = legend.of(summary)
    names: list[Name] = []
    rows: list[Row] = []
    for entry in entries(summary):
        for link in entry["links"]:
            if link["name"] in shown:
                names.append(_run_name(summary, key, entry, link["name"]))
                rows.append({"link": link})
    return Table(caption, names, "link", _columns(LINKS, rows)) if rows else None


def build_completions(summary: Summary) -> Table | None:
    """Build one row per class of sizes of each flow whose transfers arrive at random."""
    key = legend.of(summary)
    names: list[Name] = []
    rows: list[Row] = []
    for entry, flow, size in size_classes.of(summary):
        colour = key.colours[key.label(entry["control"], flow["name"])]
        detail = f"{flow['name']}: {size_classes.name_of(size)}"
        names.append(Name(entry["control"], detail, colour))
        rows.append({"size": _without_few(size)})
    caption = "Completion times by size"
    return Table(caption, names, "flow", _columns(COMPLETIONS, rows)) if rows else None


def build_media(summary: Summary) -> Table | None:
    """Build one row per flow of media."""
    key = legend.of(summary)
    names: list[Name] = []
    rows: list[Row] = []
    several = _has_several_flows(summary)
    for entry in entries(summary):
        for flow in entry["flows"]:
            if flow.get("media"):
                # Runs that differ in a queue have the same controllers.
                own = entry["control"] if key.by == "run" else flow["control"]
                control = "" if own == legend.UNCONTROLLED else own
                colour = key.colours.get(key.label(entry["control"], flow["name"]), "")
                names.append(Name(control, flow["name"] if several or not control else "", colour))
                rows.append({"media": flow["media"]})
    detail = "flow" if any(name.detail for name in names) else ""
    caption = "Frames of media"
    return Table(caption, names, detail, _columns(MEDIA, rows)) if rows else None


def _without_few(size: Item) -> Item:
    """Leave out the percentiles of a few transfers."""
    completed = value_of(size["completed_transfers"]) or 0
    few = (one.key for one, fewest in FEWEST_OF.items() if completed < fewest)
    return {**size, **dict.fromkeys(few)}


def _run_name(summary: Summary, key: legend.Legend, entry: Item, detail: str) -> Name:
    """Name a row about a link after its run; flows that share the link have no one controller."""
    several = len(entries(summary)) > 1
    is_own = not _has_several_flows(summary)
    control = entry["control"] if several or is_own else ""
    return Name(control, detail, key.colours.get(entry["control"], ""))


def build_all(summary: Summary) -> list[Table]:
    """Build every table that applies to the summary."""
    flows = build(summary), build_media(summary), build_completions(summary)
    tables = (*flows, build_changes(summary), build_links(summary))
    return [one for one in tables if one is not None]


def _caption(summary: Summary, focus: str | None, several: bool) -> str:
    entry = entries(summary)[0]
    parts = [_repeats([one["runs"] for one in summary["medians"]])] if "medians" in summary else []
    spikes = entry["spikes"]
    if several:
        parts.insert(0, "Every flow")
    elif len(spikes) > 1:
        worst = ", the worst spike of each run" if worst_spike(spikes) else ""
        parts.append(f"{len(spikes)} changes of capacity{worst}")
    elif spikes:
        parts.append(change_text(spikes[0]))
    elif focus is not None:
        parts.append(f"queueing delay of {focus}")
    if named := _hosts(summary):
        parts.append(named)
    return "; ".join(parts)


def _hosts(summary: Summary) -> str:
    """Name the hosts of the flows; live runs, other programs and earlier versions have none."""
    flows = (flow for entry in entries(summary) for flow in entry["flows"])
    names = list(dict.fromkeys(flow["host"] for flow in flows if flow.get("host")))
    if not names:
        return ""
    # Beside live runs, the hosts are those of the others.
    where = " in simulated runs" if any("live" in run for run in summary["runs"]) else ""
    return f"{'host' if len(names) == 1 else 'hosts'} {', '.join(names)}{where}"


def _repeats(runs: Sequence[int]) -> str:
    least, most = min(runs), max(runs)
    count = f"{least}" if least == most else f"{least} to {most}"
    intervals = interval_ranks(most) is not None
    return f"medians of {count} runs" + (" with 95 % confidence intervals" if intervals else "")


def _columns(metrics: Sequence[Metric], rows: Sequence[Row]) -> list[Column]:
    return [_column(metric, rows) for metric in metrics]


def _column(metric: Metric, rows: Sequence[Row]) -> Column:
    figures = [row[metric.subject][metric.key] if row.get(metric.subject) else "" for row in rows]
    largest = max((abs(value) for figure in figures for value in _values(figure)), default=0.0)
    scale, unit = scale_of(metric.unit, largest)
    digits = digits_of(metric.unit, largest / scale)
    return Column(metric, unit, [_cell(figure, scale, digits) for figure in figures])


def _values(figure: Any) -> Iterator[float]:
    value = value_of(figure) if figure != "" else None
    if value is not None:
        yield value


def _cell(figure: Any, scale: float, digits: int) -> Cell:
    if figure == "":
        return Cell("")
    value = value_of(figure)
    if value is None:
        return Cell(MISSING)
    text = f"{value / scale:.{digits}f}"
    if not isinstance(figure, Mapping) or figure["low"] is None:
        return Cell(text)
    low, high = (f"{figure[end] / scale:.{digits}f}" for end in ("low", "high"))
    return Cell(text, f"{low}–{high}" if low != high else "")


def notes(tables: Sequence[Table], summary: Summary) -> list[str]:
    """Explain the columns of these tables; related columns share a line."""
    begins = {run.get("measured_from_s") or 0.0 for run in summary["runs"]}
    measured = _measured(begins)
    in_life = f" {measured}" if any(begins) else ""
    shown = {column.metric for one in tables for column in one.columns}
    lines = ["; ".join(text for metric, text in line.items() if metric in shown) for line in NOTES]
    filled = [line.replace("{measured}", measured).replace("{in_life}", in_life) for line in lines]
    return [*filter(None, filled), *missing_rtts(summary)]


def _measured(begins: set[float]) -> str:
    """Say over which time goodput, utilisation and percentiles were taken."""
    if len(begins) > 1:
        return "each from its own measure.from on"
    (begin,) = begins
    if begin:
        return f"from {begin:.4g} s on (measure.from)"
    return "over the whole run (measure.from = 0s)"
