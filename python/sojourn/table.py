"""The summary table, as data: what the terminal, the report and notebooks show."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sojourn import legend
from sojourn.contract import Summary
from sojourn.stats import interval_ranks

Unit = Literal["rate", "ms", "percent", "count"]
Of = Literal["flow", "link", "spike"]

MISSING = "–"


@dataclass(frozen=True)
class Metric:
    """One column: where its figure stands in the summary, and how it is said."""

    of: Of
    key: str
    head: str
    unit: Unit
    meaning: str


@dataclass(frozen=True)
class Cell:
    """One figure; the interval of its median where it comes from several runs."""

    text: str
    interval: str = ""


@dataclass(frozen=True)
class Column:
    """One metric of every row."""

    metric: Metric
    unit: str
    cells: list[Cell]


@dataclass(frozen=True)
class Name:
    """What a row is about."""

    control: str
    detail: str
    """The flow or the change of capacity, where there are several."""
    colour: str


@dataclass(frozen=True)
class Table:
    """Some figures, a row for each name."""

    caption: str
    names: list[Name]
    detail: str
    """What the names' details are; empty where there are none."""
    columns: list[Column]


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
    "spike", "bound_s", "bound", "ms", "least spike possible end to end, for a link that was full"
)
_CORRECTED = Metric(
    "spike", "bound_corrected_s", "bound corr.", "ms", "bound for what the link really carried"
)
_EXCESS = Metric("spike", "excess_s", "excess", "ms", "spike less bound")
_EXCESS_CORRECTED = Metric(
    "spike", "excess_corrected_s", "excess", "ms", "spike less corrected bound"
)
_LASTS = Metric("spike", "duration_s", "spike lasts", "ms", "how long the spike stood")
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

# What a head is too short for; columns that belong together share a line.
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
        (_BOUND, "bound: least spike of traffic that fills the link"),
        (_CORRECTED, "bound corr.: the same for what the link really carried in the second before"),
        (_EXCESS, "excess: spike less bound"),
        (_EXCESS_CORRECTED, "excess: spike less bound corr."),
    ],
    [
        (
            _LASTS,
            "spike lasts: from the change until the queueing delay is first back near what it was "
            f"before; {MISSING} where it never was",
        )
    ],
    [(_RTT_P50, "RTT p50, p99: of all round trips that the flow measured, or its pings took")],
    [(_RESPONSE_P50, "resp. p50, p99: from a request until its response has arrived in full")],
]


def build(summary: Summary) -> Table:
    """A row a controller, and a flow where there are several."""
    focus, key = focus_link(summary), legend.of(summary)
    names: list[Name] = []
    rows: list[Mapping[Of, Any]] = []
    for entry in _entries(summary):
        of_link: dict[Of, Any] = {
            "link": next((one for one in entry["links"] if one["name"] == focus), None),
            "spike": _worst(entry["spikes"]),
        }
        for place, flow in enumerate(entry["flows"]):
            control = entry["control"] if key.by == "run" else flow["control"]
            detail = flow["name"] if len(entry["flows"]) > 1 else ""
            colour = key.colours[key.label(entry["control"], flow["name"])]
            names.append(Name(control, detail, colour))
            # What the link saw belongs to all its flows: said once, in the first row.
            rows.append({"flow": flow, **(of_link if place == 0 else {})})
    metrics = _CHANGING if any(row.get("spike") for row in rows) else _AT_REST
    has_links = any(entry["links"] for entry in _entries(summary))
    if not has_links:
        # A recording of the ends alone, such as qlog: what a link would say, nobody knows.
        metrics = [one for one in metrics if any(row["flow"].get(one.key) for row in rows)]
    # Flows without control measure no round trip, except for pings, which do nothing else.
    pings = (row["flow"] for row in rows if row["flow"]["control"] == "none")
    if not has_links or any(flow[_RTT_P50.key] is not None for flow in pings):
        metrics = [*metrics, *_RTTS]
    if any(row["flow"][_RESPONSE_P50.key] is not None for row in rows):
        metrics = [*metrics, *_RESPONSES]
    detail = "flow" if any(name.detail for name in names) else ""
    return Table(_caption(summary, focus), names, detail, _columns(metrics, rows))


def build_changes(summary: Summary) -> Table | None:
    """A row a change of capacity, where there are several in one run."""
    if len(summary["runs"][0]["spikes"]) < 2:
        return None
    key = legend.of(summary)
    names: list[Name] = []
    rows: list[Mapping[Of, Any]] = []
    for entry in _entries(summary):
        colour = key.colours.get(entry["control"], "")
        for spike in entry["spikes"]:
            names.append(Name(entry["control"], change_text(spike), colour))
            rows.append({"spike": spike})
    columns = _columns([_BEFORE, _AFTER, *_SPIKES], rows)
    return Table("Every change of capacity", names, "change", columns)


def build_links(summary: Summary) -> Table | None:
    """A row a link with a rate, where there are several."""
    limited = [
        one["name"] for one in summary["runs"][0]["links"] if one["capacity_bps"] is not None
    ]
    if len(limited) < 2:
        return None
    key = legend.of(summary)
    names: list[Name] = []
    rows: list[Mapping[Of, Any]] = []
    for entry in _entries(summary):
        for link in entry["links"]:
            if link["name"] in limited:
                colour = key.colours.get(entry["control"], "")
                names.append(Name(entry["control"], link["name"], colour))
                rows.append({"link": link})
    return Table("Every link with a rate", names, "link", _columns(_LINKS, rows))


def build_all(summary: Summary) -> list[Table]:
    """Every table that there is."""
    tables = (build(summary), build_changes(summary), build_links(summary))
    return [one for one in tables if one is not None]


def notes(tables: Sequence[Table]) -> list[str]:
    """What the columns of these tables mean, a line for those that belong together."""
    shown = {column.metric for one in tables for column in one.columns}
    if _EXCESS_CORRECTED in shown:
        shown.discard(_EXCESS)
    lines = ["; ".join(said for metric, said in line if metric in shown) for line in _NOTES]
    return [line for line in lines if line]


def focus_link(summary: Summary) -> str | None:
    """The link that is shown: the one that changes, else the first with a rate."""
    run = summary["runs"][0]
    if run["spikes"]:
        return run["spikes"][0]["link"]
    limited = [link["name"] for link in run["links"] if link["capacity_bps"] is not None]
    return next(iter([*limited, *(link["name"] for link in run["links"])]), None)


def rate_text(bps: float) -> str:
    """A rate as one says it: `60 Mbit/s`."""
    scale, unit = rate_unit(bps)
    return f"{bps / scale:.4g} {unit}"


def rate_unit(bps: float) -> tuple[float, str]:
    """The unit in which a rate is a number of at least one, and its size."""
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= scale:
            return scale, unit
    return 1.0, "bit/s"


def value_of(figure: Any) -> float | None:
    """The figure of one run, or the median of several."""
    value: float | None = figure["median"] if isinstance(figure, Mapping) else figure
    return value


def _entries(summary: Summary) -> Sequence[Mapping[str, Any]]:
    medians: Sequence[Mapping[str, Any]] | None = summary.get("medians")
    return medians if medians else summary["runs"]


def _worst(spikes: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The greatest spike after a drop of capacity; a rise calls for no queue."""
    drops = [spike for spike in spikes if spike["to_bps"] < spike["from_bps"]]
    return max(drops, key=lambda spike: value_of(spike["spike_s"]) or 0.0, default=None)


def _caption(summary: Summary, focus: str | None) -> str:
    entry = _entries(summary)[0]
    parts = [_repeats(entry["runs"])] if "medians" in summary else []
    spikes = entry["spikes"]
    if len(spikes) > 1:
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
    """A change of capacity in a few words."""
    change = f"{spike['link']} {rate_text(spike['from_bps'])} → {rate_text(spike['to_bps'])}"
    # Over several seeds the moment may differ: said only where it is one.
    return change if isinstance(spike["at_s"], Mapping) else f"{change} at {spike['at_s']:.4g} s"


def _columns(metrics: Sequence[Metric], rows: Sequence[Mapping[Of, Any]]) -> list[Column]:
    columns = [_column(metric, rows) for metric in metrics]
    texts = {column.metric.key: [cell.text for cell in column.cells] for column in columns}
    # The excess is over the bound that stands beside it: the corrected one where it differs.
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
    """What figures up to this one are divided by, and the unit that gives."""
    if unit == "rate":
        return rate_unit(largest)
    return {"ms": (1e-3, "ms"), "percent": (1e-2, "%"), "count": (1.0, "")}[unit]


def digits_of(unit: Unit, largest: float) -> int:
    """How many digits after the point figures up to this one have, in their own unit."""
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
