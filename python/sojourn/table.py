"""The summary table as data, for the terminal, the report and notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sojourn import below, legend
from sojourn.run_summary import Summary
from sojourn.stats import interval_ranks

Unit = Literal["rate", "ms", "percent", "count"]
Of = Literal["flow", "link", "spike"]

MISSING = "–"


@dataclass(frozen=True)
class Metric:
    """One column: the summary key of its figure, its heading and its unit."""

    of: Of
    key: str
    head: str
    unit: Unit
    meaning: str


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


_GOODPUT = Metric(
    "flow", "goodput_bps", "goodput", "rate", "payload delivered, over the flow's life"
)
_UTILISATION = Metric("link", "utilisation", "util.", "percent", "share of the capacity used")
_BEFORE = Metric(
    "spike", "utilisation_before", "util. before", "percent", "share used before the change"
)
_AFTER = Metric(
    "spike", "utilisation_after", "util. after", "percent", "share used after the change"
)
_BASE_RTT = Metric("flow", "base_rtt_s", "base RTT", "ms", "round-trip time without any queue")
_P50 = Metric("link", "queue_delay_p50_s", "queue p50", "ms", "median queueing delay")
_P99 = Metric("link", "queue_delay_p99_s", "queue p99", "ms", "99th percentile of queueing delay")
_SPIKE = Metric("spike", "spike_s", "spike", "ms", "peak queueing delay after the change")
_BOUND = Metric(
    "spike",
    "bound_s",
    "bound",
    "ms",
    "least spike possible end to end, for senders that filled the link until the change",
)
_CORRECTED = Metric(
    "spike",
    "bound_corrected_s",
    "bound corrected",
    "ms",
    "the same for what the link carried in the loop delay before the change",
)
_EXCESS = Metric("spike", "excess_s", "excess", "ms", "spike less bound")
_EXCESS_CORRECTED = Metric(
    "spike", "excess_corrected_s", "excess corrected", "ms", "spike less bound corrected"
)
_LASTS = Metric("spike", "duration_s", "duration", "ms", "how long the spike stood")
_MAX = Metric("link", "queue_delay_max_s", "queue max", "ms", "greatest queueing delay")
_LINK_DROPS = Metric("link", "dropped_packets", "drops", "count", "packets dropped")
_LINK_MARKS = Metric("link", "marked_packets", "marks", "count", "packets marked CE")
_DROPS = Metric("flow", "dropped_packets", "drops", "count", "packets dropped")
_MARKS = Metric("flow", "marked_packets", "marks", "count", "packets marked CE")
_RESENT = Metric("flow", "retransmitted_packets", "re-sent", "count", "packets sent again")
_RESPONSE_P50 = Metric("flow", "response_p50_s", "resp. p50", "ms", "median response time")
_RESPONSE_P99 = Metric(
    "flow", "response_p99_s", "resp. p99", "ms", "99th percentile of response times"
)
_RTT_P50 = Metric("flow", "rtt_p50_s", "RTT p50", "ms", "median round-trip time")
_RTT_P99 = Metric("flow", "rtt_p99_s", "RTT p99", "ms", "99th percentile of round-trip times")

_AT_REST = [_GOODPUT, _UTILISATION, _BASE_RTT, _P50, _P99, _DROPS, _MARKS, _RESENT]
_SPIKES = [_SPIKE, _BOUND, _CORRECTED, _EXCESS, _EXCESS_CORRECTED, _LASTS]
_RESPONSES = [_RESPONSE_P50, _RESPONSE_P99]
_RTTS = [_RTT_P50, _RTT_P99]
_LINKS = [_UTILISATION, _P50, _P99, _MAX, _LINK_DROPS, _LINK_MARKS]
_CHANGING = [
    *(_GOODPUT, _BEFORE, _AFTER, _BASE_RTT, _P50, _P99),
    *_SPIKES,
    *(_DROPS, _MARKS, _RESENT),
]

# Explanations that are too long for a heading; related columns share a line.
_NOTES: list[list[tuple[Metric, str]]] = [
    [
        (
            _BEFORE,
            "util. before: share used from the change before (or the start) to this one",
        ),
        (_AFTER, "after: from it to the next (or the end)"),
        (_UTILISATION, "util.: share of the capacity used, over the whole run"),
    ],
    [
        (_P50, "queue p50, p99: queueing delay per packet, over the whole run"),
        (_DROPS, "drops: of the flow, on its whole path"),
    ],
    [
        (_BOUND, "bound: least spike of senders that fill the link until it changes"),
        (
            _CORRECTED,
            "bound corrected: the same for what it carried in the loop delay before",
        ),
        (_EXCESS, "excess: spike less bound"),
        (_EXCESS_CORRECTED, "excess corrected: spike less bound corrected"),
    ],
    [
        (
            _LASTS,
            "duration: from the change until the queueing delay is first back near what it was "
            f"before; {MISSING} where it never was",
        )
    ],
    [(_RTT_P50, "RTT p50, p99: of all round trips that the flow measured, or its pings took")],
    [(_RESPONSE_P50, "resp. p50, p99: from a request until its response has arrived in full")],
]


def build(summary: Summary) -> Table:
    """Build one row per controller; with several flows, one row per flow under each run."""
    several = _has_several_flows(summary)
    focus, key = focus_link(summary), legend.of(summary)
    names: list[Name] = []
    rows: list[Mapping[Of, Any]] = []
    for entry in _entries(summary):
        of_link = {} if several else _of_link(entry, focus)
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
            rows.append({"flow": flow, **of_link})
    metrics = _metrics(summary, rows, several)
    detail = "flow" if any(name.detail for name in names) else ""
    remarks = [*_distinct_remarks(summary), *([] if several else _remarks(summary, worst=True))]
    caption = _caption(summary, focus, several)
    return Table(caption, names, detail, _columns(metrics, rows), remarks)


def _metrics(summary: Summary, rows: Sequence[Mapping[Of, Any]], several: bool) -> Sequence[Metric]:
    """Choose the metrics of flows; with a single flow, also those of its link."""
    metrics = _CHANGING if any(row.get("spike") for row in rows) else _AT_REST
    if several:
        metrics = [one for one in _AT_REST if one.of == "flow"]
    flows = [row["flow"] for row in rows if "flow" in row]
    has_links = any(entry["links"] for entry in _entries(summary))
    if not has_links:
        # A recording of the endpoints alone, such as qlog, has no figures of links.
        metrics = [one for one in metrics if any(flow.get(one.key) for flow in flows)]
    # Flows without a controller measure no round trips, except for pings.
    pings = (flow for flow in flows if flow["control"] == legend.UNCONTROLLED)
    if not has_links or any(flow[_RTT_P50.key] is not None for flow in pings):
        metrics = [*metrics, *_RTTS]
    if any(flow[_RESPONSE_P50.key] is not None for flow in flows):
        metrics = [*metrics, *_RESPONSES]
    return metrics


def _has_several_flows(summary: Summary) -> bool:
    return any(len(entry["flows"]) > 1 for entry in _entries(summary))


def _of_link(entry: Mapping[str, Any], focus: str | None) -> dict[Of, Any]:
    return {
        "link": next((one for one in entry["links"] if one["name"] == focus), None),
        "spike": _worst(entry["spikes"]),
    }


def build_changes(summary: Summary) -> Table | None:
    """Build one row per change of capacity, if a run has several or flows share the link."""
    count = len(summary["runs"][0]["spikes"])
    if count == 0 or (count < 2 and not _has_several_flows(summary)):
        return None
    key = legend.of(summary)
    names: list[Name] = []
    rows: list[Mapping[Of, Any]] = []
    for entry in _entries(summary):
        for spike in entry["spikes"]:
            names.append(_of_run(summary, key, entry, change_text(spike)))
            rows.append({"spike": spike})
    columns = _columns([_BEFORE, _AFTER, *_SPIKES], rows)
    remarks = _remarks(summary, worst=False) if _has_several_flows(summary) else []
    return Table("Every change of capacity", names, "change", columns, remarks)


def build_links(summary: Summary) -> Table | None:
    """Build one row per link with a rate, if there are several or flows share them."""
    shown = [one["name"] for one in summary["runs"][0]["links"] if one["capacity_bps"] is not None]
    if len(shown) < 2 and not _has_several_flows(summary):
        return None
    caption = "Every link with a rate"
    if not shown:
        focus = focus_link(summary)
        shown, caption = [focus] if focus else [], "The first link; none has a rate"
    key = legend.of(summary)
    names: list[Name] = []
    rows: list[Mapping[Of, Any]] = []
    for entry in _entries(summary):
        for link in entry["links"]:
            if link["name"] in shown:
                names.append(_of_run(summary, key, entry, link["name"]))
                rows.append({"link": link})
    return Table(caption, names, "link", _columns(_LINKS, rows)) if rows else None


def _of_run(summary: Summary, key: legend.Legend, entry: Mapping[str, Any], detail: str) -> Name:
    """Name a row about a link after its run; flows that share the link have no one controller."""
    several = len(_entries(summary)) > 1
    is_own = not _has_several_flows(summary)
    control = entry["control"] if several or is_own else ""
    return Name(control, detail, key.colours.get(entry["control"], ""))


# Maximum number of remarks below a table.
_MOST_REMARKS = 8


def _distinct_remarks(summary: Summary) -> list[str]:
    """List controllers with identical runs: their intervals are narrower than the data justify."""
    lines = []
    for entry in summary.get("medians") or []:
        runs, distinct = entry["runs"], entry.get("distinct", entry["runs"])
        if runs > 1 and distinct == 1:
            why = "nothing in this scenario is random for it"
            lines.append(f"{entry['control']}: {runs} runs, 1 distinct outcome: {why}")
        elif distinct < runs:
            why = f"an interval is worth no more than one of {distinct} runs"
            lines.append(f"{entry['control']}: {runs} runs, {distinct} distinct outcomes: {why}")
    return _shortened(lines)


def _remarks(summary: Summary, worst: bool) -> list[str]:
    """Explain each spike that is below the corrected bound."""
    lines = []
    for entry in _entries(summary):
        spikes = [_worst(entry["spikes"])] if worst else entry["spikes"]
        for spike in spikes:
            why = below.reason(spike) if spike else None
            if spike and why:
                lines.append(f"{entry['control']}, {change_text(spike)}: {why}")
    return _shortened(lines)


def _shortened(lines: list[str]) -> list[str]:
    more = len(lines) - _MOST_REMARKS
    return [*lines[:_MOST_REMARKS], f"{more} more like these"] if more > 0 else lines


def build_all(summary: Summary) -> list[Table]:
    """Build every table that applies to the summary."""
    tables = (build(summary), build_changes(summary), build_links(summary))
    return [one for one in tables if one is not None]


def notes(tables: Sequence[Table]) -> list[str]:
    """Explain the columns of these tables; related columns share a line."""
    shown = {column.metric for one in tables for column in one.columns}
    if _EXCESS_CORRECTED in shown:
        shown.discard(_EXCESS)
    lines = ["; ".join(said for metric, said in line if metric in shown) for line in _NOTES]
    return [line for line in lines if line]


def focus_link(summary: Summary) -> str | None:
    """Choose the displayed link: the one whose capacity changes, else the first with a rate."""
    run = summary["runs"][0]
    if run["spikes"]:
        return run["spikes"][0]["link"]
    limited = [link["name"] for link in run["links"] if link["capacity_bps"] is not None]
    return next(iter([*limited, *(link["name"] for link in run["links"])]), None)


def rate_text(bps: float) -> str:
    """Format a rate: `60 Mbit/s`."""
    scale, unit = rate_unit(bps)
    return f"{bps / scale:.4g} {unit}"


def rate_unit(bps: float) -> tuple[float, str]:
    """Choose the largest unit in which a rate is at least one; return its size and its name."""
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= scale:
            return scale, unit
    return 1.0, "bit/s"


def value_of(figure: Any) -> float | None:
    """Return the figure of one run, or the median over several."""
    value: float | None = figure["median"] if isinstance(figure, Mapping) else figure
    return value


def _entries(summary: Summary) -> Sequence[Mapping[str, Any]]:
    medians: Sequence[Mapping[str, Any]] | None = summary.get("medians")
    return medians if medians else summary["runs"]


def _worst(spikes: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the greatest spike after a drop of capacity; a rise builds up no queue."""
    drops = [spike for spike in spikes if spike["to_bps"] < spike["from_bps"]]
    return max(drops, key=lambda spike: value_of(spike["spike_s"]) or 0.0, default=None)


def _caption(summary: Summary, focus: str | None, several: bool) -> str:
    entry = _entries(summary)[0]
    parts = [_repeats(entry["runs"])] if "medians" in summary else []
    spikes = entry["spikes"]
    if several:
        parts.insert(0, "Every flow")
    elif len(spikes) > 1:
        worst = ", the worst spike of each run" if _worst(spikes) else ""
        parts.append(f"{len(spikes)} changes of capacity{worst}")
    elif spikes:
        parts.append(change_text(spikes[0]))
    elif focus is not None:
        parts.append(f"queueing delay of {focus}")
    return "; ".join(parts)


def _repeats(runs: int) -> str:
    intervals = interval_ranks(runs) is not None
    return f"medians of {runs} runs" + (" with 95 % confidence intervals" if intervals else "")


def change_text(spike: Mapping[str, Any]) -> str:
    """Describe a change of capacity in a few words."""
    change = f"{spike['link']} {rate_text(spike['from_bps'])} → {rate_text(spike['to_bps'])}"
    # With a spread, the time differs between seeds; show it only if it is the same.
    return change if isinstance(spike["at_s"], Mapping) else f"{change} at {spike['at_s']:.4g} s"


def _columns(metrics: Sequence[Metric], rows: Sequence[Mapping[Of, Any]]) -> list[Column]:
    columns = [_column(metric, rows) for metric in metrics]
    texts = {column.metric.key: column.cells for column in columns}
    # Show the excess over the bound in the column beside it: the corrected bound if it differs.
    same = texts.get(_CORRECTED.key) == texts.get(_BOUND.key)
    left_out = (_CORRECTED, _EXCESS_CORRECTED) if same else (_EXCESS,)
    return [column for column in columns if column.metric not in left_out]


def _column(metric: Metric, rows: Sequence[Mapping[Of, Any]]) -> Column:
    figures = [row[metric.of][metric.key] if row.get(metric.of) else "" for row in rows]
    largest = max((abs(value) for figure in figures for value in _values(figure)), default=0.0)
    scale, unit = scale_of(metric.unit, largest)
    digits = digits_of(metric.unit, largest / scale)
    return Column(metric, unit, [_cell(figure, scale, digits) for figure in figures])


def _values(figure: Any) -> Iterator[float]:
    value = value_of(figure) if figure != "" else None
    if value is not None:
        yield value


def scale_of(unit: Unit, largest: float) -> tuple[float, str]:
    """Return the divisor and the unit for figures up to this value."""
    if unit == "rate":
        return rate_unit(largest)
    return {"ms": (1e-3, "ms"), "percent": (1e-2, "%"), "count": (1.0, "")}[unit]


def digits_of(unit: Unit, largest: float) -> int:
    """Return the number of decimals for figures up to this value, in their displayed unit."""
    if unit == "count":
        return 0
    if unit == "percent":
        return 1
    two_below = 10 if unit == "ms" else 100
    return 2 if largest < two_below else 1 if largest < 10_000 else 0


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
